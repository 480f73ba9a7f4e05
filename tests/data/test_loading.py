from __future__ import annotations

import gzip
import io
import os
import socket
import threading
import warnings
from dataclasses import replace
from email.message import Message
from urllib.error import HTTPError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from scipy import sparse
from sklearn.utils import Bunch

from labelweave import Dataset, load
from labelweave._common.matrices import is_mapped
from labelweave.data import catalogue, list_datasets, write_mapped
from labelweave.data import download as openml
from labelweave.data.catalogue import find_entry
from labelweave.data.download import cache_folder, cached, load_from_cache
from labelweave.data.load import is_row_text, is_table

ARFF = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute x numeric\n@data\n1,2\n"


@pytest.fixture(autouse=True)
def empty_machine(tmp_path, monkeypatch):
    """Nothing but the bundled sets, and a cache of our own."""
    monkeypatch.delenv("LABELWEAVE_DATA", raising=False)
    monkeypatch.setenv("LABELWEAVE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("LABELWEAVE_DATA", str(folder))
    return folder


# Files ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("toy.arff", ARFF, None),
        ("TOY.ARFF", ARFF, "y"),
        ("toy.txt", "1 1 1\n0 0:2\n", None),
        ("toy.xmc", "1 1 1\n0 0:2\n", None),
        ("toy.svm", "0 1:2\n", None),
        ("toy.libsvm", "0 1:2\n", None),
        ("toy.svmlight", "0 1:2\n", None),
        ("toy.csv", "x,y\n2,1\n", "y"),
        ("toy.tsv", "x\ty\n2\t1\n", "last:1"),
    ],
)
def test_the_ending_tells_the_format(tmp_path, name, text, labels):
    assert is_table(name) == (name.endswith(("csv", "tsv")))
    assert is_row_text(name) == (name.endswith(("txt", "xmc", "svm", "libsvm", "svmlight")))
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / name, str(tmp_path / f"{name}.gz")):
        data = load(path, labels)
        X = data.X.toarray() if data.is_sparse else data.X
        assert (X.tolist(), data.Y.tolist()) == ([[2]], [[1]])


def test_parquet(tmp_path):
    pd.DataFrame({"x": [2.0], "y": [1]}).to_parquet(tmp_path / "toy.pq")
    assert load(tmp_path / "toy.pq", "y").X.tolist() == [[2]]


def test_what_cannot_be_loaded(tmp_path):
    (tmp_path / "toy.csv").write_text("x,y\n1,1\n")
    (tmp_path / "toy.xmc").write_text("1 1 1\n0 0:1\n")
    (tmp_path / "toy.dat").write_text("")
    with pytest.raises(ValueError, match="specify which columns are labels: labels='last:6'"):
        load(tmp_path / "toy.csv")
    with pytest.raises(ValueError, match="this format marks its labels"):
        load(tmp_path / "toy.xmc", "last:1")
    with pytest.raises(ValueError, match=r"cannot tell the format of .*toy.dat.*known extensions"):
        load(tmp_path / "toy.dat")
    with pytest.raises(FileNotFoundError, match=r"there is no file .*gone.csv"):
        load(tmp_path / "gone.csv")


# Names ------------------------------------------------------------------------------------------


def test_unknown_names_get_hints():
    with pytest.raises(
        ValueError, match=r"Did you mean emotions\?.*Known data sets: emotions, scene"
    ):
        load("emotoins")
    with pytest.raises(ValueError, match=r"'xyzzy' is neither a file nor a known data set. Known"):
        load("xyzzy")
    with pytest.raises(ValueError, match="labels applies to files only"):
        load("emotions", labels="last:6")


def test_a_name_wins_over_a_file_of_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "emotions").write_text("")
    assert load("Emotions").n_rows == 593


def test_catalogue_tells_where_each_set_is(data_folder):
    found = {entry.name: entry.found_in for entry in list_datasets()}
    assert found.pop("emotions") == found.pop("yeast") == "bundled"
    assert set(found.values()) == {None}
    write_mapped(Dataset(np.zeros((1, 1)), np.ones((1, 1)), name="enron"), cached("enron"))
    (data_folder / "scene").mkdir()
    (data_folder / "scene" / "scene-train.arff").touch()
    found = {entry.name: entry.found_in for entry in list_datasets()}
    assert (found["enron"], found["scene"]) == ("cache", None)
    (data_folder / "scene" / "scene-test.arff.bz2").touch()
    assert {entry.name: entry.found_in for entry in list_datasets()}["scene"] == "LABELWEAVE_DATA"


