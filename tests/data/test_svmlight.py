from __future__ import annotations

import gzip

import pytest

from labelweave.data.row_text import read_svmlight

TEXT = b"1,4 1:0.5 3:2\n 2:1\n4 1:1 # comment\n"


def write(folder, text, name="toy.svm"):
    path = folder / name
    path.write_bytes(text)
    return path


def test_labels_are_those_that_occur(tmp_path):
    data = read_svmlight(write(tmp_path, TEXT))
    assert data.label_names == ("1", "4")
    assert data.Y.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert data.X.toarray().tolist() == [[0.5, 0, 2], [0, 1, 0], [1, 0, 0]]
    assert data.name == "toy"


def test_n_labels_fixes_the_columns(tmp_path):
    data = read_svmlight(write(tmp_path, gzip.compress(TEXT), "toy.svm.gz"), n_labels=6)
    assert data.label_names == tuple("012345")
    assert data.Y.tolist() == [[0, 1, 0, 0, 1, 0], [0] * 6, [0, 0, 0, 0, 1, 0]]
    with pytest.raises(ValueError, match="expected a label index from 0 to 3, found '4'"):
        read_svmlight(write(tmp_path, TEXT), n_labels=4)


@pytest.mark.parametrize(
    ("text", "column"), [(b"a 1:2\n", 1), (b"1 x:2\n", 3), (b"1 1:2 1\n", 8), (b"1 1:2 1:1\n", 7)]
)
def test_errors_name_the_place(tmp_path, text, column):
    with pytest.raises(ValueError, match=rf"toy.svm:1:{column}: "):
        read_svmlight(write(tmp_path, text))


@pytest.mark.parametrize("label", [b"-1", b"0.5", b"inf", b"nan", b"2147483647"])
def test_labels_must_be_indices(tmp_path, label):
    with pytest.raises(ValueError, match="expected a label index from 0 to 2147483646"):
        read_svmlight(write(tmp_path, label + b" 1:2\n"))
