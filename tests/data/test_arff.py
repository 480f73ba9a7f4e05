from __future__ import annotations

import bz2
import gzip
import io
import lzma
import string

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import arff as scipy_arff

from labelweave.data.arff import read_arff

TOY = """% a comment
@RELATION toy

@Attribute sun {0,1}
@attribute 'cloud cover' REAL % in parts
@attribute rain {0, 1}
@attribute "wind \\"speed\\"" integer
@data
1,0.25,0,3
% between

0 , 1e-3 ,\t1 , -4   % behind
1\t+2.5\t0\t0
"""
TOY_X = [[0.25, 3], [0.001, -4], [2.5, 0]]
TOY_Y = [[1, 0], [0, 1], [1, 0]]


def write(folder, text, name="toy.arff"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_dense_rows(tmp_path, newline, final):
    text = (TOY if final else TOY.rstrip("\n")).replace("\n", newline)
    data = read_arff(write(tmp_path, text), labels="sun,rain")
    assert data.name == "toy"
    assert data.label_names == ("sun", "rain")
    assert data.feature_names == ("cloud cover", 'wind "speed"')
    np.testing.assert_array_equal(data.X, TOY_X)
    np.testing.assert_array_equal(data.Y, TOY_Y)
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)


@pytest.mark.parametrize(
    ("ending", "compress"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)],
)
def test_compressed(tmp_path, ending, compress):
    path = write(tmp_path, compress(TOY.encode()), f"toy.arff{ending}")
    data = read_arff(path, labels=["rain", "sun"])
    assert data.name == "toy"
    np.testing.assert_array_equal(data.Y, np.array(TOY_Y)[:, ::-1])
    broken = write(tmp_path, compress(TOY.encode())[:-9], f"broken.arff{ending}")
    with pytest.raises(ValueError, match=f"broken.arff.*incomplete or corrupt {ending} file"):
        read_arff(broken, labels="sun")


def test_byte_order_mark_and_latin_1(tmp_path):
    text = "@relation r\n@attribute été {0,1}\n@attribute x {'ça',1}\n@data\n1,1\n"
    text = text.replace("'ça'", "0")
    for encoding in ("utf-8-sig", "latin-1"):
        data = read_arff(write(tmp_path, text.encode(encoding)), labels="été")
        assert data.label_names == ("été",)


def test_sparse_rows_omit_the_first_nominal_value(tmp_path):
    text = """@relation 'odd: -C -2'
@attribute a numeric
@attribute b {1,0}
@attribute c {5,7}
@attribute y {0,1}
@attribute z {1,0}
@data
{}
{ 3 1, 0 2.5 , 2 7 }
{1 0,4 0}   % comment
{2 5, 0 0,3 0}
"""
    data = read_arff(write(tmp_path, text))
    assert isinstance(data.X, sparse.csr_array)
    assert data.X.has_canonical_format
    expected = [[0, 1, 5], [2.5, 1, 7], [0, 0, 5], [0, 1, 5]]
    assert data.X.toarray().tolist() == expected
    assert data.X.nnz == np.count_nonzero(expected)
    assert data.Y.tolist() == [[0, 1], [1, 1], [0, 0], [0, 1]]


def test_words_and_quoted_values(tmp_path):
    text = """@relation r
@attribute x {NO,'YES'}
@attribute y {FALSE, TRUE}
@data
'NO',"TRUE"
YES,FALSE
"""
    data = read_arff(write(tmp_path, text), labels="y")
    assert data.X.ravel().tolist() == [0, 1]
    assert data.Y.ravel().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("relation", "labels"),
    [
        ("'m: -C 2'", ("a", "b")),
        ("'m: -C -1'", ("c",)),
        ("'m: -C 1 -split-number 5' %50", ("a",)),
        ("m: -C 2", ("a", "b")),
        ('"m -C 3"', ("a", "b", "c")),
    ],
)
def test_meka_counts_labels_in_the_relation(tmp_path, relation, labels):
    header = "".join(f"@attribute {name} {{0,1}}\n" for name in "abc")
    data = read_arff(write(tmp_path, f"@relation {relation}\n{header}@data\n0,1,0\n"))
    assert data.label_names == labels


def mulan_xml(*names):
    inner = "".join(f'<label name="{name}"></label>' for name in names)
    return f'<?xml version="1.0"?><labels xmlns="http://mulan/labels">{inner}</labels>'


def test_mulan_xml_beats_meka_and_keeps_the_order_of_the_columns(tmp_path):
    text = TOY.replace("@RELATION toy", "@relation 'toy: -C 1'")
    for name in ("toy-train.arff", "toy.arff"):
        path = write(tmp_path, text, name)
        write(tmp_path, mulan_xml("rain", "sun"), "toy.xml")
        write(tmp_path, mulan_xml("nothing"), "to.xml")
        assert read_arff(path).label_names == ("sun", "rain")


