"""Ranks of methods over several data sets: Friedman's test and Nemenyi's critical difference.

As recommended by Demšar (2006): every method is ranked on every data set, Friedman's test says
whether the average ranks differ at all, and two methods differ significantly if their average ranks
are at least the critical difference apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number, check_whole_number

__all__ = ["FriedmanTest", "average_ranks", "friedman_test", "nemenyi_critical_difference"]


@dataclass(frozen=True)
class FriedmanTest:
    """Result of a test of the null hypothesis that all methods are equally good.

    Parameters
    ----------
    chi_squared : float
        Friedman's statistic, corrected for ties.
    f_statistic : float
        Iman and Davenport's, which is less conservative; infinite if all data sets agree.
    p_value : float
        Probability of a larger F-statistic under the null hypothesis.
    """

    chi_squared: float
    f_statistic: float
    p_value: float


def average_ranks(scores: ArrayLike, *, higher_is_better: bool = True) -> Floats:
    """Return the average rank of each method over the data sets; 1 is best, ties share a rank.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        One score per data set and method, none of them nan; infinite losses are ranked last.
    higher_is_better : bool, default=True
        Whether high scores are good.

    Examples
    --------
    >>> average_ranks([[0.9, 0.8, 0.8], [0.7, 0.5, 0.6]]).tolist()
    [1.0, 2.75, 2.25]
    """
    means: Floats = _ranks(scores, higher_is_better).mean(axis=0)
    return means


def friedman_test(scores: ArrayLike, *, higher_is_better: bool = True) -> FriedmanTest:
    """Test whether the methods' average ranks differ, with Iman and Davenport's F-statistic.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        One score per data set and method; at least two of each.
    higher_is_better : bool, default=True
        Whether high scores are good.

    Examples
    --------
    >>> result = friedman_test([[0.9, 0.8, 0.7], [0.7, 0.5, 0.6], [0.3, 0.2, 0.1]])
    >>> round(result.chi_squared, 4), round(result.f_statistic, 4), round(result.p_value, 4)
    (4.6667, 7.0, 0.0494)
    """
    ranks = _ranks(scores, higher_is_better)
    n_data_sets, n_methods = ranks.shape
    if min(ranks.shape) < 2:
        raise ValueError(
            "scores must have at least two data sets (rows) and two methods (columns); "
            f"got shape {ranks.shape}"
        )
    # The variance of the ranks within each data set: less than (k² − 1)/12 where there are ties.
    within = float(np.sum((ranks - (n_methods + 1) / 2) ** 2))
    if within == 0:
        return FriedmanTest(0.0, 0.0, 1.0)
    between = float(np.sum((ranks.sum(axis=0) - n_data_sets * (n_methods + 1) / 2) ** 2))
    chi_squared = (n_methods - 1) * between / within
    freedom = n_methods - 1, (n_methods - 1) * (n_data_sets - 1)
    remainder = n_data_sets * (n_methods - 1) - chi_squared
    if remainder <= 1e-12 * chi_squared:  # all data sets agree, up to rounding
        return FriedmanTest(chi_squared, float("inf"), 0.0)
    f_statistic = (n_data_sets - 1) * chi_squared / remainder
    return FriedmanTest(chi_squared, f_statistic, float(stats.f.sf(f_statistic, *freedom)))


def nemenyi_critical_difference(n_methods: int, n_data_sets: int, alpha: float = 0.05) -> float:
    """Return how far two average ranks must be apart to differ significantly.

    Parameters
    ----------
    n_methods, n_data_sets : int
        Numbers of methods (at least two) and data sets.
    alpha : float, default=0.05
        Significance level of all pairs together.

    Examples
    --------
    Demšar's example, four methods on 14 data sets:

    >>> round(nemenyi_critical_difference(4, 14), 2)
    1.25
    """
    k = check_whole_number(n_methods, "n_methods", 2)
    n = check_whole_number(n_data_sets, "n_data_sets")
    check_number(alpha, "alpha", above=0, below=1)
    quantile = float(stats.studentized_range.ppf(1 - alpha, k, np.inf)) / np.sqrt(2)
    return float(quantile * np.sqrt(k * (k + 1) / (6 * n)))


def _ranks(scores: ArrayLike, higher_is_better: bool) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(
            f"scores must have shape (n_data_sets, n_methods), neither empty; got {table.shape}"
        )
    if np.isnan(table).any():
        raise ValueError("scores must not be nan; leave out data sets that a method failed on")
    ranks: Floats = stats.rankdata(-table if higher_is_better else table, axis=1)
    return ranks
