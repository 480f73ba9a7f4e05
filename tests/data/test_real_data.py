"""The published files, against the figures published with them and against other readers."""

from __future__ import annotations

import io
import lzma
import re

import numpy as np
import pytest
from scipy.io import arff as scipy_arff

from labelweave import load
from labelweave.data.arff import read_arff
from labelweave.data.catalogue import ENTRIES

# They take seconds to read, and smaller ones have their formats.
LARGE = {"delicious", "genbase", "imdb", "rcv1", "tmc2007-500"} | {
    f"rcv1subset{k}" for k in range(2, 6)
}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=entry.name, marks=pytest.mark.slow if entry.name in LARGE else ())
        for entry in ENTRIES
    ],
)
def test_figures_of_the_catalogue(shared_data, entry):
    data = load(entry.name)
    assert (data.n_rows, data.n_features, data.n_labels) == (
        entry.n_rows,
        entry.n_features,
        entry.n_labels,
    )
    assert data.cardinality == pytest.approx(entry.cardinality, abs=5.1e-4)
    assert data.n_label_sets == entry.n_label_sets
    assert data.is_sparse == entry.is_sparse
    assert data.name == entry.name


# From the README of the data, so that a slip in the catalogue shows.
TABLE = {
    "emotions": (593, 72, 6, 1.868, 27),
    "scene": (2407, 294, 6, 1.074, 15),
    "yeast": (2417, 103, 14, 4.237, 198),
    "image": (2000, 294, 5, 1.236, 20),
    "enron": (1702, 1001, 53, 3.378, 753),
    "slashdot": (3782, 1079, 22, 1.181, 156),
    "corel5k": (5000, 499, 374, 3.522, 3175),
    "cal500": (502, 68, 174, 26.044, 502),
    "flags": (194, 19, 7, 3.392, 54),
    "genbase": (662, 1186, 27, 1.252, 32),
    "delicious": (16105, 500, 983, 19.020, 15806),
    "tmc2007-500": (28596, 500, 22, 2.158, 1341),
    "imdb": (120919, 1001, 28, 2.000, 4503),
    "rcv1": (27613, 47236, 101, 2.913, 2058),
} | {f"rcv1subset{k}": (6000, 47236, 101, 2.9, 800) for k in range(1, 6)}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_catalogue_agrees_with_the_table(entry):
    n, D, L, cardinality, label_sets = TABLE[entry.name]
    loose = entry.name.startswith("rcv1subset")
    assert (entry.n_rows, entry.n_features, entry.n_labels) == (n, D, L)
    assert entry.cardinality == pytest.approx(cardinality, abs=0.011 if loose else 1e-9)
    assert entry.n_label_sets == pytest.approx(label_sets, abs=20 if loose else 0)


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_bundled_sets_are_the_published_ones(shared_data, monkeypatch, name):
    published = load(name)
    monkeypatch.delenv("LABELWEAVE_DATA")
    ours = load(name)
    np.testing.assert_array_equal(ours.X, published.X)
    np.testing.assert_array_equal(ours.Y, published.Y)
    assert ours.label_names == published.label_names
    assert ours.feature_names == published.feature_names
    np.testing.assert_array_equal(ours.train_rows, published.train_rows)


@pytest.mark.parametrize(
    ("name", "train", "test"),
    [
        ("emotions", "emotions-train.arff.xz", "emotions-test.arff.xz"),
        ("yeast", "yeast-train.arff.xz", "yeast-test.arff.xz"),
        ("corel5k", "Corel5k-train-sparse.arff.xz", "Corel5k-test-sparse.arff"),
        pytest.param(
            "tmc2007-500",
            "tmc2007-500-train.arff.xz",
            "tmc2007-500-test.arff.xz",
            marks=pytest.mark.slow,
        ),
        pytest.param("scene", "scene-train.arff.xz", "scene-test.arff.xz", marks=pytest.mark.slow),
    ],
)
def test_published_splits_are_the_published_files(shared_data, name, train, test):
    for part, file in zip(load(name).published_split(), (train, test), strict=True):
        published = read_arff(shared_data / name / file)
        assert part.X.shape == published.X.shape
        assert abs(part.X - published.X).max() == 0
        np.testing.assert_array_equal(part.Y, published.Y)


def test_dense_file_as_scipy_reads_it(shared_data):
    path = shared_data / "emotions" / "emotions-test.arff.xz"
    theirs, _ = scipy_arff.loadarff(io.StringIO(lzma.decompress(path.read_bytes()).decode()))
    ours = read_arff(path)
    for j, name in enumerate(ours.feature_names):
        np.testing.assert_array_equal(ours.X[:, j], theirs[name])
    for j, name in enumerate(ours.label_names):
        np.testing.assert_array_equal(ours.Y[:, j], theirs[name].astype(int))


@pytest.mark.parametrize(
    ("file", "n_columns", "labels"),
    [
        ("enron/enron.arff.xz", 1054, slice(1001, 1054)),
        ("slashdot/SLASHDOT-F.arff.xz", 1101, slice(0, 22)),
    ],
)
def test_sparse_file_as_a_plain_reading_sees_it(shared_data, file, n_columns, labels):
    text = lzma.decompress((shared_data / file).read_bytes()).decode()
    rows = re.findall(r"^\{(.*)\}", text, re.MULTILINE)
    table = np.zeros((len(rows), n_columns))
    for i, row in enumerate(rows):
        for column, value in re.findall(r"(\d+) ([^,]+)", row):
            table[i, int(column)] = float(value)
    data = read_arff(shared_data / file)
    np.testing.assert_array_equal(data.Y, table[:, labels])
    np.testing.assert_array_equal(data.X.toarray(), np.delete(table, labels, axis=1))


def test_nominal_attributes(shared_data):
    flags = load("flags")
    assert flags.nominal_features == ("landmass", "zone", "language", "religion")
    text = lzma.decompress((shared_data / "flags" / "flags.arff.xz").read_bytes()).decode()
    rows = [line.split(",") for line in text.partition("@data")[2].split() if line]
    for column, name in enumerate(flags.feature_names):
        values = [row[column] for row in rows]
        given = flags.X[name].tolist()
        assert given == (values if name in flags.nominal_features else [float(v) for v in values])


@pytest.mark.slow
def test_a_nominal_attribute_that_names_the_rows(shared_data):
    genbase = load("genbase", ignore="protein")
    assert isinstance(genbase.X, np.ndarray)
    assert genbase.n_features == 1185
    assert load("genbase").X["protein"].nunique() == 662


def test_label_names(shared_data):
    assert load("scene").label_names == (
        *("Beach", "Sunset", "FallFoliage", "Field", "Mountain", "Urban"),
    )
    # The XML lists them in another order than the columns have.
    assert load("yeast").label_names == tuple(f"Class{j}" for j in range(1, 15))
    assert load("slashdot").label_names[:2] == ("Entertainment", "Interviews")
    assert load("emotions").label_names[2] == "relaxing-calm"
