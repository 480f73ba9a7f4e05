"""Significance of differences between two methods over folds, or several over data sets.

The paired t-test takes the differences of two methods on each fold and assumes that folds are
independent, although their training sets overlap. The corrected resampled t-test (Nadeau and
Bengio, 2003) increases the variance by the ratio of test to training size; it finds fewer
differences, and fewer of them are spurious.

Over several data sets, Demšar (2006) recommends ranks: Friedman's test says whether the average
ranks of the methods differ at all, and two methods differ significantly if their average ranks are
at least Nemenyi's critical difference apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number

#: Whether a method is significantly better or worse than another one, or neither.
Standing = Literal["better", "worse", "tie"]


@dataclass(frozen=True)
class TTest:
    """Result of a test of the null hypothesis that the mean difference is zero.

    `difference` is the mean of a − b over the `n_pairs` folds that both methods completed.
    `statistic` is Student's t, infinite if all differences are equal and nonzero. `p_value` is
    two-sided, and nan if no test is possible.
    """

    difference: float
    statistic: float
    p_value: float
    n_pairs: int

    def standing(self, *, higher_is_better: bool, alpha: float = 0.05) -> Standing | None:
        """Return whether a is "better" or "worse" than b, or a "tie"; None without a test."""
        if np.isnan(self.p_value):
            return None
        if self.p_value >= alpha:
            return "tie"
        return "better" if (self.difference > 0) == higher_is_better else "worse"


def paired_t_test(
    a: ArrayLike, b: ArrayLike, *, n_train: float | None = None, n_test: float | None = None
) -> TTest:
    """Test two methods by a paired two-sided t-test over the folds that both completed.

    The result has the mean `difference`, `statistic`, `p_value` and `n_pairs`; its method
    `standing` returns which method is better. Folds with nan on either side are left out.

    Parameters
    ----------
    a, b : array-like of shape (k,)
        The scores of two methods on the same k folds.
    n_train, n_test : float, optional
        Average numbers of training and test rows in a fold. If they are given, the test is
        corrected for overlapping training sets: its variance is (1/k + n_test/n_train)·s².

    Examples
    --------
    >>> result = paired_t_test([0.5, 0.6, 0.7, 0.8], [0.4, 0.6, 0.5, 0.7])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (2.4495, 0.0917)
    >>> result.standing(higher_is_better=True)
    'tie'
    """
    if n_train is None and n_test is None:
        return _t_test(a, b, overlap=0.0)
    if n_train is None or n_test is None:
        raise ValueError("n_train and n_test must be given together, for the corrected test")
    check_number(n_train, "n_train", above=0, finite=False)
    check_number(n_test, "n_test", above=0, finite=False)
    return _t_test(a, b, overlap=n_test / n_train)


def _t_test(a: ArrayLike, b: ArrayLike, overlap: float) -> TTest:
    differences, rounding = _paired_differences(a, b)
    n_pairs = len(differences)
    if n_pairs < 2 or not np.isfinite(differences).all():
        mean = float(np.mean(differences)) if n_pairs else float("nan")
        return TTest(mean, float("nan"), float("nan"), n_pairs)
    mean = float(np.mean(differences))
    if np.ptp(differences) <= rounding:
        # Without variance, the difference is certain unless it is zero.
        if abs(mean) <= rounding:
            return TTest(0.0, 0.0, 1.0, n_pairs)
        return TTest(mean, float(np.copysign(np.inf, mean)), 0.0, n_pairs)
    spread = float(np.std(differences, ddof=1))
    statistic = mean / (spread * np.sqrt(1.0 / n_pairs + overlap))
    p_value = 2.0 * float(stats.t.sf(abs(statistic), df=n_pairs - 1))
    return TTest(mean, float(statistic), p_value, n_pairs)


def _paired_differences(a: ArrayLike, b: ArrayLike) -> tuple[Floats, float]:
    """Return a − b for folds with both scores, and the largest difference due to rounding."""
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"a and b must have one score per fold, got shapes {first.shape} and {second.shape}"
        )
    known = ~(np.isnan(first) | np.isnan(second))
    first, second = first[known], second[known]
    # inf − inf is nan here: infinite losses cannot be compared, so there is no test.
    with np.errstate(invalid="ignore"):
        differences = first - second
    scale = max(np.abs(first).max(initial=0.0), np.abs(second).max(initial=0.0))
    return differences, 8 * np.finfo(np.float64).eps * float(scale)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Average ranks of methods over data sets, and Friedman's test of whether they differ.

    In `average`, (n_methods,), 1 is best, and ties share a rank. `chi_squared` is Friedman's
    statistic, corrected for ties; `f_statistic` is Iman and Davenport's, which is less
    conservative, and infinite if all data sets agree. `p_value` is the probability of a larger
    F-statistic if all methods are equally good.
    """

    average: Floats
    n_data_sets: int
    chi_squared: float
    f_statistic: float
    p_value: float

    def critical_difference(self, alpha: float = 0.05) -> float:
        """Return the difference of average ranks that is significant at alpha (Nemenyi)."""
        check_number(alpha, "alpha", above=0, below=1)
        n_methods = len(self.average)
        quantile = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
        return float(quantile * np.sqrt(n_methods * (n_methods + 1) / (6 * self.n_data_sets)))


def rank_methods(scores: ArrayLike, *, higher_is_better: bool = True) -> Ranking:
    """Rank methods on every data set, and test whether their average ranks differ.

    The result has the `average` ranks, the `p_value` of Friedman's test, and a method for the
    `critical_difference` of two ranks.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_methods)
        One score per data set and method, none of them nan; infinite losses are ranked last. There
        must be at least two data sets and two methods.
    higher_is_better : bool, default=True
        Whether high scores are good.

    Examples
    --------
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.7, 0.5, 0.6], [0.3, 0.2, 0.1]])
    >>> ranking.average.round(2).tolist()
    [1.0, 2.33, 2.67]
    >>> round(ranking.p_value, 4), round(ranking.critical_difference(), 2)
    (0.0494, 1.91)
    """
    ranks = _ranks(scores, higher_is_better)
    n_data_sets, n_methods = ranks.shape
    average: Floats = ranks.mean(axis=0)
    # The variance of the ranks within each data set is less than (k² − 1)/12 if there are ties.
    within = float(np.sum((ranks - (n_methods + 1) / 2) ** 2))
    if within == 0:
        return Ranking(average, n_data_sets, 0.0, 0.0, 1.0)
    between = float(np.sum((ranks.sum(axis=0) - n_data_sets * (n_methods + 1) / 2) ** 2))
    chi_squared = (n_methods - 1) * between / within
    freedom = n_methods - 1, (n_methods - 1) * (n_data_sets - 1)
    remainder = n_data_sets * (n_methods - 1) - chi_squared
    if remainder <= 1e-12 * chi_squared:  # all data sets agree, up to rounding
        return Ranking(average, n_data_sets, chi_squared, float("inf"), 0.0)
    f_statistic = (n_data_sets - 1) * chi_squared / remainder
    p_value = float(stats.f.sf(f_statistic, *freedom))
    return Ranking(average, n_data_sets, chi_squared, f_statistic, p_value)


def _ranks(scores: ArrayLike, higher_is_better: bool) -> Floats:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(
            "scores must have shape (n_data_sets, n_methods), with at least two of each; "
            f"got {table.shape}"
        )
    if np.isnan(table).any():
        raise ValueError("scores must not be nan; leave out data sets that a method failed on")
    ranks: Floats = stats.rankdata(-table if higher_is_better else table, axis=1)
    return ranks
