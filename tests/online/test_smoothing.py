"""Smoothing over time: against the conditional distribution of one large Gaussian, and on drift."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.models.online import drifted, smooth
from labelweave.models.online.evidence import smoothed_moments
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream


def conditional(observations, noise, prior, drift):
    """Moments of every w_t given all observations y_t = w_t + N(0, noise), by linear algebra.

    The walk is one Gaussian vector with Cov(w_s, w_t) = prior + drift · min(s, t).
    """
    time = np.arange(len(observations))
    covariance = prior + drift * np.minimum(time[:, None], time)
    gain = covariance @ np.linalg.inv(covariance + np.diag(noise))
    return gain @ observations, np.diag(covariance - gain @ covariance)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.1, 5)), min_size=1, max_size=8),
    st.floats(0.1, 10),
    st.floats(0.01, 5),
)
def test_gaussian_observations_are_smoothed_exactly(observed, prior, drift):
    values, noise = np.array(observed).T
    mean, variance, filtered = 0.0, prior, []
    for value, spread in zip(values, noise, strict=True):
        gain = variance / (variance + spread)
        mean, variance = mean + gain * (value - mean), variance * (1 - gain)
        filtered.append((np.array([mean]), np.array([variance])))
        variance += drift
    smoothed = [filtered[-1]]
    for moments in filtered[-2::-1]:
        smoothed.insert(0, smoothed_moments(moments, smoothed[0], drift))
    means, variances = np.array(smoothed)[:, :, 0].T
    expected = conditional(values, noise, prior, drift)
    np.testing.assert_allclose(means, expected[0], atol=1e-8)
    np.testing.assert_allclose(variances, expected[1], rtol=1e-7)


def periods(drift, options, n_periods=4):
    X, Y = stream(n=400)
    states, state = [], OnlineState(30, 5, model=options)
    for part in np.array_split(np.arange(400), n_periods):
        state.update(X[part], Y[part])
        states.append(state)
        state = drifted(state, drift)
    return states


@pytest.mark.parametrize("coupled", [True, False])
def test_states_are_smoothed_weight_by_weight(coupled):
    options = ProbitModel.of(coupled=coupled, scale_rows=False)
    states = periods(0.02, options)
    smoothed = smooth(states, 0.02)
    after = states[-1]
    same(smoothed[-1], after)
    for before, now, later in zip(states[-2::-1], smoothed[-2::-1], smoothed[:0:-1], strict=True):
        mean, variance = smoothed_moments(
            (before.mean, before.variance), (later.mean, later.variance), 0.02
        )
        np.testing.assert_allclose(now.mean, mean, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(now.variance, variance, rtol=1e-5)
        bias = smoothed_moments(
            (before.bias_mean, before.bias_variance), (later.bias_mean, later.bias_variance), 0.02
        )
        np.testing.assert_allclose((now.bias_mean, now.bias_variance), bias)
        assert (now.variance <= before.variance * 1.0001).all()


def test_units_of_features_do_not_matter():
    """Later rows that are longer: smoothing happens in one unit."""
    X, Y = stream(n=200)
    first = OnlineState(30, 5)
    first.update(X[:100], Y[:100])
    second = drifted(first, 0.0)
    second.update(4 * X[100:], Y[100:])
    known = smooth([first, second], 0.0)[0]
    # Without drift, the weights of the first period are those of the second.
    unit = first.row_length / second.row_length
    np.testing.assert_allclose(known.mean, second.mean * unit, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(known.variance, second.variance * unit**2, rtol=1e-4)


def test_later_rows_help_to_label_earlier_ones():
    """Weights that drift slowly, few rows a period: all periods know more than those before."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(20, 3))
    states, state, rows = [], OnlineState(20, 3, model=ProbitModel.of(margin=0.5)), []
    for _ in range(8):
        X = rng.normal(size=(40, 20)) / np.sqrt(20)
        weights = weights + 0.1 * rng.normal(size=weights.shape)
        state.update(X[:10], X[:10] @ weights > 0)
        states.append(state)
        rows.append((X[10:], X[10:] @ weights > 0))
        state = drifted(state, 0.005)
    right = [
        np.mean(
            [
                ((s.noise_free(X).probabilities() > 0.5) == Y).mean()
                for s, (X, Y) in zip(of, rows, strict=True)
            ][:4]
        )
        for of in (states, smooth(states, 0.005))
    ]
    assert right[1] > right[0] + 0.02


def test_features_and_labels_that_came_later():
    X, Y = stream(n=100)
    first = OnlineState(20, 3)
    first.update(X[:50, :20], Y[:50, :3])
    second = drifted(first, 0.01)
    second.grow(30, 5)
    second.update(X[50:], Y[50:])
    known = smooth([first, second], 0.01)[0]
    assert known.mean.shape == (30, 5)
    assert first.n_features == 20


def test_what_cannot_be_smoothed():
    with pytest.raises(ValueError, match="nothing to smooth"):
        smooth([], 0.1)
    with pytest.raises(ValueError, match="the same parameters"):
        smooth([OnlineState(1, 1), OnlineState(1, 1, model=ProbitModel.of(noise=1.0))], 0.1)
    for drift in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="drift must be"):
            drifted(OnlineState(1, 1), drift)