def test_the_nearest_xml_is_taken_and_labels_overrules_it(tmp_path):
    path = write(tmp_path, TOY, "toy-train.arff")
    write(tmp_path, mulan_xml("sun"), "toy.xml")
    write(tmp_path, mulan_xml("rain"), "toy-train.xml")
    assert read_arff(path).label_names == ("rain",)
    assert read_arff(path, labels=str(tmp_path / "toy.xml")).label_names == ("sun",)
    assert read_arff(path, labels="first:1").label_names == ("sun",)


def test_nested_xml_labels(tmp_path):
    nested = '<labels><label name="rain"><label name="sun"/></label></labels>'
    write(tmp_path, nested, "toy.xml")
    assert read_arff(write(tmp_path, TOY)).label_names == ("sun", "rain")


def test_files_follow_each_other(tmp_path):
    train = write(tmp_path, TOY, "toy-train.arff")
    test = write(tmp_path, TOY, "toy-test.arff")
    write(tmp_path, mulan_xml("sun", "rain"), "toy.xml")
    data = read_arff([train, test])
    np.testing.assert_array_equal(data.X, TOY_X * 2)
    np.testing.assert_array_equal(data.Y, TOY_Y * 2)
    assert data.name == "toy-train+toy-test"


def test_a_sparse_file_may_follow_a_dense_one(tmp_path):
    head = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute x numeric\n@data\n"
    dense = write(tmp_path, head + "1,2\n", "dense.arff")
    thin = write(tmp_path, head + "{1 3}\n", "thin.arff")
    data = read_arff([dense, thin])
    assert data.is_sparse
    assert data.X.toarray().tolist() == [[2], [3]]


# Laws, on random tables -------------------------------------------------------------------------

names = st.text(string.ascii_letters + string.digits + " ,%{}'\"\\?éß€-:", min_size=1, max_size=8)
numbers = st.one_of(
    st.just(0.0),
    st.integers(-(10**6), 10**6).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def tables(draw):
    n_columns = draw(st.integers(1, 6))
    columns = draw(st.lists(names, min_size=n_columns, max_size=n_columns, unique=True))
    is_label = draw(st.lists(st.booleans(), min_size=n_columns, max_size=n_columns))
    is_label[draw(st.integers(0, n_columns - 1))] = True
    row = st.tuples(*(st.integers(0, 1) if label else numbers for label in is_label))
    rows = draw(st.lists(row, min_size=1, max_size=6))
    return columns, is_label, rows


def quoted(name, quote):
    return quote + name.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def as_arff(columns, is_label, rows, as_sparse, quote, newline):
    lines = ["@relation random"]
    for name, label in zip(columns, is_label, strict=True):
        lines.append(f"@attribute {quoted(name, quote)} {'{0,1}' if label else 'numeric'}")
    lines.append("@data")
    for row in rows:
        if as_sparse:
            entries = [f"{j} {value!r}" for j, value in enumerate(row) if value]
            lines.append("{" + ",".join(entries) + "}")
        else:
            lines.append(",".join(map(repr, row)))
    return newline.join(lines) + newline


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.booleans(), st.sampled_from("'\""), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read(tmp_path_factory, table, as_sparse, quote, newline):
    columns, is_label, rows = table
    text = as_arff(columns, is_label, rows, as_sparse, quote, newline)
    path = write(tmp_path_factory.mktemp("arff"), text)
    labels = [name for name, label in zip(columns, is_label, strict=True) if label]
    data = read_arff(path, labels=labels)
    assert data.is_sparse == as_sparse
    X = data.X.toarray() if as_sparse else data.X
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(columns))
    np.testing.assert_array_equal(X, values[:, ~np.array(is_label)])
    np.testing.assert_array_equal(data.Y, values[:, np.array(is_label)])
    assert data.label_names == tuple(labels)
    assert set(data.feature_names) == set(columns) - set(labels)


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 8))
def test_dense_files_read_as_scipy_reads_them(tmp_path_factory, seed, n, D):
    values = np.random.default_rng(seed).standard_normal((n, D))
    columns = [f"c{j}" for j in range(D)] + ["y"]
    text = as_arff(
        columns, [False] * D + [True], [(*row, 1) for row in values.tolist()], False, "'", "\n"
    )
    theirs, _ = scipy_arff.loadarff(io.StringIO(text))
    ours = read_arff(write(tmp_path_factory.mktemp("arff"), text), labels="y")
    for j in range(D):
        np.testing.assert_array_equal(ours.X[:, j], theirs[f"c{j}"])
