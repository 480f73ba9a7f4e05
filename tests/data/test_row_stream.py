"""Streams of rows: the same as the whole file, wherever and however it is cut."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.data.row_text import RowStream, read_svmlight, read_xmc

SVMLIGHT = b"1,4 1:0.5 3:2\n 2:1\n\n# nothing\n4 qid:3 1:1 # comment\n2:5 7:1\n"
XMC = b"4 5 3\n0,2 0:0.5 4:1\n 1:2\n\n2 3:1 0:4\n"


def gathered(stream, n_lines, start=None):
    """All rows of a stream as (features, labels) in plain Python."""
    rows = []
    with stream:
        for batch in stream.batches(n_lines, start):
            starts, X = batch.label_starts, batch.X
            for i in range(X.shape[0]):
                entries = slice(*X.indptr[i : i + 2])
                pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
                rows.append((dict(pairs), batch.labels[slice(*starts[i : i + 2])].tolist()))
    return rows


@pytest.mark.parametrize("n_lines", [1, 2, 3, 100])
def test_svmlight_as_scikit_learn_reads_it(tmp_path, n_lines):
    path = tmp_path / "toy.svm"
    path.write_bytes(SVMLIGHT)
    data = read_svmlight(path)
    rows = gathered(RowStream(path), n_lines)
    X = np.zeros(data.X.shape)
    Y = np.zeros(data.Y.shape, dtype=int)
    for i, (features, labels) in enumerate(rows):
        X[i, list(features)] = list(features.values())
        Y[i, [data.label_names.index(str(label)) for label in labels]] = 1
    np.testing.assert_array_equal(X, data.X.toarray())
    np.testing.assert_array_equal(Y, data.Y)


@pytest.mark.parametrize("n_lines", [1, 2, 3, 100])
def test_xmc_as_the_reader_of_whole_files_reads_it(tmp_path, n_lines):
    path = tmp_path / "toy.xmc"
    path.write_bytes(XMC + b"\n \n")
    data = read_xmc(path)
    with RowStream(path) as stream:
        assert stream.header == (4, 5, 3)
        X = np.vstack([batch.X.toarray() for batch in stream.batches(n_lines)])
    np.testing.assert_array_equal(X, data.X.toarray())
    labels = [labels for _, labels in gathered(RowStream(path), n_lines)]
    assert labels == [np.flatnonzero(y).tolist() for y in data.Y]


@pytest.mark.parametrize("text", [SVMLIGHT, XMC, b"\xef\xbb\xbf" + SVMLIGHT, SVMLIGHT[:-1]])
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", "stream"])
def test_reading_goes_on_at_any_place(tmp_path, text, ending):
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(ending, bytes)
    path = tmp_path / f"toy.txt{ending}"
    path.write_bytes(pack(text))

    def opened():
        return RowStream(io.BytesIO(text) if ending == "stream" else path)

    whole = gathered(opened(), 1)
    done = 0
    with opened() as stream:
        for batch in stream.batches(2):
            done += batch.X.shape[0]
            assert gathered(opened(), 3, stream.source.place) == whole[done:]


def test_a_stream_that_differs_is_not_gone_on_with(tmp_path):
    stream = RowStream(io.BytesIO(SVMLIGHT))
    next(stream.batches(3))
    place = stream.source.place
    other = SVMLIGHT.replace(b"0.5", b"0.6")
    for text in (other, SVMLIGHT[:10]):
        with pytest.raises(ValueError, match="first 3 lines differ"):
            gathered(RowStream(io.BytesIO(text)), 3, place)
    path = tmp_path / "toy.svm"
    path.write_bytes(SVMLIGHT[:10])
    with pytest.raises(ValueError, match=r"toy.svm is shorter than"):
        gathered(RowStream(path), 3, place)


BAD = {
    b"x 1:1\n": "1: expected a label index from 0 to",
    b"1 x:1\n": "3: expected a feature index from 1 to 16777216, found 'x'",
    b"1 0:1\n": "3: expected a feature index from 1 to 16777216, found '0'",
    b"1 16777217:1\n": "3: expected a feature index from 1 to 16777216",
    b"1 1:nan\n": "5: expected a finite number for feature 1, found 'nan'",
    b"1 2:1 2:1\n": "7: feature 2 is given twice in this row",
    b"1 qid:x 2:1\n": "7: expected the number of a query",
    b"1 1:1 \xff\n": "7: expected a feature index",
    b"1,-3 1:1\n": "3: expected a label index",
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_lines_stop_with_their_place(tmp_path, bad):
    path = tmp_path / "toy.svm"
    path.write_bytes(SVMLIGHT + bad)
    with pytest.raises(ValueError) as caught:
        gathered(RowStream(path), 4)
    assert str(caught.value).startswith(f"{path}:7:{BAD[bad]}")


@given(st.lists(st.sampled_from([b"1 1:2 2:3\n", b"2:1\n", *BAD]), max_size=8), st.integers(1, 4))
def test_bad_lines_can_be_left_out(lines, n_lines):
    stream = RowStream(io.BytesIO(b"".join(lines)), skip_bad=True)
    batches = list(stream.batches(n_lines))
    good = [line for line in lines if line not in BAD]
    assert sum(batch.n_bad for batch in batches) == len(lines) - len(good)
    text = b"".join(lines)
    left = gathered(RowStream(io.BytesIO(text), skip_bad=True), n_lines)
    assert left == gathered(RowStream(io.BytesIO(b"".join(good))), 100)
    first = next((batch.complaint for batch in batches if batch.n_bad), "")
    assert first.startswith("standard input:") == (len(good) < len(lines))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"2 5 3\n0 1:1\n", "3: expected 2 rows, as the header says (row 2 is missing)"),
        (b"1 5 3\n0 1:1\n0 1:1\n", "3: expected the end of the file: 1 rows, as the header says"),
        (b"1 5 3\n3 1:1\n", "2:1: expected a label index from 0 to 2, found '3'"),
        (b"1 5 3\n0 5:1\n", "2:3: expected a feature index from 0 to 4, found '5'"),
    ],
)
def test_xmc_keeps_the_promise_of_its_header(text, complaint):
    with pytest.raises(ValueError) as caught:
        gathered(RowStream(io.BytesIO(text)), 10)
    assert str(caught.value).startswith(f"standard input:{complaint}")


def test_features_from_zero_and_limits():
    stream = RowStream(io.BytesIO(b"0 0:1\n"), zero_based=True)
    assert gathered(stream, 1) == [({0: 1.0}, [0])]
    for limits in ({"max_features": 1}, {"n_labels": 2}):
        with pytest.raises(ValueError, match=r"standard input:1:\d: expected"):
            gathered(RowStream(io.BytesIO(b"2 2:1\n"), **limits), 1)


def test_damaged_compressed_files(tmp_path):
    path = tmp_path / "toy.svm.gz"
    path.write_bytes(gzip.compress(SVMLIGHT * 10_000)[:-40])
    with pytest.raises(ValueError, match=r"toy.svm.gz:\d+: cannot be read"):
        gathered(RowStream(path), 10_000)


def test_an_empty_stream_has_no_batches():
    assert gathered(RowStream(io.BytesIO(b"")), 5) == []
