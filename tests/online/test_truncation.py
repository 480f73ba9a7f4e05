"""The vectorised truncated moments against continued fractions and numerical integration."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfcx
from scipy.stats import norm

from labelweave._core import native


def moments(d, margin=0.0, flip=0.0):
    d = np.atleast_1d(np.asarray(d, dtype=np.float64))
    shift, kept = np.empty_like(d), np.empty_like(d)
    native.truncation_moments(d, np.full_like(d, margin), flip, shift, kept)
    return shift, kept


def far_tail(x):
    """Exact to rounding for x > 2: phi / (1 - Phi) = x + 1/(x + 2/(x + 3/(x + ...)))."""
    g = np.zeros_like(x)
    for k in range(400, 1, -1):
        g = k / (x + g)
    h = 1 / (x + g)
    return x + h, h * (g - h)


def test_far_on_the_wrong_side():
    x = np.geomspace(2.5, 9e6, 300)
    shift, kept = moments(-x)
    expected_shift, expected_kept = far_tail(x)
    np.testing.assert_allclose(shift, expected_shift, rtol=1e-9)
    np.testing.assert_allclose(kept, expected_kept, rtol=1e-5)


def test_near_the_cut_and_on_the_right_side():
    t = np.linspace(-3, 37, 801)
    shift, kept = moments(t)
    expected = np.sqrt(2 / np.pi) / erfcx(-t / np.sqrt(2))
    expected = np.where(t > 30, norm.pdf(t), expected)
    np.testing.assert_allclose(shift, expected, rtol=1e-9)
    np.testing.assert_allclose(kept, 1 - expected * (expected + t), rtol=1e-8)


def test_as_far_as_numbers_go():
    for t in (-1e7, -1e100, -1e300, 1e7, 1e300, 0.0):
        shift, kept = moments(t)
        assert np.isfinite(shift[0])
        assert 0 <= kept[0] <= 1
        assert shift[0] >= 0


@pytest.mark.parametrize("flip", [0.001, 0.1, 0.4])
@pytest.mark.parametrize("margin", [0.0, 1.0, 3.0])
def test_labels_recorded_wrongly(flip, margin):
    """Recorded rightly d exceeds the margin, recorded wrongly it falls below minus the margin."""
    # Without the constant of the normal density, which the mass divides away; SciPy's is slow.
    for d in (-6.0, -1.0, -0.1, 0.0, 0.1, 2.0, 6.0):

        def density(z, d=d):
            return ((1 - flip) * (z > margin) + flip * (z < -margin)) * exp(-((z - d) ** 2) / 2)

        def integral(power, density=density):
            parts = [(-20, -margin), (margin, 20)]
            return sum(
                quad(lambda z: z**power * density(z), *part, epsabs=1e-12, epsrel=1e-9)[0]
                for part in parts
            )

        mass = integral(0)
        mean = integral(1) / mass
        shift, kept = moments(d, margin, flip)
        assert shift[0] == pytest.approx(mean - d, abs=1e-7)
        assert kept[0] == pytest.approx(integral(2) / mass - mean**2, abs=1e-6)
