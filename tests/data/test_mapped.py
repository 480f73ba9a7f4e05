"""Data sets in folders: what comes out is what went in, fits are the same, damage is named."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from labelweave import BinaryRelevance, ClassifierChain, Dataset, load
from labelweave._common.matrices import is_mapped
from labelweave.data import mapped, write_mapped
from labelweave.data.row_text import read_svmlight, read_xmc
from labelweave.logistic.solver import LARGEST_TRANSPOSE

PARTS = ["7,3 1:0.5 3:2\n 2:1\n", "12 4:-1e-3\n3 1:1 2:2 # comment\n", "\n 5:1\n"]


def make_sparse(n=120, d=30, n_labels=4, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    scores = X @ rng.normal(size=(d, n_labels)) + 0.1 * rng.normal(size=(n, n_labels))
    return Dataset(X, scores > 0, name="made", train_rows=np.arange(n // 2))


def assert_same(data, expected):
    dense = [X.toarray() if sparse.issparse(X) else X for X in (data.X, expected.X)]
    np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(data.Y, expected.Y)
    assert list(data.feature_names) == list(expected.feature_names)
    assert list(data.label_names) == list(expected.label_names)
    assert (data.train_rows is None) == (expected.train_rows is None)
    if data.train_rows is not None:
        np.testing.assert_array_equal(data.train_rows, expected.train_rows)


@pytest.mark.parametrize("make", [make_sparse, partial(load, "emotions")], ids=["sparse", "dense"])
def test_what_comes_out_is_what_went_in(tmp_path, make):
    expected = make()
    data = write_mapped(expected, tmp_path / "folder")
    assert_same(data, expected)
    assert_same(load(tmp_path / "folder"), expected)
    assert data.name == expected.name
    parts = (data.X.data, data.X.indices) if data.is_sparse else (data.X,)
    for part in (*parts, data.Y):
        assert is_mapped(part)
        assert not part.flags.writeable


@settings(max_examples=15, deadline=None)
@given(n=st.integers(0, 6), d=st.integers(0, 4), L=st.integers(0, 3), dense=st.booleans())
def test_empty_and_tiny_sets(tmp_path_factory, n, d, L, dense):
    X = np.arange(n * d, dtype=float).reshape(n, d)
    expected = Dataset(X if dense else sparse.csr_array(X), np.ones((n, L), int))
    assert_same(write_mapped(expected, tmp_path_factory.mktemp("tiny") / "set"), expected)


@pytest.mark.parametrize("one_file", [True, False])
def test_parts_of_svmlight_follow_one_another(tmp_path, one_file):
    whole = tmp_path / "whole.svm"
    whole.write_text("".join(PARTS))
    files = [tmp_path / f"part-{k}.svm" for k in range(len(PARTS))]
    for file, text in zip(files, PARTS, strict=True):
        file.write_text(text)
    data = write_mapped(whole if one_file else files, tmp_path / "folder")
    assert_same(data, read_svmlight(whole, zero_based=False))


def test_parts_of_xmc_follow_one_another(tmp_path):
    rows = ["0,2 0:0.5 4:1\n", " 1:2\n", "2 3:1 0:4\n"]
    (tmp_path / "whole.xmc").write_text("3 5 3\n" + "".join(rows))
    for k, row in enumerate(rows):
        (tmp_path / f"part-{k}.xmc").write_text(f"1 5 3\n{row}")
    files = sorted(tmp_path.glob("part-*"))
    assert_same(write_mapped(files, tmp_path / "folder"), read_xmc(tmp_path / "whole.xmc"))
    (tmp_path / "part-3.xmc").write_text("1 6 3\n0 5:1\n")
    with pytest.raises(ValueError, match=r"part-3.xmc has 6 features.*part-0.xmc has 5"):
        write_mapped([*files, tmp_path / "part-3.xmc"], tmp_path / "folder")


@pytest.mark.parametrize("mixed_types", [False, True])
@pytest.mark.parametrize("row_by_row", [False, True])
@pytest.mark.parametrize("model", [BinaryRelevance(), ClassifierChain(C=1.0)], ids=["br", "chain"])
def test_fits_have_the_same_bits(tmp_path, monkeypatch, model, row_by_row, mixed_types):
    expected = make_sparse()
    if row_by_row:
        monkeypatch.setitem(LARGEST_TRANSPOSE, "mapped", 0)
    if mixed_types:  # as for more entries than 32 bits can count
        monkeypatch.setattr(mapped, "_MOST_SMALL", 0)
    data = write_mapped(expected, tmp_path)
    assert data.X.indptr.dtype == (np.int64 if mixed_types else np.int32)
    there = model.fit(data.X, data.Y).conditionals_
    found = model.predict_proba(data.X)
    here = model.fit(expected.X, expected.Y).conditionals_
    np.testing.assert_array_equal(there.weights, here.weights)
    np.testing.assert_array_equal(there.coupling, here.coupling)
    np.testing.assert_array_equal(found, model.predict_proba(expected.X))
    assert data.X.indices.dtype == np.int32  # no fit has replaced it
    assert is_mapped(data.X.indices)


def test_dense_fits_have_the_same_bits(tmp_path):
    expected = load("emotions")
    data = write_mapped(expected, tmp_path)
    fits = [BinaryRelevance(C=0.1).fit(each.X, each.Y) for each in (data, expected)]
    np.testing.assert_array_equal(*(fit.conditionals_.weights for fit in fits))


def test_a_failed_conversion_leaves_the_data_set_before(tmp_path):
    expected = make_sparse()
    write_mapped(expected, tmp_path / "folder")
    (tmp_path / "bad.svm").write_text("1 1:1\n1 one:1\n")
    with pytest.raises(ValueError, match=r"bad.svm:2"):
        write_mapped(tmp_path / "bad.svm", tmp_path / "folder")
    assert_same(load(tmp_path / "folder"), expected)
    assert not list((tmp_path / "folder").glob("*.part"))


def test_a_data_set_can_be_replaced_by_itself_or_another_kind(tmp_path):
    sparse_set = write_mapped(make_sparse(), tmp_path)
    assert_same(write_mapped(sparse_set, tmp_path, name="again"), make_sparse())
    assert_same(write_mapped(load("emotions"), tmp_path), load("emotions"))
    assert not (tmp_path / "data.npy").exists()


@pytest.mark.parametrize("name", ["header.json", "data.npy", "indices.npy", "indptr.npy", "Y.npy"])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "other"])
def test_damage_is_named(tmp_path, name, damage):
    write_mapped(make_sparse(), tmp_path)
    path, content = tmp_path / name, (tmp_path / name).read_bytes()
    path.unlink()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(content[: len(content) - 9])
    elif damage == "other" and name == "header.json":
        path.write_text(json.dumps(json.loads(content) | {"n_rows": 7}))
    elif damage == "other":
        np.save(path, np.zeros(3))
    with pytest.raises(ValueError, match=name):  # the header's sizes are held against every file
        load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layout": 1}, "layout 1"),
        ({"feature_names": "x"}, "feature_names must be names, or the first of them"),
        ({"format": "other"}, "not the header"),
        ({"n_labels": -1}, "n_labels is -1"),
        ({"n_labels": "4"}, "n_labels is '4'"),
        ({"label_names": ["a"]}, "label_names must have 4 names"),
        ({"label_names": [1, 2, 3, 4]}, "label_names"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_damaged_headers_are_refused(tmp_path, change, message):
    write_mapped(make_sparse(), tmp_path)
    path = tmp_path / "header.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("indices", 99, "indices must lie between 0 and 29"),
        ("indices", -1, "indices must lie between 0 and 29"),
        ("indptr", 10**6, "indptr must rise"),
        ("data", np.nan, "NaN"),
        ("Y", 5, "only 0 and 1"),
    ],
)
def test_damaged_numbers_are_refused(tmp_path, name, value, message):
    write_mapped(make_sparse(), tmp_path)
    array = np.load(tmp_path / f"{name}.npy")
    array.flat[3] = value
    np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(ValueError, match=message):
        load(tmp_path)


def test_rows_out_of_order_are_refused(tmp_path):
    write_mapped(Dataset(sparse.csr_array(np.ones((2, 3))), np.ones((2, 1), int)), tmp_path)
    np.save(tmp_path / "indices.npy", np.array([0, 1, 2, 0, 2, 1], np.int32))
    with pytest.raises(ValueError, match=r"indices.npy.*out of order"):
        load(tmp_path)


def test_what_cannot_be_written_is_refused(tmp_path):
    mixed = Dataset(pd.DataFrame({"genre": ["rock", None]}), [[1], [0]])
    with pytest.raises(ValueError, match="categories or missing values"):
        write_mapped(mixed, tmp_path)
    with pytest.raises(ValueError, match="no file"):
        write_mapped([], tmp_path)
    with pytest.raises(ValueError, match="labels does not apply"):
        load(write_folder(tmp_path), labels="last:2")
    assert load(write_folder(tmp_path), labels="top:2").n_labels == 2


def write_folder(path):
    write_mapped(make_sparse(), path)
    return path
