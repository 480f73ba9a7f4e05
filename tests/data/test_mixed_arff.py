"""Nominal attributes, text, dates and missing values, as published files have them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelweave.data import arff
from labelweave.data.arff import read_arff
from tests.data.test_arff_errors import BAD_ROWS, HEAD

# Numeric codes that are nominal, label names with blanks, a gap: as in Mulan's birds.
BIRDS = """@relation 'birds: -C -2'
@attribute audio-ssd1 numeric
@attribute hasSegments {0,1}
@attribute location {1,2,3,5,7}
@attribute 'Brown Creeper' {0,1}
@attribute "Varied Thrush" {0,1}
@data
0.51,1,3,0,1
?,0,7,1,0
0.12,1,?,0,0
"""
# Words of all kinds, and numbers among them: as in foodtruck.
FOODTRUCK = """@RELATION foodtruck
@ATTRIBUTE time {afternoon,dawn,dinner,happy_hour,lunch}
@ATTRIBUTE 'marital.status' {divorced, married, single}
@ATTRIBUTE gender {F,M}
@ATTRIBUTE expenses REAL
@ATTRIBUTE visited DATE "dd/MM/yyyy"
@ATTRIBUTE remark STRING
@ATTRIBUTE street_food {0,1}
@ATTRIBUTE 'brazilian food, grilled' {0,1}
@DATA
lunch,single,M,20,02/01/1970,'all good, thanks',1,0
dawn, 'married' ,F,15.5,03/01/1970,?,0,1
"""
# Sparse, binary features, omitted values are the first of their list: as in medical.
MEDICAL = """@relation 'medical'
@attribute cough {0,1}
@attribute ward {east,west,north}
@attribute fever {YES,NO}
@attribute 'Class-0-593_70' {0,1}
@data
{0 1,3 1}
{1 north}
{1 west,2 NO}
"""


@pytest.fixture
def read(tmp_path):
    def read(text, labels=None, **options):
        path = tmp_path / "toy.arff"
        path.write_text(text)
        return read_arff(path, labels, **options)

    return read


def test_numeric_codes_are_categories(read):
    data = read(BIRDS)
    assert data.label_names == ("Brown Creeper", "Varied Thrush")
    assert data.nominal_features == ("location",)
    assert data.X["location"].tolist() == ["3", "7", np.nan]
    assert list(data.X["location"].cat.categories) == ["1", "2", "3", "5", "7"]
    np.testing.assert_array_equal(data.X["audio-ssd1"], [0.51, np.nan, 0.12])
    np.testing.assert_array_equal(data.X["hasSegments"], [1, 0, 1])
    assert data.Y.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert "3 features (1 nominal)" in repr(data)


def test_words_text_and_dates(read):
    data = read(FOODTRUCK, "last:2")
    assert data.nominal_features == ("time", "marital.status", "gender", "remark")
    assert data.X["marital.status"].tolist() == ["single", "married"]
    assert data.X["remark"].tolist() == ["all good, thanks", np.nan]
    assert data.X["visited"].tolist() == [1.0, 2.0]
    assert data.label_names[1] == "brazilian food, grilled"
    chosen = read(FOODTRUCK, 'street_food,"brazilian food, grilled"')
    assert chosen.label_names == data.label_names


def test_sparse_rows_leave_out_the_first_value(read):
    data = read(MEDICAL, "last:1")
    assert data.X["ward"].tolist() == ["east", "north", "west"]
    assert data.X["fever"].tolist() == [1, 1, 0]
    assert data.X["cough"].tolist() == [1, 0, 0]


def test_sparse_numbers_stay_sparse(read):
    text = "@attribute a {0,1}\n@attribute b real\n@attribute y {0,1}\n@data\n{1 2.5} % sure?\n{}\n"
    data = read(text, "y")
    assert sparse.issparse(data.X)
    assert data.X.toarray().tolist() == [[0, 2.5], [0, 0]]


def test_columns_to_ignore(read):
    data = read(BIRDS, ignore=["location", "audio-ssd1"])
    assert isinstance(data.X, np.ndarray)
    assert data.feature_names == ("hasSegments",)
    assert read(BIRDS, "first:1", ignore=["audio-ssd1"]).label_names == ("hasSegments",)
    with pytest.raises(ValueError, match="no column 'locaton' to ignore; did you mean 'location'"):
        read(BIRDS, "last:2", ignore=["locaton"])


def test_parts_of_one_file_follow_each_other(tmp_path):
    head, rows = BIRDS.split("@data\n")
    paths = [tmp_path / f"{part}.arff" for part in "abc"]
    for path, row in zip(paths, rows.splitlines(), strict=True):
        path.write_text(f"{head}@data\n{row}\n")
    whole = tmp_path / "whole.arff"
    whole.write_text(BIRDS)
    joined, expected = read_arff(paths).X, read_arff(whole).X
    pd.testing.assert_frame_equal(joined, expected, check_categorical=False)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("0.1,1,3,?,1", "toy.arff:8:9: expected 0 or 1 for label 'Brown Creeper', found '?'"),
        ("0.1,1,4,0,1,?", "8:7: expected one of {1,2,3,5,7} for column 3 ('location'), found '4'"),
        ("?,1,3,0", "8:8: expected a value for column 5 ('Varied Thrush'), found the end of"),
        ("?,1,3,0,1,1", "8:10: expected the end of the row after 5 values, found ','"),
    ],
)
def test_rows_with_gaps_are_checked(read, row, expected):
    head = BIRDS.partition("@data\n")[0]
    with pytest.raises(ValueError) as caught:
        read(f"{head}@data\n{row}\n")
    assert expected in str(caught.value)


def test_dates_are_checked(read):
    head = "@attribute d date {}\n@attribute y {{0,1}}\n@data\n{},1\n"
    assert read(head.format("", "1970-01-01T12:00:00"), "y").X.tolist() == [[0.5]]
    assert read(head.format("'yyyy MMM'", "'1970 Feb'"), "y").X.tolist() == [[31]]
    with pytest.raises(
        ValueError, match=r"4:1: expected a date for column 1 \('d'\), found '1970'"
    ):
        read(head.format("yyyy-MM", "1970"), "y")
    with pytest.raises(ValueError, match=r"1:1: expected a date such as .* for 'd', found 'Q'"):
        read(head.format("yyyy-Q", "1970-1"), "y")


# Everything the compiled reader takes, the other takes too, and it complains of the same places.

CELL = {
    "y": st.sampled_from(["0", "1", "'1'"]),
    "x": st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.sampled_from(["+.5", "1."]),
    "a b": st.sampled_from(["3", "4", '"3"', "'4'"]),
}
SEPARATOR = st.sampled_from([",", " , ", "\t", " "])


@st.composite
def row(draw, is_sparse):
    cells = [draw(CELL[name]) for name in CELL]
    if not is_sparse:
        return draw(SEPARATOR).join(cells) + draw(st.sampled_from(["", " ", "% note", " \r"]))
    kept = [c for c in range(3) if draw(st.booleans())]
    return "{" + ", ".join(f"{c} {cells[c]}" for c in kept) + "}"


@settings(max_examples=100)
@given(st.booleans().flatmap(lambda is_sparse: st.lists(row(is_sparse), min_size=1, max_size=5)))
def test_both_readers_agree(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("arff") / "toy.arff"
    path.write_text(HEAD + "\n".join(rows) + "\n", newline="")
    compiled, plain = read_arff(path), plain_reading(path)
    assert sparse.issparse(plain.X) == sparse.issparse(compiled.X)
    assert (plain.X != compiled.X).sum() == 0
    np.testing.assert_array_equal(plain.Y, compiled.Y)


@pytest.mark.parametrize(("rows", "expected"), BAD_ROWS)
def test_both_readers_complain_of_the_same_place(tmp_path, rows, expected):
    path = tmp_path / "bad.arff"
    path.write_text(HEAD + rows)
    with pytest.raises(ValueError) as caught:
        plain_reading(path)
    assert str(caught.value).startswith(f"{path}:{expected.split(' ')[0]}")


def plain_reading(path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arff, "needs_python", lambda *_: True)
        return read_arff(path)


@pytest.mark.parametrize("digits", [400, 5000])
def test_numbers_of_thousands_of_digits(read, digits):
    many = "9" * digits
    with pytest.raises(ValueError, match=r"toy.arff: cannot tell which columns are labels"):
        read(f"@relation 'r: -C {many}'\n@attribute y {{0,1}}\n@data\n1\n")
    with pytest.raises(ValueError, match="no column 'last:999"):
        read("@attribute y {0,1}\n@data\n1\n", f"last:{many}")
    with pytest.raises(ValueError, match=r"4:3: expected a finite number"):
        read(f"@attribute y {{0,1}}\n@attribute x real\n@data\n1,{many}\n", "y")
    with pytest.raises(ValueError, match=r"5:3: expected a finite number"):
        read(f"@attribute y {{0,1}}\n@attribute x real\n@data\n1,?\n1,{many}\n", "y")
    with pytest.raises(ValueError, match=r"5:2: expected a column index"):
        read(f"@attribute y {{0,1}}\n@attribute x real\n@data\n{{1 ?}}\n{{{many} 1}}\n", "y")
    data = read(f"@attribute y {{0,1}}\n@attribute x {{1,{many}}}\n@data\n1,{many}\n", "y")
    assert data.X["x"].tolist() == [many]
    assert not math.isinf(data.Y.sum())
