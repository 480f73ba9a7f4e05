from __future__ import annotations

import bz2
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.datasets import read_csv, read_parquet

TABLE = pd.DataFrame(
    {"sun": [1, 0, 1], "cover": [0.25, 1e-3, 2.5], "rain": [False, True, False], "wind": [3, -4, 0]}
)


def write(folder, text, name="toy.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture(params=["csv", "tsv", "csv.bz2", "parquet"])
def reader(request, tmp_path):
    path = tmp_path / f"toy.{request.param}"
    if request.param == "parquet":
        TABLE.to_parquet(path)
        return lambda labels: read_parquet(path, labels)
    text = TABLE.to_csv(sep="\t" if request.param == "tsv" else ",", index=False).encode()
    path.write_bytes(bz2.compress(text) if request.param == "csv.bz2" else text)
    return lambda labels: read_csv(path, labels)


def test_named_labels_in_the_given_order(reader):
    data = reader("rain, sun")
    assert data.name == "toy"
    assert data.label_names == ("rain", "sun")
    assert data.feature_names == ("cover", "wind")
    assert data.Y.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert data.X.tolist() == [[0.25, 3], [0.001, -4], [2.5, 0]]
    assert reader(["sun"]).feature_names == ("cover", "rain", "wind")
    assert reader("first:1").label_names == ("sun",)


def test_label_choice_is_checked(reader):
    with pytest.raises(ValueError, match="no column 'snow'"):
        reader(["snow"])
    with pytest.raises(ValueError, match=r"label column 'wind' must hold 0 and 1 only.*3 in row 1"):
        reader("last:1")
    with pytest.raises(ValueError, match="cannot take the last 5 columns"):
        reader("last:5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,colour\n1,red\n0,2\n", "column 'colour' is not numeric ('red' in row 1): encode it"),
        ("y,colour\n1,2\n0,red\n", "column 'colour' is not numeric ('red' in row 2): encode it"),
        ("y,x\n1,2\n0,\n", "column 'x' has no value in row 2: fill missing values in"),
        ("y,x\n1,2\n0\n", "column 'x' has no value in row 2"),
        ("y,x\n1,2\n,2\n", "column 'y' has no value in row 2"),
        ("y,x\n1,2\n0,inf\n", "column 'x' is infinite in row 2"),
        ("y,x\n1,2\n0,1,5\n", "Expected 2 fields in line 3, saw 3"),
        ("y,x\n1,2,3\n0,1,5\n", "Length of header or names does not match length of data"),
        ("", "No columns to parse"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    with pytest.raises(ValueError, match=re.escape("toy.csv: ") + ".*" + re.escape(message)):
        read_csv(write(tmp_path, text), "y")


def test_not_parquet(tmp_path):
    with pytest.raises(ValueError, match=r"toy.parquet: not a Parquet file"):
        read_parquet(write(tmp_path, "hello", "toy.parquet"), "y")


def test_text_in_parquet(tmp_path):
    pd.DataFrame({"y": [1], "when": [pd.Timestamp("2020-01-01")]}).to_parquet(
        tmp_path / "t.parquet"
    )
    with pytest.raises(ValueError, match="column 'when' is not numeric"):
        read_parquet(tmp_path / "t.parquet", "y")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, values):
    text = "y,x\n" + "".join(f"1,{value!r}\n" for value in values)
    data = read_csv(write(tmp_path_factory.mktemp("csv"), text), "y")
    np.testing.assert_array_equal(data.X.ravel(), values)
