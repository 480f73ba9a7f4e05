"""Small files that ask for much: refused before memory is taken, unless a limit is raised."""

from __future__ import annotations

import gzip
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave import BayesianOnlineClassifier, load, persistence
from labelweave.data import write_mapped
from labelweave.data.files import Limits, format_size, parse_size
from labelweave.data.numbered_names import NumberedNames
from labelweave.data.row_text import RowStream, read_svmlight, read_xmc
from labelweave.data.tables import read_labelled_table
from labelweave.models.online import StreamLearner
from labelweave.models.online.panels import check_room

SMALL = Limits(memory=2**20)


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "what", "most"),
    [
        ("tiny.xmc", "1 100000000 1\n0 0:1\n", "features", "16,777,216"),
        ("tiny.xmc", "1 1 100000000\n0 0:1\n", "labels", "131,072"),
        ("tiny.svm", "0 100000000:1\n", "features", "16,777,216"),
    ],
)
def test_a_few_bytes_do_not_name_millions_of_columns(tmp_path, name, text, what, most):
    path = write(tmp_path, name, text)
    message = (
        rf"{name}(:1)?: \d+ bytes declare 100,000,000 {what}, more than {most}: .*--max-{what}"
    )
    with pytest.raises(ValueError, match=message):
        load(path)
    if name == "tiny.xmc":
        with pytest.raises(ValueError, match=message):
            write_mapped(path, tmp_path / "folder")
    data = load(path, max_features=10**9, max_labels=10**9)
    assert max(data.n_features, data.n_labels) == 10**8


def test_a_few_arrays_do_not_declare_millions_of_columns(tmp_path):
    path = write(tmp_path, "wide.xmc", "1 20000000 1\n0 0:1\n")
    write_mapped(path, tmp_path / "wide", max_features=2**25)
    assert load(tmp_path / "wide", max_features=2**25).n_features == 20_000_000
    with pytest.raises(ValueError, match=r"wide: \d+ bytes declare 20,000,000 features"):
        load(tmp_path / "wide")


def test_a_long_text_may_name_many_features(tmp_path):
    text = "0 " + " ".join(f"{j}:1" for j in range(1, 300)) + "\n"
    path = write(tmp_path, "long.svm", text)
    assert read_svmlight(path, limits=Limits(features=10)).n_features == 299


def test_label_matrices_are_limited(tmp_path):
    rows = write(tmp_path, "rows.svm", "".join(f"{label} 1:1\n" for label in range(500)))
    with pytest.raises(
        ValueError, match=r"500 × 500 \(rows × labels\) needs 1.9 MB, more than 1.0"
    ):
        read_svmlight(rows, limits=SMALL)
    header = write(tmp_path, "header.xmc", "300 1 1000\n" + "0 0:1\n" * 300)
    with pytest.raises(ValueError, match=r"300 × 1,000 \(rows × labels\)"):
        read_xmc(header, limits=SMALL)
    names = "".join(f"@attribute y{j} {{0,1}}\n" for j in range(1000))
    empty = write(tmp_path, "empty.arff", names + "@attribute x real\n@data\n" + "{}\n" * 300)
    with pytest.raises(ValueError, match=r"301 × 1,000 \(rows × labels\)"):
        load(empty, "first:1000", max_memory=2**20)
    gaps = write(tmp_path, "gaps.arff", empty.read_text() + "{1000 ?}\n")
    with pytest.raises(ValueError, match=r"302 × 1,001 \(rows × columns\)"):
        load(gaps, "first:1", max_memory="1MB")


@pytest.mark.parametrize("ending", ["csv", "arff", "svm", "xmc"])
def test_compressed_files_are_read_up_to_the_limit(tmp_path, ending):
    path = write(tmp_path, f"bomb.{ending}.gz", gzip.compress(b"\n" * 2**24))
    assert path.stat().st_size < 2**15
    with pytest.raises(ValueError, match=rf"bomb.{ending}.gz: larger than 1.0 MB: .*--max-mem"):
        load(path, "last:1" if ending in ("csv", "arff") else None, max_memory="1MB")


def test_repeated_values_in_parquet(tmp_path):
    path = tmp_path / "repeated.parquet"
    pd.DataFrame({"x": np.zeros(10**6), "y": np.zeros(10**6, dtype=bool)}).to_parquet(path)
    assert path.stat().st_size < 2**20
    with pytest.raises(ValueError, match=r"repeated.parquet: a matrix of 1,000,000 × 2"):
        load(path, "y", max_memory="1MB")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_values_missing_at_the_end_of_rows(tmp_path, end):
    names = ",".join(f"x{k}" for k in range(1000))
    path = write(tmp_path, "short.csv", names + end + f"1{end}" * 1000)
    with pytest.raises(ValueError, match=r"short.csv: a matrix of 1,001 × 1,000 \(lines"):
        load(path, "x0", max_memory="1MB")


