"""Folds as scikit-learn has them: splitters and lists of splits, which count all rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from labelweave import LaSVM, PassiveAggressive, StackedBinaryRelevance, ThresholdedSVM
from labelweave._common.folds import deal
from tests.contract.samples import sample

X, Y = sample(n=80, n_features=5, n_labels=3)
MODELS = {
    "svm": ThresholdedSVM(C=0.5, cv=3),
    "lasvm": LaSVM(C=0.5, cv=3),
    "pa": PassiveAggressive(C=0.1, cv=3),
    "pa-batch": PassiveAggressive(C=0.1, cv=3, tuned_with="batch"),
    "stacked": StackedBinaryRelevance(C=0.5, label_penalty=0.1, cv=3),
}
MACHINES = [name for name in MODELS if name != "stacked"]


def made(name, **parameters):
    return type(MODELS[name])(**(MODELS[name].get_params() | parameters))


@pytest.mark.parametrize("name", MODELS)
def test_splits_like_the_folds_give_the_same_model(name):
    model = made(name).fit(X, Y)
    folds = [tuple(fold) for fold in deal(3, X, Y, None, model._seed())]
    again = made(name, cv=folds).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if name != "stacked":
        np.testing.assert_allclose(again.thresholds_, model.thresholds_, rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_splits_count_the_rows_of_weight_zero(name):
    weight = np.ones(len(X))
    weight[::4] = 0
    kept = np.flatnonzero(weight)
    place = np.cumsum(weight > 0) - 1
    splits = list(KFold(4).split(X))
    among_kept = [tuple(place[rows[weight[rows] > 0]] for rows in split) for split in splits]
    for cv in (KFold(4), splits):
        weighted = made(name, cv=cv).fit(X, Y, sample_weight=weight)
        alone = made(name, cv=among_kept).fit(X[kept], Y[kept])
        np.testing.assert_array_equal(weighted.predict(X), alone.predict(X))


@pytest.mark.parametrize("name", MACHINES)
def test_rows_may_be_held_out_several_times_or_never(name):
    model = made(name, cv=ShuffleSplit(4, test_size=0.4, random_state=0)).fit(X, Y)
    assert np.isfinite(model.thresholds_).all()


@pytest.mark.parametrize("name", MACHINES)
def test_a_single_split_is_refused(name):
    with pytest.raises(ValueError, match="cv must have at least two splits"):
        made(name, cv=ShuffleSplit(1, random_state=0)).fit(X, Y)


def test_a_second_layer_needs_every_row_held_out_once():
    with pytest.raises(ValueError, match="cv must hold out each row once"):
        made("stacked", cv=ShuffleSplit(3, random_state=0)).fit(X, Y)


def test_batches_of_a_stream_have_no_splits():
    weight = np.ones(len(X))
    weight[::3] = 0
    kept = np.flatnonzero(weight)
    model = made("pa", cv=KFold(3)).partial_fit(X, Y, sample_weight=weight)
    alone = made("pa", cv=KFold(3)).partial_fit(X[kept], Y[kept])
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
