"""Prediction on dask arrays and data frames: what the model predicts for all rows in memory."""

from __future__ import annotations

from functools import cache

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    BayesianOnlineClassifier,
    BinaryRelevance,
    ChainEnsemble,
    ClassifierChain,
    PassiveAggressive,
)
from labelweave.decision import MajorityVote
from labelweave.decision.rules import ThresholdRule
from labelweave.distributed import predict, predict_proba
from labelweave.distributed.prediction import RowBlocks, thresholds_of_blocks

DECISIONS = ("cmn", "lcard", "expected_f", "expected_auc", "sample", "fixed", "hamming", "subset")
MODELS = {
    "BR": BinaryRelevance(C=1.0),
    "chain": ClassifierChain(C=1.0, label_penalty=1.0),
    "BOMC": BayesianOnlineClassifier(),
}
NAMES = ["f0", "f1", "f2", "f3"]
N = 47


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


@cache
def make_data():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, len(NAMES))).round(1)
    X[20:30] = X[:10]  # rows of equal scores
    Y = (X @ rng.normal(size=(len(NAMES), 3)) + rng.normal(size=(N, 3)) > [0.0, 1.0, -1.0]) * 1
    return X, Y


@cache
def fitted(name):
    return MODELS[name].fit(*make_data())


def model_that_decides(name, decision):
    return fitted(name).set_params(decision=decision)


def parted(X, ends):
    """Return X in chunks that end there; some may be empty."""
    sizes = np.diff([0, *sorted(ends), len(X)])
    return da.from_array(X, chunks=(-1, -1)).rechunk((tuple(sizes.tolist()), -1))


def frame(X=None):
    values = make_data()[0] if X is None else X
    return pd.DataFrame(values, columns=NAMES, index=np.arange(len(values)) * 2)


def assert_same(found, expected):
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def check_chunks(name, decision, ends):
    X, _ = make_data()
    model = model_that_decides(name, decision)
    rows = parted(X, ends)
    assert_same(predict(model, rows).compute(), model.predict(X))
    assert_same(predict_proba(model, rows).compute(), model.predict_proba(X))


@pytest.mark.parametrize("decision", DECISIONS)
@pytest.mark.parametrize("name", MODELS)
def test_what_the_model_predicts(name, decision):
    check_chunks(name, decision, [0, 10, 11, 30])


@given(
    st.sampled_from(list(MODELS)),
    st.sampled_from(DECISIONS),
    st.lists(st.integers(0, N), max_size=6),
)
def test_chunks_do_not_matter(name, decision, ends):
    check_chunks(name, decision, ends)


def thresholds(model, X):
    """Return the thresholds that `predict` applies to the rows of X, (L,), not yet computed."""
    chosen = thresholds_of_blocks(
        model.threshold_rule(), RowBlocks.of(X), dask.delayed(model), model.n_labels_
    )
    return dask.delayed(np.asarray)(chosen)


@pytest.mark.parametrize("vote", [MajorityVote(), MajorityVote.preset("published")])
def test_votes_of_an_ensemble(vote):
    X, Y = make_data()
    model = ChainEnsemble(n_estimators=3, C=1.0, label_penalty=1.0, decision=vote).fit(X, Y)
    rows = parted(X, [0, 10, 11, 30])
    assert_same(predict(model, rows).compute(), model.predict(X))
    np.testing.assert_array_equal(
        thresholds(model, rows).compute(),
        model.threshold_rule().thresholds(model.scored(X).scores),
    )


@pytest.mark.parametrize("decision", ["cmn", "sample", "expected_f", "hamming"])
@pytest.mark.parametrize("name", MODELS)
def test_sparse_chunks(name, decision):
    X, _ = make_data()
    model = model_that_decides(name, decision)
    rows = da.from_array(X, chunks=(10, -1)).map_blocks(sp.csr_matrix)
    assert_same(predict(model, rows).compute(), model.predict(sp.csr_matrix(X)))
    assert_same(predict_proba(model, rows).compute(), model.predict_proba(sp.csr_matrix(X)))


