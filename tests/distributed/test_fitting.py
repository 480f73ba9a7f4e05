"""Models fitted on an engine: the same attributes and predictions, to the last bit."""

import os
import signal
from dataclasses import replace

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from labelweave import (
    BinaryRelevance,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    JointClassifierCV,
    MixtureSettings,
    PairwiseCRF,
    StackedBinaryRelevance,
    TreeMixture,
    TreeNetwork,
    load,
)
from labelweave._common.engine import JoblibEngine
from labelweave.distributed import fit
from tests.logistic.make import make_problem
from tests.spreading import CardTable, spread_finely

FIXED = {"C": 1.0, "label_penalty": 0.1}
MODELS = {
    "binary relevance": BinaryRelevance(),
    "balanced": BinaryRelevance(C=1.0, class_weight="balanced"),
    "chain": ClassifierChain(),
    "learned order": ClassifierChain(order="auto", **FIXED),
    "ensemble": ChainEnsemble(n_estimators=3, **FIXED),
    "tree": TreeNetwork(**FIXED),
    "mixture of trees": TreeMixture(n_components=2, settings=MixtureSettings(cv=1), **FIXED),
    "size of a mixture": ChainMixture(
        settings=MixtureSettings(max_components=2, cv=1, patience=1), **FIXED
    ),
    "stack": StackedBinaryRelevance(cv=3, **FIXED),
    "field": PairwiseCRF(**FIXED),
}
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])


def same_bits(left, right):
    """Whether two values are equal, and so is all they consist of."""
    if isinstance(left, np.ndarray):
        return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_bits(left[k], right[k]) for k in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same_bits, left, right))
    if hasattr(left, "__dict__") and not callable(left):
        return type(left) is type(right) and same_bits(vars(left), vars(right))
    return left == right or (left != left and right != right)


def check_same(model, X, Y, engine, sample_weight=None):
    here = model.fit(X, Y, sample_weight=sample_weight)
    expected = {name: value for name, value in vars(here).items() if name.endswith("_")}
    probabilities = here.predict_proba(X)
    there = fit(model, X, Y, client=engine, sample_weight=sample_weight)
    assert there is model
    for name, value in expected.items():
        assert same_bits(value, getattr(there, name)), name
    np.testing.assert_array_equal(probabilities, there.predict_proba(X))


@pytest.fixture
def small_blocks(monkeypatch):
    spread_finely(monkeypatch)


def problem(form):
    X, Y = make_problem(60, 5, 6)
    return form(np.where(X > 0, X, 0.0)), Y


@EACH
@FORMS
def test_same_model_from_blocks(model, form, small_blocks):
    table = CardTable(2)
    check_same(model, *problem(form), table)
    assert table.functions


@pytest.mark.parametrize("name", ["chain", "tree", "mixture of trees"])
def test_weights_of_rows(name, small_blocks):
    weight = np.random.default_rng(0).integers(0, 3, size=60).astype(float)
    check_same(MODELS[name], *problem(np.asarray), CardTable(3), weight)


@pytest.mark.slow
def test_processes_on_this_machine(small_blocks):
    check_same(MODELS["chain"], *problem(sp.csr_array), JoblibEngine(2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("balanced", np.asarray),
        ("chain", sp.csr_array),
        ("ensemble", np.asarray),
        ("tree", sp.csr_array),
        ("mixture of trees", np.asarray),
    ],
)
def test_same_model_from_a_cluster(name, form, engine, small_blocks):
    check_same(MODELS[name], *problem(form), engine)


@pytest.mark.slow
def test_real_data_from_a_cluster(engine, shared_data):
    data, model = load("corel5k"), ClassifierChain(**FIXED)
    here = model.fit(data.X, data.Y).conditionals_
    there = fit(model, data.X, data.Y, client=engine).conditionals_
    assert same_bits(here, there)
    assert not same_bits(here, replace(there, C=0.5))


@pytest.mark.slow
def test_a_killed_worker_costs_only_time(own_engine, small_blocks):
    X, Y = problem(sp.csr_array)
    fit(MODELS["binary relevance"], X, Y, client=own_engine)  # X is there now
    first = next(iter(own_engine.client.cluster.workers.values()))
    os.kill(first.process.pid, signal.SIGKILL)
    check_same(MODELS["binary relevance"], X, Y, own_engine)


@pytest.mark.slow
def test_joblib_fits_base_classifiers_on_a_cluster(engine):
    X, Y = problem(np.asarray)
    model = BinaryRelevance(estimator=LogisticRegression(), n_jobs=2)
    here, certain = model.fit(X, Y).predict(X), model.predict_proba(X)
    with joblib.parallel_config("dask", client=engine.client):
        there = model.fit(X, Y)
    np.testing.assert_array_equal(here, there.predict(X))
    # scikit-learn's products are BLAS's, whose last bit depends on where arrays begin in memory.
    np.testing.assert_allclose(certain, there.predict_proba(X), rtol=1e-12)


@pytest.mark.slow
def test_base_classifiers_are_fitted_where_joblib_says(engine):
    """`JointClassifierCV` fits folds and labels by joblib, whose backend may be a cluster."""
    X, Y = make_problem(60, 4, 3)
    model = JointClassifierCV(estimator=GaussianNB(), joint=ClassifierChain(**FIXED), cv=3)
    here = clone(model).fit(X, Y)
    with joblib.parallel_config(backend="dask"):
        there = clone(model).fit(X, Y)
    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
