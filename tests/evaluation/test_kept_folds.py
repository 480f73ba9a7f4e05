"""Comparisons that are stopped go on: nothing finished is done again, nothing stale is used."""

import dataclasses
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold

from labelweave import compare

X, Y = make_multilabel_classification(40, 4, n_classes=2, random_state=0)
N_FOLDS = 3


class Counted(ClassifierMixin, BaseEstimator):
    """Predicts nothing; its fits are counted, and may fail."""

    fits = 0
    fails = False

    def __init__(self, weights=None):
        self.weights = weights

    def fit(self, X, Y):
        type(self).fits += 1
        if self.fails:
            raise RuntimeError("not yet")
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X):
        return np.zeros((len(X), self.n_labels_), dtype=int)


METHODS = {"counted": Counted(), "weighted": Counted(np.arange(5000)), "prior": DummyClassifier()}


def fits_of(**arguments):
    before = Counted.fits
    result = compare(**{"methods": METHODS, "X": X, "Y": Y, "cv": N_FOLDS} | arguments)
    return Counted.fits - before, result


def without_seconds(result):
    runs = [dataclasses.replace(r, fit_seconds=0.0, predict_seconds=0.0) for r in result.results]
    return dataclasses.replace(result, results=tuple(runs))


@cache
def small():
    """Return a comparison of little work."""
    methods = {"counted": METHODS["counted"], "prior": METHODS["prior"]}
    arguments = {"methods": methods, "cv": 2, "metrics": ["jaccard"]}
    return arguments, without_seconds(fits_of(**arguments)[1])


@settings(max_examples=10)  # three comparisons each
@given(stop=st.integers(1, 4), cut=st.integers(0, 200))
def test_a_comparison_that_was_stopped_goes_on(tmp_path_factory, stop, cut):
    """After any number of results, the last of which may be torn."""
    file = tmp_path_factory.mktemp("kept") / "folds.jsonl"
    arguments, expected = small()
    seen = []

    def interrupt(run):
        seen.append(run)
        if len(seen) == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fits_of(results=file, progress=interrupt, **arguments)
    content = file.read_bytes()
    assert content.count(b"\n") == stop
    file.write_bytes(content[: max(len(content) - cut, 0)])
    whole = file.read_bytes()[: file.read_bytes().rfind(b"\n") + 1]
    _, result = fits_of(results=file, **arguments)
    assert without_seconds(result) == expected
    kept = file.read_bytes()
    assert kept.startswith(whole)
    assert kept.count(b"\n") == 4
    again = []
    n_fits, repeated = fits_of(results=file, progress=again.append, **arguments)
    assert n_fits == 0
    assert repeated == result
    assert sorted(again, key=repr) == sorted(result.results, key=repr)
    assert file.read_bytes() == kept


def test_what_a_result_depends_on_is_in_its_key(tmp_path, monkeypatch):
    kept = {"results": tmp_path / "folds.jsonl"}
    assert fits_of(**kept)[0] == 2 * N_FOLDS
    one = {"counted": Counted()}
    reordered = {"weighted": Counted(np.where(np.arange(5000) == 2500, 0, np.arange(5000)))}
    assert repr(reordered["weighted"]) == repr(METHODS["weighted"])
    for changes, n_fits in [
        ({"methods": {"by another name": Counted()}}, 0),
        ({"cv": KFold(N_FOLDS, shuffle=True, random_state=0)}, 0),  # the same folds
        ({"methods": reordered}, N_FOLDS),
        ({"methods": {"w": Counted([1])}}, N_FOLDS),
        ({"methods": one, "cv": KFold(N_FOLDS, shuffle=True, random_state=1)}, N_FOLDS),
        ({"methods": one, "cv": 4}, 4),
        ({"methods": one, "metrics": ["jaccard"]}, N_FOLDS),
        ({"methods": one, "scale": False}, N_FOLDS),
        ({"methods": one, "X": X + 1}, N_FOLDS),
        ({"methods": one, "Y": 1 - Y}, N_FOLDS),
    ]:
        assert fits_of(**kept | changes)[0] == n_fits, changes
        assert fits_of(**kept | changes)[0] == 0, changes
    monkeypatch.setattr("labelweave.evaluation.comparison.code_version", lambda: "newer")
    assert fits_of(**kept)[0] == 2 * N_FOLDS


def test_names_and_folds_are_those_of_the_comparison(tmp_path):
    file = tmp_path / "folds.jsonl"
    fits_of(results=file, methods={"a": Counted()})
    _, result = fits_of(results=file, methods={"b": DummyClassifier(), "c": Counted()})
    assert [(r.method, r.fold) for r in result.results] == [(m, f) for m in "bc" for f in range(3)]


def test_what_failed_is_tried_again(tmp_path, monkeypatch):
    arguments = {"results": tmp_path / "folds.jsonl", "methods": {"counted": Counted()}}
    monkeypatch.setattr(Counted, "fails", True)
    with pytest.warns(FitFailedWarning, match="counted failed on 3 of 3 folds"):
        _, failed = fits_of(**arguments)
    assert len(failed.failures()) == N_FOLDS
    monkeypatch.setattr(Counted, "fails", False)
    n_fits, result = fits_of(**arguments)
    assert n_fits == N_FOLDS
    assert not result.failures()
    assert fits_of(**arguments)[0] == 0


def test_a_machine_that_fails_is_not_the_method(tmp_path, monkeypatch):
    """What an engine may try elsewhere comes back as a failure of that fold, with its traceback."""

    def no_memory(self, X, Y):
        raise MemoryError("no room")

    monkeypatch.setattr(Counted, "fit", no_memory)
    with pytest.warns(FitFailedWarning, match="counted failed on 3 of 3 folds: MemoryError"):
        result = compare({"counted": Counted()}, X, Y, cv=N_FOLDS)
    assert "in no_memory" in result.failures()[0].traceback
    assert math.isnan(result.failures()[0].fit_seconds)


def test_two_comparisons_do_not_write_to_one_file(tmp_path):
    file = tmp_path / "folds.jsonl"

    def second(_):
        compare(METHODS, X, Y, cv=2, results=file)

    with pytest.raises(ValueError, match=r"folds.jsonl is being written to by another run"):
        compare(METHODS, X, Y, cv=2, results=str(file), progress=second)


def test_a_damaged_line_is_named(tmp_path):
    file = tmp_path / "folds.jsonl"
    file.write_text('{"key": "k", "method": "br"}\n')
    with pytest.raises(ValueError, match=r"folds.jsonl: line 1 is damaged"):
        compare(METHODS, X, Y, cv=2, results=file)
