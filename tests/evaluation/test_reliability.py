"""Reliability curves against scikit-learn and statistics by definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.calibration import calibration_curve

from labelweave.metrics import reliability_curve, wilson_interval

RNG = np.random.default_rng(0)
P = RNG.beta(1, 3, size=(200, 4))
TRUTH = (RNG.uniform(size=P.shape) < P).astype(int)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, 10])
def test_rates_and_means_are_scikit_learns(strategy, n_bins):
    curve = reliability_curve(P, TRUTH, n_bins, strategy=strategy)
    rate, p = calibration_curve(TRUTH.ravel(), P.ravel(), n_bins=n_bins, strategy=strategy)
    np.testing.assert_allclose(curve.rate, rate)
    np.testing.assert_allclose(curve.p, p)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.integers(1, 20))
@settings(deadline=None)
def test_every_prediction_is_in_one_bin(pairs, n_bins):
    scores, truth = np.array([p for p, _ in pairs]), np.array([t for _, t in pairs])
    for strategy in ("uniform", "quantile"):
        curve = reliability_curve(scores, truth, n_bins, strategy=strategy)
        assert curve.n.sum() == len(pairs)
        assert len(curve) <= n_bins
        assert curve.n @ curve.rate == pytest.approx(truth.sum())
        assert curve.n @ curve.p == pytest.approx(scores.sum())
        assert (np.diff(curve.p) >= 0).all()
        assert ((curve.low <= curve.rate) & (curve.rate <= curve.high)).all()
        assert ((curve.low >= 0) & (curve.high <= 1)).all()
        assert 0 <= curve.error <= 1


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_interval_is_wilsons(level):
    for n in (1, 7, 40):
        for found in (0, 1, n // 2, n):
            expected = stats.binomtest(found, n).proportion_ci(level, method="wilson")
            low, high = wilson_interval(found, n, level)
            assert (float(low), float(high)) == pytest.approx(tuple(expected), abs=1e-12)
    assert np.isnan(wilson_interval(0, 0)).all()


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"scores and truth .* \(2,\) and \(1,\)"):
        reliability_curve([0.1, 0.2], [1])
    with pytest.raises(ValueError, match="scores are empty"):
        reliability_curve([], [])
    with pytest.raises(ValueError, match="scores must be probabilities"):
        reliability_curve([np.nan], [1])
    with pytest.raises(ValueError, match="truth must contain only 0 and 1"):
        reliability_curve([0.5], [2])
    with pytest.raises(ValueError, match="n_bins"):
        reliability_curve([0.5], [1], 0)
    with pytest.raises(ValueError, match="strategy must be 'uniform' or 'quantile'"):
        reliability_curve([0.5], [1], strategy="even")
    with pytest.raises(ValueError, match="level"):
        reliability_curve([0.5], [1], level=1)
