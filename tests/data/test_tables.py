from __future__ import annotations

import bz2
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.data.tables import read_labelled_table, read_table

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
        return lambda labels: read_labelled_table(path, labels)
    text = TABLE.to_csv(sep="\t" if request.param == "tsv" else ",", index=False).encode()
    path.write_bytes(bz2.compress(text) if request.param == "csv.bz2" else text)
    return lambda labels: read_labelled_table(path, labels)


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
    with pytest.raises(
        ValueError, match=r"label column 'wind' must contain only 0 and 1.*3 in row 1"
    ):
        reader("last:1")
    with pytest.raises(ValueError, match="cannot use the last 5 columns"):
        reader("last:5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,x\n1,2\n,2\n", "column 'y' has no value in row 2"),
        (
            "y,x\n1,2\nmaybe,2\n",
            "must contain only 0 and 1 (or no and yes, false and true), found maybe",
        ),
        ("y,x\n1,2\n0,inf\n", "column 'x' is infinite or too large for a float in row 2"),
        ("y,x\n1,2\n0," + "9" * 400 + "\n", "column 'x' is infinite or too large for a float"),
        ("y,x\n1,2.5\n0," + "9" * 400 + "\n", "column 'x' is infinite or too large for a float"),
        ("y,x\n1,2\n0," + "9" * 5000 + "\n", "column 'x' is infinite or too large for a float"),
        ("y,x\n" + "9" * 400 + ",2\n", "label column 'y' must contain only 0 and 1"),
        ("y,x\n", "expected rows below the column names, found none"),
        ("y,x,x\n1,2,3\n", "two columns are named 'x'"),
        ("", "expected column names or a row, found the end of the file"),
    ],
)
def test_bad_tables(tmp_path, text, message):
    with pytest.raises(ValueError, match=re.escape("toy.csv: ") + ".*" + re.escape(message)):
        read_labelled_table(write(tmp_path, text), "y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b;y\n1;2;0\n", "toy.csv: the values are separated by ';', not by ','"),
        ("a\tb\ty\n1\t2\t0\n", r"by '\\t', not by ',': name the file .tsv"),
        ("a,y\n1,0\n2,1,7\n", "toy.csv:3: 3 values, but there are 2 columns"),
        ("y,x\n1,2,3\n0,1,5\n", "toy.csv:2: 3 values, but there are 2 columns"),
        ('a,y\n"1\n2",0\n2,1,7\n', "toy.csv:4: 3 values, but there are 2 columns"),
        (
            "a,y\n1,\n2,rock\n",
            "label column 'y' .* found rock in row 2: text is no label; make one",
        ),
        ("zone,y\n1,0\n2,1\n", "no column 'zonne' to read as categories; did you mean 'zone'"),
    ],
)
def test_causes_are_named(tmp_path, text, message):
    path = tmp_path / "toy.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_labelled_table(path, "last:1", nominal=["zonne"] if "zone" in text else [])


def test_commas_in_a_file_of_tabs(tmp_path):
    path = tmp_path / "toy.tsv"
    path.write_text("a,y\n1,0\n")
    with pytest.raises(ValueError, match=r"by ',', not by '\\t': name the file .csv"):
        read_labelled_table(path, "last:1")
    path.write_text("a,b\n1\n0\n")  # one column, whose name has a comma
    assert read_table(path).columns.tolist() == ["a,b"]


def test_not_parquet(tmp_path):
    with pytest.raises(ValueError, match=r"toy.parquet: not a Parquet file"):
        read_labelled_table(write(tmp_path, "hello", "toy.parquet"), "y")


MIXED = pd.DataFrame(
    {
        "id": ["a7", "b8", "c9"],
        "colour": ["red", None, "blue"],
        "zone": [1, 2, 3],
        "new": [True, False, True],
        "size": [1.5, None, 2.5],
        "rock, pop": ["yes", "no", "no"],
        "jazz": [True, False, True],
    }
)


