"""Labels compared with each other: against EP message by message, and against integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import label_ranking_loss

from labelweave import BayesianOnlineClassifier
from labelweave.models.online import pairwise
from labelweave.models.online.classifier import categorical_joint
from labelweave.models.online.evidence import merge_states
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream
from tests.reference.pairwise import integrate, propagate

MEANS = st.floats(-3, 3)
VARIANCES = st.floats(0.1, 3)


def moved(mean, variance, labels, margin, flip=0.0):
    update = pairwise.propagate(mean, variance, labels, margin, flip)
    return mean + variance * update.gradient, variance - variance**2 * update.curvature


@given(st.data())
def test_messages_agree_with_an_independent_implementation(data):
    n_labels = data.draw(st.integers(2, 6))
    mean = data.draw(arrays(np.float64, n_labels, elements=MEANS))
    variance = data.draw(arrays(np.float64, n_labels, elements=VARIANCES))
    margin = data.draw(arrays(np.float64, n_labels, elements=st.floats(0, 2)))
    labels = data.draw(arrays(np.int8, n_labels, elements=st.integers(-1, 1)))
    found = moved(mean, variance, labels, margin)
    expected = propagate(mean, variance, labels, margin)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("flip", [0.0, 0.1])
@pytest.mark.parametrize(
    "labels", [[1, 0], [1, 0, 0], pytest.param([1, 1, 0], marks=pytest.mark.slow), [0, 1, -1]]
)
def test_moments_agree_with_integration(labels, flip):
    """Two labels are one comparison, whose moments are exact; three come within 5 or 10 %."""
    rng = np.random.default_rng(len(labels))
    mean, variance = rng.normal(size=len(labels)), rng.uniform(0.3, 2, len(labels))
    labels, margin = np.array(labels, dtype=np.int8), np.full(len(labels), 0.5)
    first, second = integrate(mean, variance, labels, margin, flip)
    found = moved(mean, variance, labels, margin, flip)
    np.testing.assert_allclose(found[0], first, atol=0.01)
    np.testing.assert_allclose(found[1], second, rtol=0.1 if flip else 0.05)


def test_rows_of_one_sort_tell_nothing():
    for labels in ([1, 1], [0, 0], [-1, 1]):
        update = pairwise.propagate(
            np.zeros(2), np.ones(2), np.array(labels, dtype=np.int8), np.ones(2)
        )
        assert not np.any(update)


def test_a_row_moves_weights_as_it_moves_scores():
    """One feature with the value 1 and no noise: the weight is the score."""
    options = ProbitModel.of(
        likelihood="pairwise", noise=0.0, label_offset=0.0, prior_variance=1.0, skew_margin=False
    )
    state = OnlineState(1, 3, model=options)
    labels = np.array([1, 0, 0], dtype=np.int8)
    state.update(np.ones((1, 1)), labels[None])
    mean, variance = propagate(np.zeros(3), np.ones(3), labels, np.ones(3))
    np.testing.assert_allclose(state.mean[0], mean, rtol=1e-4)
    np.testing.assert_allclose(state.variance[0], variance, rtol=1e-4)


@pytest.mark.parametrize("likelihood", ["pairwise", "multiclass"])
@pytest.mark.parametrize("forgetting", [0.0, 0.01])
def test_batches_growth_and_checkpoints(likelihood, forgetting):
    X, Y = one_of_each(80)
    options = ProbitModel.of(likelihood=likelihood, forgetting=forgetting)
    whole, parts = OnlineState(30, 5, model=options), OnlineState(model=options)
    whole.update(X, Y, 2)
    parts.grow(30, 5)
    for first in range(0, 80, 37):
        parts.update(X[first : first + 37].toarray(), Y[first : first + 37])
        parts = OnlineState.from_arrays(parts.to_arrays(), parts.model.as_dict())
    same(whole, parts)
    merged = merge_states([whole, parts])
    assert merged.n_rows == 160
    assert (merged.variance <= whole.variance * 1.001).all()


def one_of_each(n):
    """Rows with exactly one label, which their features tell."""
    X, _ = stream(n=n)
    weights = np.random.default_rng(1).normal(size=(30, 5))
    return X, np.eye(5, dtype=np.int8)[np.argmax(X @ weights, axis=1)]


def test_a_multiclass_model_gives_one_label():
    X, Y = one_of_each(900)
    model = BayesianOnlineClassifier(likelihood="multiclass", decision="subset")
    model.fit(X[:600], Y[:600])
    predicted = model.predict(X[600:])
    assert (predicted.sum(axis=1) == 1).all()
    assert (predicted == Y[600:]).all(axis=1).mean() > 0.7
    probability = model.predict_proba(X[600:])
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    joint = model.predict_joint(X[600:])
    np.testing.assert_allclose(joint.marginals(), probability, atol=1e-9)
    guessing = -np.log(Y[:600].mean(axis=0)) @ Y[600:].mean(axis=0)
    assert -joint.log_prob(Y[600:]).mean() < 0.8 * guessing


def test_compared_labels_are_ranked_as_well_as_those_above_a_bias():
    """What is learned is the order of the labels within a row."""
    X, Y = stream(n=600)
    loss = {}
    for likelihood in ("bias", "pairwise"):
        state = OnlineState(30, 5, model=ProbitModel.of(likelihood=likelihood))
        state.update(X[:400], Y[:400])
        loss[likelihood] = label_ranking_loss(Y[400:], state.moments(X[400:])[0])
    assert loss["pairwise"] < loss["bias"] + 0.02


def test_one_label_of_many():
    log_odds = np.random.default_rng(0).normal(size=(3, 6), scale=4)
    joint = categorical_joint(log_odds)
    odds = np.exp(log_odds)
    np.testing.assert_allclose(
        np.stack([joint.log_prob(np.tile(row, (3, 1))) for row in np.eye(6, dtype=np.int8)]).T,
        np.log(odds / odds.sum(axis=1, keepdims=True)),
        atol=1e-9,
    )
    assert (joint.log_prob(np.ones((3, 6), dtype=np.int8)) < -50).all()


def test_bad_input_is_named():
    X, Y = stream(n=20)
    with pytest.raises(ValueError, match="likelihood must be 'bias', "):
        ProbitModel.of(likelihood="none")
    with pytest.raises(ValueError, match="coupled must be True"):
        ProbitModel.of(likelihood="pairwise", coupled=False)
    with pytest.raises(ValueError, match=r"exactly one label in every row.*pairwise"):
        BayesianOnlineClassifier(likelihood="multiclass").fit(X, Y)