def test_the_data_folder_comes_first_and_is_verified(data_folder):
    (data_folder / "emotions").mkdir()
    (data_folder / "emotions" / "emotions.arff").write_text(ARFF)
    with pytest.raises(ValueError, match=r"not the expected 'emotions': it has \(1, 1, 1\)"):
        load("emotions")


@pytest.fixture
def no_fetch(monkeypatch):
    """Fail a test that gets as far as scikit-learn's fetch, which waits as long as the system."""

    def fetch(**wanted):
        raise AssertionError("fetch_openml was called without a connection")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setattr("urllib.request._opener", None)  # it remembers the first proxy it saw


def test_offline_says_what_to_do(data_folder, monkeypatch, no_fetch):
    """Kept from the network by a proxy that is not there."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    with pytest.raises(FileNotFoundError) as caught:
        load("scene")
    message = str(caught.value)
    assert "could not be downloaded from OpenML (<urlopen error [Errno" in message
    assert "put scene/scene-train.arff, scene/scene-test.arff, scene/scene.xml" in message
    assert f"into the folder {data_folder} (LABELWEAVE_DATA)" in message


def test_silence_is_not_waited_for(monkeypatch, no_fetch):
    """A proxy that accepts a connection and says nothing, as a firewall that drops packets."""
    monkeypatch.setattr(openml, "_PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(FileNotFoundError, match=r"OpenML .*(timed out|no answer)"):
            load("scene")


def test_a_name_that_is_looked_up_for_ever_is_not_waited_for(monkeypatch, no_fetch):
    released = threading.Event()
    monkeypatch.setattr(openml, "_PATIENCE", 0.05)
    monkeypatch.setattr(openml, "urlopen", lambda *_, **__: released.wait() and io.BytesIO())
    try:
        with pytest.raises(FileNotFoundError, match=r"no answer from .* within 0\.05 seconds"):
            load("scene")
    finally:
        released.set()


def test_a_server_that_refuses_is_a_server(small_sets, monkeypatch):
    def refuse(request, timeout):
        raise HTTPError(request.full_url, 405, "no HEAD here", Message(), io.BytesIO())

    monkeypatch.setattr(openml, "urlopen", refuse)
    bunch, _, Y = openml_bunch(find_entry("image"))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: bunch)
    np.testing.assert_array_equal(load("image").Y, Y)


def test_sets_that_openml_lacks_are_not_asked_for():
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded.*imdb/Imdb.arff"):
        load("imdb")


# Downloads --------------------------------------------------------------------------------------


@pytest.fixture
def small_sets(monkeypatch):
    """Shrink the sets of the catalogue, so that stand-ins are quickly made; OpenML answers."""
    monkeypatch.setattr(openml, "urlopen", lambda request, timeout: io.BytesIO())
    small = tuple(replace(entry, n_rows=30, n_features=8) for entry in catalogue.ENTRIES)
    monkeypatch.setattr(catalogue, "ENTRIES", small)


def openml_bunch(entry, name=None, n_features=None, as_sparse=False):
    """Make what fetch_openml returns: nominal labels, nominal 0/1 features as text."""
    rng = np.random.default_rng(0)
    D = n_features or entry.n_features
    X = (rng.random((entry.n_rows, D)) < 0.1).astype(int)
    Y = rng.random((entry.n_rows, entry.n_labels)) < 0.3
    features, labels = [f"a{j}" for j in range(D)], [f"l{j}" for j in range(entry.n_labels)]
    data = pd.DataFrame(X.astype(str), columns=features, dtype="category")
    target = pd.DataFrame(np.where(Y, "TRUE", "FALSE"), columns=labels, dtype="category")
    bunch = Bunch(
        data=sparse.csr_matrix(X.astype(float)) if as_sparse else data,
        target=target.to_numpy() if as_sparse else target,
        feature_names=features,
        target_names=labels,
        details={"name": name or entry.name},
    )
    return bunch, X, Y


@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("name", ["image", "slashdot"])
def test_download_is_converted_and_cached(small_sets, monkeypatch, name, as_sparse):
    entry = find_entry(name)
    bunch, X, Y = openml_bunch(entry, as_sparse=as_sparse)
    calls = []
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **k: calls.append(k) or bunch)
    for _ in range(2):  # the second time from the cache
        data = load(name)
        assert data.is_sparse == entry.is_sparse
        np.testing.assert_array_equal(data.X.toarray() if data.is_sparse else data.X, X)
        np.testing.assert_array_equal(data.Y, Y)
        assert data.label_names == tuple(bunch.target_names)
        assert data.feature_names == tuple(bunch.feature_names)
        assert data.name == name
    assert [call["data_id"] for call in calls] == [entry.openml_id]


def test_a_wrong_number_falls_back_on_the_name(small_sets, monkeypatch):
    entry = find_entry("slashdot")
    bunch, _, Y = openml_bunch(entry)
    other, _, _ = openml_bunch(entry, name="birds")
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **k: bunch if "name" in k else other
    )
    np.testing.assert_array_equal(load("slashdot").Y, Y)


def test_a_set_of_the_wrong_size_is_refused(small_sets, monkeypatch):
    entry = find_entry("image")
    bunch, _, _ = openml_bunch(entry, n_features=5)

    def fetch(**wanted):
        if "name" in wanted:
            raise ValueError("no such version")
        return bunch

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    with pytest.raises(FileNotFoundError) as caught:
        load("image")
    message = str(caught.value)
    assert "30 rows, 5 features, 5 labels instead of 30, 8, 5" in message
    assert "no such version" in message
    assert not cached("image").exists()


def test_odd_label_values_are_refused(small_sets, monkeypatch):
    entry = find_entry("image")
    bunch, _, _ = openml_bunch(entry)
    bunch.target = bunch.target.astype(object)
    bunch.target.iloc[3, 2] = "maybe"
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: bunch)
    with pytest.raises(FileNotFoundError, match="labels of 'image' on OpenML contain 'maybe'"):
        load("image")


def test_a_cache_that_cannot_be_written_only_warns(small_sets, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LABELWEAVE_CACHE", str(tmp_path / "file" / "cache"))
    bunch, _, Y = openml_bunch(find_entry("image"))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: bunch)
    with pytest.warns(UserWarning, match="'image' could not be saved to the cache"):
        data = load("image")
    np.testing.assert_array_equal(data.Y, Y)


# The cache --------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
def test_cached_sets_come_back_whole(as_sparse):
    X = np.array([[0, 1.5], [2.25, 0]])
    data = Dataset(
        sparse.csr_array(X) if as_sparse else X, np.eye(2), ("é", "b c"), ("l 1", "l2"), "slashdot"
    )
    write_mapped(data, cached("slashdot"))
    again = load_from_cache("slashdot")
    assert again.is_sparse == as_sparse
    np.testing.assert_array_equal(again.X.toarray() if as_sparse else again.X, X)
    assert (again.feature_names, again.label_names) == (data.feature_names, data.label_names)
    assert all(type(name) is str for name in again.feature_names)
    assert again.Y.dtype == np.int64
    assert not is_mapped(again.Y)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04broken"])
def test_a_damaged_cache_is_named(content):
    write_mapped(Dataset(np.zeros((1, 1)), np.ones((1, 1)), name="slashdot"), cached("slashdot"))
    (cached("slashdot") / "X.npy").write_bytes(content)
    with pytest.raises(ValueError, match=r"X.npy: damaged: .*: delete .*slashdot and try again"):
        load("slashdot")


def test_the_cache_folder_follows_the_platform(monkeypatch):
    monkeypatch.delenv("LABELWEAVE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder().as_posix() == "/somewhere/labelweave"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder().as_posix() == os.path.expanduser("~/.cache/labelweave")
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder().as_posix() == os.path.expanduser("~/Library/Caches/labelweave")
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_folder().as_posix() == "/local/labelweave"


def test_loading_bundled_sets_is_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("yeast").n_rows == 2417