@pytest.mark.parametrize("decision", ["cmn", "sample", "expected_f", "hamming"])
def test_data_frames(decision):
    _, Y = make_data()
    model = BinaryRelevance(C=1.0, decision=decision)
    model.fit(frame(), pd.DataFrame(Y, columns=["red", "green", "blue"]))
    rows = dd.from_pandas(frame(), npartitions=4)
    rows = rows[rows["f0"] > -1]  # nobody knows how many
    kept = frame()[frame()["f0"] > -1]
    for lazy, expected in [
        (predict(model, rows), model.predict(kept)),
        (predict_proba(model, rows), model.predict_proba(kept)),
    ]:
        assert lazy.divisions == rows.divisions
        assert lazy.columns.tolist() == ["red", "green", "blue"]
        found = lazy.compute()
        pd.testing.assert_index_equal(found.index, kept.index)
        assert_same(found.to_numpy(), expected)
        assert (lazy.dtypes == found.dtypes).all()


def test_empty_partitions_and_labels_without_names():
    model = fitted("BR").set_params(decision="cmn")
    rows = dd.from_pandas(frame(), npartitions=4)
    rows = rows.map_partitions(lambda part: part[part.index < 30])  # none in the last ones
    some = rows.to_dask_array()
    assert_same(predict(model, some).compute(), model.predict(make_data()[0][:15]))
    named = BinaryRelevance(C=1.0).fit(frame(), make_data()[1])
    found = predict_proba(named, rows).compute()
    assert found.columns.tolist() == ["y0", "y1", "y2"]
    assert len(found) == 15


@pytest.mark.parametrize("decision", ["cmn", "hamming"])
def test_a_target_of_two_classes(decision):
    X, Y = make_data()
    y = np.array(["no", "yes"])[Y[:, 0]]
    model = BinaryRelevance(C=1.0, decision=decision).fit(frame(), y)
    rows = dd.from_pandas(frame(), npartitions=3)
    found = predict(model, rows).compute()
    np.testing.assert_array_equal(found.to_numpy(), model.predict(frame()))
    assert found.index.equals(frame().index)
    assert predict_proba(model, rows).columns.tolist() == ["no", "yes"]
    model.fit(X, y)
    assert_same(predict(model, parted(X, [5, 20])).compute(), model.predict(X))
    assert_same(predict_proba(model, parted(X, [5, 20])).compute(), model.predict_proba(X))


@pytest.mark.parametrize("decision", ["cmn", "subset"])
def test_pipelines_and_searches(decision):
    X, Y = make_data()
    inner = make_pipeline(StandardScaler(), BinaryRelevance(C=1.0, decision=decision))
    search = GridSearchCV(inner, {"binaryrelevance__C": [1.0]}, cv=2)
    for model in (make_pipeline(StandardScaler(), inner), search):
        model.fit(X, Y)
        assert_same(predict(model, parted(X, [9, 30])).compute(), model.predict(X))
        assert_same(predict_proba(model, parted(X, [9, 30])).compute(), model.predict_proba(X))


@pytest.mark.parametrize("decision", ["macro_f1", "micro_f1"])
def test_tuned_decisions(decision):
    X, Y = make_data()
    model = BinaryRelevance(C=1.0, decision=decision).fit(X, Y)
    rows = parted(X, [9, 30])
    assert_same(predict(model, rows).compute(), model.predict(X))
    assert_same(thresholds(model, rows).compute(), model.thresholds_)


@pytest.mark.parametrize("decision", ["cmn", "macro_f1", "fixed"])
def test_scores_that_are_not_probabilities(decision):
    X, Y = make_data()
    Y = np.column_stack([Y, np.zeros(N, int), np.ones(N, int)])  # constant labels stay constant
    model = PassiveAggressive(C=1.0, decision=decision).fit(X, Y)
    assert_same(predict(model, parted(X, [9, 30])).compute(), model.predict(X))
    with pytest.raises(AttributeError, match="predict_proba"):
        predict_proba(model, parted(X, []))


@pytest.mark.parametrize(("decision", "passes"), [("cmn", 1), ("lcard", 2), ("sample", 1)])
def test_how_often_rows_are_read(decision, passes):
    X, _ = make_data()
    read = []

    def count(block):
        read.append(len(block))
        return block

    rows = da.from_array(X, chunks=(5, -1)).map_blocks(count, dtype=float, meta=X[:0])
    model = model_that_decides("BR", decision)
    thresholds(model, rows).compute()
    assert sum(read) == passes * N
    read.clear()
    assert_same(predict(model, rows).compute(), model.predict(X))
    assert sum(read) == (passes + 1) * N


