"""Following a loss downhill ends at its minimum, wherever the walk begins."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labelweave._common.matrices import total_variance
from labelweave.logistic.penalties import Axis, LossCurve

AXIS = Axis(step=0.5, low=-4.0, high=4.0)


@given(st.integers(-8, 8), st.floats(-6, 6))
def test_ends_at_the_best_point_of_the_range(start, minimum):
    curve = LossCurve.follow(AXIS, start / 2, lambda at: np.abs(at - minimum)[None])
    best = curve.powers[curve.best()]
    assert abs(best - np.clip(minimum, AXIS.low, AXIS.high)) <= AXIS.step / 2 + 1e-9
    np.testing.assert_allclose(np.diff(curve.powers), AXIS.step)
    assert AXIS.low <= curve.powers[0]
    assert curve.powers[-1] <= AXIS.high


@given(st.integers(-8, 8), st.floats(-3, 3))
def test_a_parabola_is_found_between_the_steps(start, minimum):
    curve = LossCurve.follow(AXIS, start / 2, lambda at: ((at - minimum) ** 2)[None])
    fine = curve.refined(parts=5)
    np.testing.assert_allclose(fine.losses[0], (fine.powers - minimum) ** 2, atol=1e-9)
    assert abs(fine.powers[fine.best()] - minimum) <= AXIS.step / 10 + 1e-9


def test_the_strongest_within_one_standard_error():
    powers = np.arange(4.0)
    losses = np.array([[9.0, 5.0, 4.0, 6.0], [9.0, 4.0, 4.0, 6.0], [9.0, 3.8, 4.0, 6.0]])
    curve = LossCurve(powers, losses)
    assert curve.best() == 2
    assert curve.strongest_good(3) == 1
    assert LossCurve(powers, losses + np.array([0, 1, 0, 0])).strongest_good(3) == 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_total_variance_counts_weights_as_repetitions(form):
    random = np.random.default_rng(0)
    X = np.where(random.random((50, 4)) < 0.5, random.normal(size=(50, 4)) + 1, 0.0)
    weight = random.integers(0, 3, size=50)
    expected = np.repeat(X, weight, axis=0).var(axis=0).sum()
    assert total_variance(form(X), weight.astype(float)) == pytest.approx(expected)
