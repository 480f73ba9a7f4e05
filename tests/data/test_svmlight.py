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
    with pytest.raises(ValueError, match="found label 4, but n_labels=4 allows 0 to 3"):
        read_svmlight(write(tmp_path, TEXT), n_labels=4)


@pytest.mark.parametrize("text", [b"a 1:2\n", b"1 x:2\n", b"1 1:2 1\n", b"1 2:1 1:1\n"])
def test_what_scikit_learn_refuses_names_the_file(tmp_path, text):
    with pytest.raises(ValueError, match=r"toy.svm: not a multi-label svmlight file"):
        read_svmlight(write(tmp_path, text))


@pytest.mark.parametrize("label", [b"-1", b"0.5", b"inf", b"nan"])
def test_labels_must_be_indices(tmp_path, label):
    with pytest.raises(ValueError, match="labels must be non-negative integers"):
        read_svmlight(write(tmp_path, label + b" 1:2\n"))


def test_labels_that_cannot_be_told_apart(tmp_path):
    path = tmp_path / "toy.svm"
    path.write_text("9007199254740991 1:1\n5 1:2\n")
    assert read_svmlight(path).label_names == ("5", "9007199254740991")
    path.write_text("9007199254740992 1:1\n9007199254740993 1:2\n")
    with pytest.raises(ValueError, match=r"toy.svm: found label 9007199254740992: .* below 2\^53"):
        read_svmlight(path)
