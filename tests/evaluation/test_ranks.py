"""Ranks over data sets: Demšar's published values, SciPy's test, and figures by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import friedmanchisquare

from labelweave.evaluation import rank_methods

# Demšar (2006), table 6: the ranks of C4.5 and three variants on 14 data sets.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
SCORES = arrays(np.float64, (5, 4), elements=st.integers(0, 6).map(float))


def test_published_average_ranks():
    ranking = rank_methods(DEMSAR, higher_is_better=False)
    np.testing.assert_allclose(ranking.average, [3.143, 2.000, 2.893, 1.964], atol=5e-4)


def test_published_friedman_statistic():
    # Demšar does not correct for ties: three of two methods (2³ − 2 = 6) and one of four (60).
    ties = 1 - (3 * 6 + 60) / (14 * 4 * (4**2 - 1))
    result = rank_methods(DEMSAR, higher_is_better=False)
    chi_squared = result.chi_squared * ties
    assert chi_squared == pytest.approx(9.28, abs=5e-3)
    assert 13 * chi_squared / (14 * 3 - chi_squared) == pytest.approx(3.69, abs=5e-3)
    assert result.f_statistic == pytest.approx(
        13 * result.chi_squared / (14 * 3 - result.chi_squared)
    )
    assert result.p_value < 0.05


def unequal(n_methods, n_data_sets):
    """Rank methods that have the same order on all data sets."""
    return rank_methods(np.tile(np.arange(float(n_methods)), (n_data_sets, 1)))


@pytest.mark.parametrize(
    ("alpha", "quantiles"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_published_critical_values(alpha, quantiles):
    for k, quantile in zip(range(2, 11), quantiles, strict=True):
        difference = unequal(k, 7).critical_difference(alpha)
        assert difference / np.sqrt(k * (k + 1) / 42) == pytest.approx(quantile, abs=1.1e-3)


def test_published_critical_differences():
    assert unequal(4, 14).critical_difference() == pytest.approx(1.25, abs=5e-3)
    assert unequal(4, 14).critical_difference(0.10) == pytest.approx(1.12, abs=5e-3)


def test_by_hand():
    scores = [[0.9, 0.8, 0.7], [0.7, 0.5, 0.6], [0.3, 0.2, 0.1]]  # ranks 123, 132, 123
    result = rank_methods(scores)
    assert result.average.tolist() == pytest.approx([1, 7 / 3, 8 / 3])
    # 12·3/(3·4)·(1 + 49/9 + 64/9 − 3·16/4) = 3·14/9, and 2·(14/3)/(6 − 14/3) = 7.
    assert result.chi_squared == pytest.approx(14 / 3)
    assert result.f_statistic == pytest.approx(7)


@given(SCORES)
def test_the_statistic_is_scipys(scores):
    tied = (scores == scores[:, :1]).all()
    result = rank_methods(scores)
    if tied:
        assert (result.chi_squared, result.f_statistic, result.p_value) == (0, 0, 1)
    else:
        assert result.chi_squared == pytest.approx(friedmanchisquare(*scores.T).statistic)
        assert 0 <= result.p_value <= 1


@given(SCORES)
def test_ranks_sum_up_and_turn_around(scores):
    up, down = (rank_methods(scores, higher_is_better=up).average for up in (True, False))
    assert up.sum() == pytest.approx(4 * 5 / 2)
    np.testing.assert_allclose(up + down, 5)


def test_data_sets_that_agree_leave_no_doubt():
    result = rank_methods([[3, 2, 1]] * 4)
    assert result.f_statistic == np.inf
    assert result.p_value == 0
    infinite = rank_methods([[1.0, np.inf], [1.0, 2.0]], higher_is_better=False)
    assert infinite.average.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_methods([1, 2]), "scores must have shape"),
        (lambda: rank_methods([[1, np.nan], [1, 2]]), "scores must not be nan"),
        (lambda: rank_methods([[1, 2]]), "at least two of each"),
        (lambda: rank_methods([[1], [2]]), "at least two of each"),
        (lambda: unequal(3, 3).critical_difference(1.5), "alpha must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
