from __future__ import annotations

import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.data.row_text import read_svmlight, read_xmc


def write(folder, text, name="toy.xmc.txt"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_rows_with_and_without_labels_and_features(tmp_path, newline, final):
    lines = ["6 4 3", "0,2 0:1.5 3:-2", " 1:1", "2:1e-3", "", "1", "2 3:0 2:5 0:+1"]
    text = newline.join(lines) + (newline if final else "")
    data = read_xmc(write(tmp_path, text))
    assert data.name == "toy"
    assert data.Y.tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert data.X.toarray().tolist() == [
        [1.5, 0, 0, -2], [0, 1, 0, 0], [0, 0, 0.001, 0], [0] * 4, [0] * 4, [1, 0, 5, 0],
    ]  # fmt: skip
    assert data.X.has_canonical_format
    assert data.X.nnz == 6
    assert data.feature_names == ("f0", "f1", "f2", "f3")
    assert data.label_names == ("l0", "l1", "l2")


def test_compressed_and_blank_lines_behind(tmp_path):
    path = write(tmp_path, lzma.compress(b"1 1 1\n0 0:2\n\n  \n"), "toy.xmc.txt.xz")
    assert read_xmc(path).X.toarray().tolist() == [[2]]


def test_a_label_given_twice_counts_once(tmp_path):
    assert read_xmc(write(tmp_path, "1 1 2\n1,1 0:2\n")).Y.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: expected the number of rows (the first line reads: rows"),
        ("3 x 1\n", "1:3: expected the number of features"),
        ("3 5\n", "1:4: expected the number of labels"),
        ("3 5 -1\n", "1:5: expected the number of labels"),
        ("1 9999999999 1\n", "1:3: expected the number of features"),
        ("1 5 1 7\n", "1:7: expected the end of the line, found '7'"),
        ("2 5 3\n0 1:1\n", "3:1: expected 2 rows, as the header says (row 2 is missing)"),
        ("1 5 3\n0 1:1\n0 1:1\n", "3:1: expected the end of the file: 1 rows, as the"),
        ("1 5 3\n3 1:1\n", "2:1: expected a label index from 0 to 2, found '3'"),
        ("1 5 3\n0,,1 1:1\n", "2:3: expected a label index from 0 to 2, found ','"),
        ("1 5 3\n0, 1:1\n", "2:3: expected a label index from 0 to 2, found a blank"),
        ("1 5 3\n,0 1:1\n", "2:1: expected a label index from 0 to 2, found ','"),
        ("1 5 3\nx 1:1\n", "2:1: expected a label index from 0 to 2, found 'x'"),
        ("1 5 0\n0 1:1\n", "2:1: expected no label index, as there are none, found '0'"),
        ("1 5 3\n0 5:1\n", "2:3: expected a feature index from 0 to 4, found '5'"),
        ("1 5 3\n0 1\n", "2:4: expected ':' and the value of feature 1, found the end of the line"),
        ("1 5 3\n0 1:\n", "2:5: expected a finite number for feature 1, found the end of the line"),
        ("1 5 3\n0 1:nan\n", "2:5: expected a finite number for feature 1, found 'nan'"),
        ("1 5 3\n0 1:2:3\n", "2:6: expected a feature index from 0 to 4, found ':'"),
        ("1 5 3\n0 3:1 1:2 3:5\n", "2:11: feature 3 is given twice in this row"),
        ("1 5 3\n0 3:0 3:0\n", "2:7: feature 3 is given twice in this row"),
    ],
)  # fmt: skip
def test_complaints_name_the_place(tmp_path, text, expected):
    path = write(tmp_path, text)
    with pytest.raises(ValueError) as caught:
        read_xmc(path)
    assert str(caught.value).startswith(f"{path}:{expected}")


def test_labels_too_many_to_hold_dense(tmp_path):
    with pytest.raises(ValueError, match="declare 1,431,655,999 labels"):
        read_xmc(write(tmp_path, "3 1 1431655999\n0\n0\n0\n"))


values = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def samples(draw):
    D, L = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    row = st.tuples(
        st.lists(st.integers(0, L - 1), unique=True),
        st.dictionaries(st.integers(0, D - 1), values),
    )
    return D, L, draw(st.lists(row, max_size=6))


@settings(max_examples=150)
@given(samples())
def test_what_is_written_is_read(tmp_path_factory, sample):
    D, L, rows = sample
    X, Y = np.zeros((len(rows), D)), np.zeros((len(rows), L))
    lines = [f"{len(rows)} {D} {L}"]
    for i, (labels, features) in enumerate(rows):
        Y[i, labels] = 1
        for j, value in features.items():
            X[i, j] = value
        entries = " ".join(f"{j}:{value!r}" for j, value in features.items())
        lines.append(",".join(map(str, labels)) + " " + entries)
    path = write(tmp_path_factory.mktemp("xmc"), "\n".join(lines) + "\n")
    data = read_xmc(path)
    np.testing.assert_array_equal(data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y, Y)
    assert data.X.nnz == np.count_nonzero(X)


def test_xmc_rows_are_svmlight_rows(tmp_path):
    """scikit-learn's reader of the sister format sees the same rows."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 7)) < 0.4, rng.standard_normal((40, 7)), 0)
    X[0, 0] = X[0, 6] = 1.0  # so that the other reader sees how far the features go
    Y = np.where(rng.random((40, 3)) < 0.5, 1, 0)
    lines = []
    for x, y in zip(X, Y, strict=True):
        features = " ".join(f"{j}:{x[j].item()!r}" for j in np.flatnonzero(x))
        lines.append(",".join(map(str, np.flatnonzero(y))) + " " + features)
    ours = read_xmc(write(tmp_path, "\n".join(["40 7 3", *lines])))
    theirs = read_svmlight(write(tmp_path, "\n".join(lines), "toy.svm"), n_labels=3)
    np.testing.assert_array_equal(ours.X.toarray(), X)
    kept = [i for i, line in enumerate(lines) if line.strip()]  # svmlight has no empty rows
    np.testing.assert_array_equal(theirs.X.toarray(), X[kept])
    np.testing.assert_array_equal(theirs.Y, ours.Y[kept])
