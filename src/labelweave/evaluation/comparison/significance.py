"""Significance tests for the difference between two methods.

Both tests use the fold-by-fold differences of two methods on the same folds. The paired t-test
assumes independent folds, which they are not: their training sets overlap. The corrected resampled
t-test (Nadeau and Bengio, 2003) increases the variance by the ratio of test to training size; it
finds fewer differences, and fewer of them are spurious.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_number
from labelweave.metrics import METRICS

if TYPE_CHECKING:
    from labelweave.evaluation.comparison.results import Comparison

__all__ = [
    "TESTS",
    "TTest",
    "WinTieLoss",
    "Standing",
    "corrected_t_test",
    "judge",
    "paired_t_test",
    "win_tie_loss",
    "verdicts",
]

#: Whether the first method is significantly better or worse than the other, or neither.
Standing = Literal["better", "worse", "tie"]

#: Names of the tests.
TESTS = ("paired", "corrected")


@dataclass(frozen=True)
class TTest:
    """Result of a test of the null hypothesis that the mean difference is zero.

    Parameters
    ----------
    difference : float
        Mean of a − b over the folds.
    statistic : float
        Student's t; infinite if all differences are equal and nonzero.
    p_value : float
        Two-sided; nan if no test is possible.
    n_pairs : int
        Number of folds that both methods completed.
    """

    difference: float
    statistic: float
    p_value: float
    n_pairs: int


def paired_t_test(a: ArrayLike, b: ArrayLike) -> TTest:
    """Paired two-sided t-test over folds; folds with nan on either side are omitted.

    Examples
    --------
    >>> result = paired_t_test([0.5, 0.6, 0.7, 0.8], [0.4, 0.6, 0.5, 0.7])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (2.4495, 0.0917)
    """
    return _t_test(a, b, overlap=0.0)


def corrected_t_test(a: ArrayLike, b: ArrayLike, *, n_train: float, n_test: float) -> TTest:
    """Corrected resampled t-test: the paired test with variance (1/k + n_test/n_train)·s².

    Parameters
    ----------
    a, b : array-like of shape (k,)
        The scores of two methods on the same k folds.
    n_train, n_test : float
        Average numbers of training and test rows per fold.

    Examples
    --------
    >>> a, b = [0.5, 0.6, 0.7, 0.8], [0.4, 0.6, 0.5, 0.7]
    >>> result = corrected_t_test(a, b, n_train=75, n_test=25)
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (1.6036, 0.2071)
    """
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
        # Without variance, the difference is either zero or certain.
        if abs(mean) <= rounding:
            return TTest(0.0, 0.0, 1.0, n_pairs)
        return TTest(mean, float(np.copysign(np.inf, mean)), 0.0, n_pairs)
    spread = float(np.std(differences, ddof=1))
    statistic = mean / (spread * np.sqrt(1.0 / n_pairs + overlap))
    p_value = 2.0 * float(stats.t.sf(abs(statistic), df=n_pairs - 1))
    return TTest(mean, float(statistic), p_value, n_pairs)


def _paired_differences(a: ArrayLike, b: ArrayLike) -> tuple[Floats, float]:
    """Return a − b where both are known, and the largest difference that rounding can cause."""
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


def verdicts(
    comparison: Comparison, metric: str, *, test: str = "paired", alpha: float = 0.05
) -> dict[str, Standing | None]:
    """Test the first method of a comparison against each of the others on one metric.

    Parameters
    ----------
    comparison : Comparison
        The scores of all methods on the same folds.
    metric : str
        A metric of the comparison.
    test : {"paired", "corrected"}, default="paired"
        Which t-test.
    alpha : float, default=0.05
        Significance level.

    Returns
    -------
    dict
        For each other method, whether the first method is "better" or "worse", or "tie"; None if no
        test is possible (fewer than two folds in common, or no scores).
    """
    check_choice(test, "test", TESTS)
    check_number(alpha, "alpha", above=0, below=1)
    first, *others = comparison.method_names
    reference = comparison.scores(first, metric)
    result: dict[str, Standing | None] = {}
    for name in others:
        scores = comparison.scores(name, metric)
        if test == "paired":
            outcome = paired_t_test(reference, scores)
        else:
            n_train, n_test = comparison.mean_sizes()
            outcome = corrected_t_test(reference, scores, n_train=n_train, n_test=n_test)
        result[name] = judge(outcome, METRICS[metric].higher_is_better, alpha)
    return result


def judge(outcome: TTest, higher_is_better: bool, alpha: float = 0.05) -> Standing | None:
    """Return whether the first of two methods is "better" or "worse", or "tie"; None if unknown.

    Examples
    --------
    >>> judge(paired_t_test([0.5, 0.6, 0.55], [0.2, 0.25, 0.3]), higher_is_better=True)
    'better'
    """
    if np.isnan(outcome.p_value):
        return None
    if outcome.p_value >= alpha:
        return "tie"
    return "better" if (outcome.difference > 0) == higher_is_better else "worse"


@dataclass(frozen=True)
class WinTieLoss:
    """How often the first method is significantly better, neither, or significantly worse.

    Examples
    --------
    >>> str(WinTieLoss(wins=3, ties=2, losses=0))
    '3/2/0'
    """

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def win_tie_loss(by_metric: Mapping[str, Mapping[str, Standing | None]]) -> dict[str, WinTieLoss]:
    """Count the wins, ties and losses of the first method against each other method.

    Parameters
    ----------
    by_metric : mapping
        Results of :func:`verdicts`, by metric.

    Examples
    --------
    >>> counts = win_tie_loss({"exact_match": {"cc": "worse"}, "jaccard": {"cc": "tie"}})
    >>> str(counts["cc"])
    '0/1/1'
    """
    names = dict.fromkeys(name for judged in by_metric.values() for name in judged)
    counted: dict[str, WinTieLoss] = {}
    for name in names:
        seen = [judged.get(name) for judged in by_metric.values()]
        counted[name] = WinTieLoss(seen.count("better"), seen.count("tie"), seen.count("worse"))
    return counted