@pytest.mark.parametrize("decision", ["cmn", "sample", "expected_f", "hamming"])
def test_nothing_is_computed_before_the_result(decision):
    def refuse(block):
        raise RuntimeError("computed")

    X, _ = make_data()
    rows = da.from_array(X, chunks=(5, -1)).map_blocks(refuse, dtype=float, meta=X[:0])
    model = model_that_decides("BR", decision)
    lazy = [predict(model, rows), predict_proba(model, rows)]
    if decision != "hamming":
        lazy.append(thresholds(model, rows))
    frames = dd.from_pandas(frame(), npartitions=3).map_partitions(refuse, meta=frame()[:0])
    lazy.append(predict(model, frames))
    for result in lazy:
        with pytest.raises(RuntimeError, match="computed"):
            result.compute()


def test_the_model_is_that_of_the_call():
    X, Y = make_data()
    model = BayesianOnlineClassifier().fit(X, Y)
    expected = model.predict_proba(X)
    lazy = predict_proba(model, parted(X, [10]))
    model.partial_fit(X, 1 - Y)
    assert_same(lazy.compute(), expected)


def test_the_model_is_one_task():
    X, _ = make_data()
    graph = dict(predict(fitted("BR").set_params(decision="cmn"), parted(X, [9, 30])).dask)
    assert sum("model-" in str(key) for key in graph) == 1


class _Median(ThresholdRule):
    def thresholds(self, scores, draw=None):
        return np.median(scores, axis=0)


def test_a_rule_that_has_to_see_all_rows():
    X, _ = make_data()
    model = model_that_decides("BR", _Median())
    with pytest.raises(ValueError, match="_Median has to see the scores of all rows at once"):
        predict(model, parted(X, [9]))


class _LabelMedian(_Median):
    by_label = True


def test_a_rule_of_the_user_that_goes_label_by_label():
    X, _ = make_data()
    model = model_that_decides("BR", _LabelMedian())
    assert_same(predict(model, parted(X, [9, 9, 40])).compute(), model.predict(X))


def test_wrong_input():
    X, Y = make_data()
    model = BinaryRelevance(C=1.0).fit(frame(), Y)
    rows = da.from_array(X, chunks=(10, -1))
    frames = dd.from_pandas(frame(), npartitions=2)
    cases = [
        (model, X, TypeError, "X must be a dask array or a dask data frame; got ndarray"),
        (model, rows[:, 0], ValueError, "X must be a matrix"),
        (model, rows[:, :3], ValueError, "X has 3 features, but BinaryRelevance is expecting 4"),
        (model, rows.rechunk((10, 2)), ValueError, r"in 2 chunks.*X.rechunk\(\{1: -1\}\)"),
        (
            model,
            frames[NAMES[::-1]],
            ValueError,
            r"in the same order.*X\[list\(model.feature_names",
        ),
        (model, frames[NAMES[:3]], ValueError, "X has no column 'f3'"),
        (BinaryRelevance(), rows, NotFittedError, "not fitted"),
        (make_pipeline(BinaryRelevance()), rows, NotFittedError, "not fitted"),
        (LogisticRegression(), rows, TypeError, "must be an estimator of labelweave"),
    ]
    for wrong, table, error, message in cases:
        for function in (predict, predict_proba):
            with pytest.raises(error, match=message):
                function(wrong, table)


@pytest.mark.slow
@pytest.mark.parametrize("decision", ["cmn", "sample", "expected_f", "hamming"])
def test_on_the_workers_of_a_cluster(engine, decision):
    X, _ = make_data()
    model = model_that_decides("BOMC", decision)
    with dask.config.set(scheduler=engine.client):
        assert_same(predict(model, parted(X, [9, 9, 30])).compute(), model.predict(X))
        found = predict(model, dd.from_pandas(frame(), npartitions=3)).compute()
    assert_same(found.to_numpy(), model.predict(X))
