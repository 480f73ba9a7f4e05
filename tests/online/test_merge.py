"""Shards learned apart and merged."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from labelweave import BayesianOnlineClassifier, OnlineSettings
from labelweave.models.online import merge
from labelweave.models.online.evidence import merge_states
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream

MODELS = [ProbitModel(), ProbitModel.of(coupled=False), ProbitModel.of(forgetting=1e-3)]


def shards(X, Y, k, model, start=None):
    states = []
    for i in range(k):
        state = OnlineState(X.shape[1], Y.shape[1], model=model) if not start else start.copy()
        state.update(X[i::k], Y[i::k])
        states.append(state)
    return states


@pytest.mark.parametrize("model", MODELS)
def test_the_order_of_shards_does_not_matter(model):
    X, Y = stream(n=240)
    states = shards(X, Y, 4, model)
    first = merge_states(states)
    for order in permutations(range(4)):
        same(merge_states([states[i] for i in order]), first)


@pytest.mark.parametrize("model", MODELS[:2])
@pytest.mark.parametrize("k", [2, 5])
def test_shards_come_close_to_one_pass(model, k):
    X, Y = stream(n=3000, n_features=40, seed=1)
    test, truth = X[2000:], Y[2000:]
    whole = OnlineState(40, 5, model=model)
    whole.update(X[:2000], Y[:2000])
    merged = merge_states(shards(X[:2000], Y[:2000], k, model))
    assert merged.n_rows == 2000
    np.testing.assert_array_equal(merged.positives, whole.positives)
    np.testing.assert_array_equal(merged.observed, whole.observed)

    def accuracy(state):
        return ((state.probabilities(test) > 0.5) == truth).mean()

    assert accuracy(merged) > accuracy(whole) - 0.03
    assert ((whole.probabilities(test) > 0.5) == (merged.probabilities(test) > 0.5)).mean() > 0.92


def test_one_state_is_merged_into_itself():
    X, Y = stream(n=60)
    state = shards(X, Y, 1, ProbitModel())[0]
    merged = merge_states([state])
    np.testing.assert_allclose(merged.mean, state.mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(merged.variance, state.variance, rtol=1e-5)
    np.testing.assert_allclose(merged.bias_mean, state.bias_mean)


def test_evidence_adds_to_a_common_start():
    """What all shards knew before counts once."""
    X, Y = stream(n=200)
    start = shards(X[:100], Y[:100], 1, ProbitModel())[0]
    silent = merge_states([start.copy(), start.copy()], prior=start)
    np.testing.assert_allclose(silent.mean, start.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(silent.variance, start.variance, rtol=1e-5)
    assert silent.n_rows == 100
    later = merge_states(shards(X[100:], Y[100:], 2, None, start), prior=start)
    assert later.n_rows == 200
    assert (later.variance <= start.variance * (1 + 1e-5)).all()
    np.testing.assert_array_equal(later.observed, np.full(5, 200))


def test_shards_that_know_different_features_and_labels():
    X, Y = stream(n=100)
    options = ProbitModel.of(scale_rows=False)
    small, large = OnlineState(10, 2, model=options), OnlineState(30, 5, model=options)
    small.update(X[:50, :10], Y[:50, :2])
    large.update(X[50:], Y[50:])
    merged = merge_states([small, large])
    same(merged, merge_states([large, small]))
    np.testing.assert_allclose(merged.mean[10:], large.mean[10:], rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(merged.observed, [100, 100, 50, 50, 50])


def test_models_are_merged_with_their_labels():
    X, Y = stream(n=100)
    models = [BayesianOnlineClassifier().partial_fit(X[i::2], Y[i::2]) for i in (0, 1)]
    merged = merge(*models)
    assert merged.predict(X).shape == Y.shape
    same(merged.state_, merge(*reversed(models)).state_)
    merged.partial_fit(X, Y)
    assert merged.state_.n_rows == 200
    assert models[0].state_.n_rows == 50


def test_what_cannot_be_merged():
    X, Y = stream(n=20)
    model = BayesianOnlineClassifier().partial_fit(X, Y)
    other = BayesianOnlineClassifier(settings=OnlineSettings(noise=0.5)).partial_fit(X, Y)
    with pytest.raises(ValueError, match="nothing to merge"):
        merge()
    with pytest.raises(ValueError, match="the same parameters"):
        merge(model, other)
    with pytest.raises(NotFittedError):
        merge(BayesianOnlineClassifier())


def test_merged_models_keep_classes_and_names():
    X, Y = stream(n=80, n_features=4)
    frame = pd.DataFrame(X.toarray(), columns=list("abcd"))
    y = np.array(["no", "yes"])[Y[:, 0]]
    halves = [
        BayesianOnlineClassifier().partial_fit(frame[part], y[part], classes=["no", "yes"])
        for part in (slice(0, 40), slice(40, 80))
    ]
    merged = merge(*halves)
    assert set(merged.predict(frame)) <= {"no", "yes"}
    assert merged.predict_proba(frame).shape == (80, 2)
    assert list(merged.feature_names_in_) == list("abcd")


def test_models_of_other_classes_or_features_are_not_merged():
    X, Y = stream(n=40, n_features=3)
    frame = pd.DataFrame(X.toarray(), columns=list("abc"))
    y = np.array(["no", "yes"])[Y[:, 0]]

    def learned(features, labels):
        return BayesianOnlineClassifier().partial_fit(features, labels)

    with pytest.raises(ValueError, match="the same classes"):
        merge(learned(X, y), learned(X, np.char.add(y, "!")))
    with pytest.raises(ValueError, match="the same classes"):
        merge(learned(X, y), learned(X, Y))
    with pytest.raises(ValueError, match="the same features"):
        merge(learned(frame, Y), learned(frame[list("cba")], Y))
    with pytest.raises(NotFittedError):
        merge(learned(X, Y), prior=BayesianOnlineClassifier())