def test_repeated_texts_in_parquet(tmp_path):
    path, text = tmp_path / "texts.parquet", "a" * 10**5
    table = pd.DataFrame({"text": [text, None, "b"] * 300, "y": True})
    table.to_parquet(path)
    pool = pa.default_memory_pool()
    usual = pool.max_memory()
    with pytest.raises(ValueError, match=r"the text in column 'text' needs 28.6 MB, more than"):
        read_labelled_table(path, "y", limits=SMALL)
    assert pool.max_memory() <= max(usual, 2**22)
    assert read_labelled_table(path, "y").X["text"].tolist()[:3] == [text, np.nan, "b"]


def test_streams_check_their_header_and_their_model(tmp_path):
    wide = write(tmp_path, "wide.xmc", "1 20000000 64\n0 0:1\n")
    with pytest.raises(ValueError, match=r"wide.xmc:1: 20 bytes declare 20,000,000 features"):
        RowStream(wide)
    with (
        RowStream(wide, max_features=20_000_000) as stream,
        pytest.raises(ValueError, match=r"20,000,000 features and 64 labels needs 38.9 GB"),
    ):
        StreamLearner(stream)
    late = write(tmp_path, "late.svm", "0 1:1\n0 1000000:1\n")
    with RowStream(late) as stream:
        learner = StreamLearner(stream, batch_lines=1, limits=SMALL)
        with pytest.raises(ValueError, match=r"late.svm: a model of 1,000,000 features and 1 lab"):
            learner.run()
        assert learner.n_rows == 1


@pytest.mark.parametrize(
    ("text", "options", "sizes"),
    [
        ("1 1 2000000\n0 0:1\n", {"max_labels": 10**7}, "1 features and 2,000,000 labels"),
        ("0 1:1\n", {"n_labels": 2_000_000}, "0 features and 2,000,000 labels"),
        ("0 16000000:1\n0 1:1\n", {}, "16,000,000 features and 1 labels"),
        ("1 1 100000\n0 0:1\n" + "0 0:1\n" * 999, {}, "1 features and 100,000 labels"),
    ],
)
def test_streams_count_all_they_take(tmp_path, text, options, sizes):
    rows = write(tmp_path, "tiny.xmc", text.replace("1 1 100000", "1000 1 100000"))
    with (
        RowStream(rows, **options) as stream,
        pytest.raises(ValueError, match=rf"tiny.xmc: a model of {sizes} needs .*--max-memory"),
    ):
        StreamLearner(stream).run()


@pytest.mark.parametrize(
    ("n_features", "n_labels", "n_rows"), [(1, 3000, 10), (1, 300, 1000), (200_000, 1, 5)]
)
def test_what_is_counted_is_enough(tmp_path, n_features, n_labels, n_rows):
    header = f"{n_rows} {n_features} {n_labels}\n"
    path = write(tmp_path, "rows.xmc", header + f"0 {n_features - 1}:1\n" * n_rows)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    with RowStream(path) as stream:
        learner = StreamLearner(stream)
        learner.run()
    model = BayesianOnlineClassifier().adopt(learner.state, learner.label_names)
    persistence.save_model(model, tmp_path / "model.skops")
    taken = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    with pytest.raises(ValueError, match="needs"):
        check_room(Limits(memory=int(0.95 * taken)), n_features, n_labels, n_rows, "rows.xmc")


def test_plain_files_are_as_large_as_they_are(tmp_path):
    path = write(tmp_path, "plain.csv", "x,y\n" + "1,1\n" * 2**18)
    assert path.stat().st_size > SMALL.memory
    assert read_labelled_table(path, "y", limits=SMALL).n_rows == 2**18


def test_limits_are_checked():
    with pytest.raises(ValueError, match="max_memory must be a whole number of at least 1"):
        Limits.of(max_memory=0)
    with pytest.raises(ValueError, match="expected a size such as 16GB, found 'much'"):
        parse_size("much")
    assert [parse_size(text) for text in ("7", "1.5k", "2 MiB")] == [7, 1536, 2**21]
    assert format_size(parse_size("2.5TB")) == "2.5 TB"


@given(
    st.text("xf1", max_size=2),
    st.integers(0, 12),
    st.integers(0, 3),
    st.integers(-15, 15),
    st.data(),
)
def test_numbered_names_are_like_a_tuple(prefix, count, start, at, data):
    names = NumberedNames(prefix, count, start)
    plain = tuple(f"{prefix}{start + j}" for j in range(count))
    assert names == plain
    assert plain == names
    assert hash(names) == hash(plain)
    assert names[at:] == plain[at:]
    assert [*names] == [*plain]
    assert names != (*plain, "more")
    asked = data.draw(st.sampled_from([*plain, "x", "x00", "x-1", "f1", "x²"]))
    assert (asked in names) == (asked in plain)
    if asked in plain:
        assert names.index(asked) == plain.index(asked)
    if -count <= at < count:
        assert names[at] == plain[at]
    else:
        with pytest.raises(IndexError):
            names[at]