@pytest.fixture(params=["csv", "parquet"])
def mixed(request, tmp_path):
    path = tmp_path / f"songs.{request.param}"
    table = MIXED.astype({"colour": "category"})
    table.to_csv(path, index=False) if request.param == "csv" else table.to_parquet(path)
    return lambda **options: read_labelled_table(path, '"rock, pop",jazz', **options)


def test_words_categories_booleans_and_gaps(mixed):
    data = mixed(ignore=["id"], nominal=["zone"])
    assert data.label_names == ("rock, pop", "jazz")
    assert data.Y.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert data.nominal_features == ("colour", "zone")
    assert data.X["colour"].tolist() == ["red", np.nan, "blue"]
    assert data.X["zone"].tolist() == ["1", "2", "3"]
    assert data.X["new"].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(data.X["size"], [1.5, np.nan, 2.5])
    numbers = mixed(ignore=["id", "colour", "size"])
    assert numbers.X.tolist() == [[1, 1], [2, 0], [3, 1]]
    with pytest.raises(ValueError, match="no column 'idd' to ignore; did you mean 'id'"):
        mixed(ignore=["idd"])


def test_words_that_are_numbers(tmp_path):
    text = "x,z,w,y\n?,no,007,1\nNA,YES,8,0\n5,,9,1\n"
    data = read_labelled_table(write(tmp_path, text), "y", nominal=["w"])
    np.testing.assert_array_equal(data.X["x"], [np.nan, np.nan, 5])
    np.testing.assert_array_equal(data.X["z"], [0, 1, np.nan])
    assert data.X["w"].tolist() == ["007", "8", "9"]
    long = read_labelled_table(write(tmp_path, "y,x\n1,12345678901234567890\n0,-1.5\n"), "y")
    assert long.X.ravel().tolist() == [12345678901234567890.0, -1.5]


def test_dates_and_lists_in_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    when = [pd.Timestamp("1970-01-02 12:00"), pd.NaT]
    pd.DataFrame({"y": [1, 0], "when": when}).to_parquet(path)
    np.testing.assert_array_equal(read_labelled_table(path, "y").X["when"], [1.5, np.nan])
    pd.DataFrame({"y": [1, 0], "tags": [["a"], ["b"]]}).to_parquet(path)
    with pytest.raises(ValueError, match="column 'tags' holds neither numbers nor text"):
        read_labelled_table(path, "y")
    assert read_labelled_table(path, "y", ignore=["tags"]).n_features == 0


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("1.5,0,1\n2.5,1,1\n3.5,0,0\n", "last:2"),
        ("5,1\n6,0\n", "last:1"),
        ("red,1,1\nblue,0,0\n", "last:2"),
        ("red,2.5,1\nblue,0,0\n", "last:1"),
    ],
)
def test_a_first_line_that_is_a_row_is_not_lost(tmp_path, text, labels):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=r"toy.csv: .*--no-header"):
        read_labelled_table(path, labels)
    data = read_labelled_table(path, labels, header=False)
    assert data.n_rows == text.count("\n")
    assert data.feature_names[0] == "1"
    chosen = read_labelled_table(path, [str(text.split()[0].count(",") + 1)], header=False)
    assert chosen.Y[0, 0] == 1


def test_numbers_may_be_names(tmp_path):
    assert read_labelled_table(write(tmp_path, "0,1,2\n5,6,1\n"), "2").feature_names == ("0", "1")
    path = write(tmp_path, "1100,1102,7\n5,6,1\n")
    assert read_labelled_table(path, "7", header=True).feature_names == ("1100", "1102")
    unnamed = read_labelled_table(write(tmp_path, ",x,y\n0,5,1\n"), "y", ignore=["Unnamed: 0"])
    assert unnamed.X.tolist() == [[5]]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, values):
    text = "y,x\n" + "".join(f"1,{value!r}\n" for value in values)
    data = read_labelled_table(write(tmp_path_factory.mktemp("csv"), text), "y")
    np.testing.assert_array_equal(data.X.ravel(), values)
