"""The labels of a test set with the highest expected F1 when rows are independent.

Let p_1 ≥ p_2 ≥ … be the probabilities of one label on n rows, T the number of rows that have it and
K_m the number among the first m. Whatever the number m of rows that get the label, the first m are
the best choice, so what is sought is the m with the highest E[F1(m)] = E[2 K_m / (m + T)]. Since
1/(m+T) = ∫₀¹ t^(m+T−1) dt and the rows are independent,

    E[F1(m)] = 2 ∫₀¹ t^m G(t) Σ_{i≤m} p_i / (1 − p_i + p_i t) dt,   G(t) = Π_i (1 − p_i + p_i t).

The integrand is a polynomial of degree m + n − 1 with non-negative coefficients: n nodes of
Gauss–Legendre quadrature integrate it exactly, for all m together in O(n²), and as all terms are
positive nothing cancels. Far fewer nodes do: a power t^s is within 2 exp(−d²/s) of a polynomial of
degree d on [0, 1] (on [−1, 1] it is 2 exp(−d²/2s): Sachdeva and Vishnoi, 2014, theorem 3.3; put
t = u²), Q nodes are exact to degree 2Q − 1 and their weights sum to 1, and the coefficients sum to
E[K_m] ≤ m; so the error is at most 8 m exp(−(2Q−1)²/(m+n)). Q grows like √(n log n), hence the work
like n√(n log n) where dynamic programs need n².

For F_β with β² = a/b in lowest terms, 1/(m + β²T) = b ∫₀¹ t^(bm + aT − 1) dt takes the place of
that integral: a polynomial again, of degree bm + an − 1 at most,

    E[F_β(m)] = (a + b) ∫₀¹ t^(bm + a − 1) G(t^a) Σ_{i≤m} p_i / (1 − p_i + p_i t^a) dt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_number
from labelweave.decision.probabilities import Scores, check_probabilities, check_scores, like
from labelweave.decision.threshold_rule import Draw, ThresholdRule, cut_between, possible_cuts

# Nodes are taken in blocks of this many matrix entries, to bound memory.
_BLOCK_ENTRIES = 2**18
# Smaller powers of a node would be lost beside 1, and matter as little.
_SMALLEST_POWER = 2.0**-53
# β² is taken as a fraction with no larger numbers than this: more would need many nodes.
_LARGEST_TERM = 64


@dataclass(frozen=True)
class ExpectedF(ThresholdRule):
    """The thresholds with the highest expected F_β, exact for independent rows.

    Every label has a threshold of its own, for macro F_β, or with ``average="micro"`` all labels
    have one, for micro F_β, as if each label of each row were a row by itself. The scores have to
    be calibrated probabilities. That the labels of different rows are independent holds for a fixed
    model; `SampledF` also allows for what the model is not sure of.

    Parameters
    ----------
    tolerance : float, default=1e-10
        The largest error of an expected F that is allowed for the sake of speed: the threshold is
        as good as the best one up to twice this.
    beta : float, default=1.0
        How many times as much recall counts as precision, from 1/8 to 8; β² is rounded to a
        fraction with a numerator or denominator of at most 64.
    average : {"macro", "micro"}, default="macro"
        Whether the F_β of single labels counts, or that of all labels together.

    Examples
    --------
    >>> scores = [[0.9], [0.45], [0.4], [0.05]]
    >>> ExpectedF().label(scores).ravel()
    array([1, 1, 1, 0], dtype=int8)
    """

    needs_probabilities: ClassVar[bool] = True

    tolerance: float = 1e-10
    beta: float = 1.0
    average: str = "macro"

    def __post_init__(self) -> None:
        """Check what can be checked before there are scores."""
        check_choice(self.average, "average", ("macro", "micro"))

    @property
    def by_label(self) -> bool:
        """Whether the threshold of a label depends on the scores of this label alone."""
        return self.average == "macro"

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds with the highest expected F, (L,)."""
        del draw
        ranked, p = descending_columns(scores)
        if self.average == "macro":
            best = np.array([self._best(*column) for column in zip(ranked, p, strict=True)])
        else:
            one = self._best(*(-np.sort(-values, axis=None) for values in (ranked, p)))
            best = np.full(len(ranked), one)
        return like(scores, best)

    def _best(self, descending: Floats, p: Floats) -> float:
        expected = _expected_f(p, self.tolerance, _squared(self.beta))
        cuts = possible_cuts(descending)
        cuts = cuts[cuts < len(expected)]
        return cut_between(descending, int(cuts[np.argmax(expected[cuts])]))


def descending_columns(scores: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return what ranks the rows of each label and their probabilities, (L, n), descending."""
    # Row after row in memory: how sums are rounded must not depend on the labels beside.
    ranked, p = (
        -np.sort(np.negative(values.T, order="C"), axis=1)
        for values in (check_scores(scores), check_probabilities(scores))
    )
    return ranked, p


def expected_f1(
    probabilities: npt.ArrayLike, tolerance: float = 1e-10, *, beta: float = 1.0
) -> Floats:
    """Return the expected F1 when the m most probable of n independent rows get a label, (n+1,).

    Parameters
    ----------
    probabilities : (n,) array
        The probability of each row to have the label, in any order.
    tolerance : float, default=1e-10
        The largest error allowed.
    beta : float, default=1.0
        The expected F_β instead, as in `ExpectedF`.

    Returns
    -------
    (n + 1,) array
        Entry m is for the m rows with the highest probabilities. No labels on rows that have none
        count as F1 = 1.

    Examples
    --------
    >>> expected_f1([0.5, 0.5])
    array([0.25      , 0.41666667, 0.58333333])
    """
    values = check_probabilities(np.reshape(probabilities, (-1, 1)))[:, 0]
    descending = -np.sort(-values)
    return _expected_f(descending, tolerance, _squared(beta), keep_tail=True)


def _squared(beta: float) -> Fraction:
    check_number(beta, "beta", minimum=1 / 8, maximum=8)
    square = Fraction(beta) ** 2
    if square <= 1:
        return square.limit_denominator(_LARGEST_TERM)
    return 1 / (1 / square).limit_denominator(_LARGEST_TERM)


def _expected_f(
    descending: Floats, tolerance: float, beta_squared: Fraction, *, keep_tail: bool = False
) -> Floats:
    """Return E[F_β] of the first m for m = 0, 1, … up to the last row that can matter."""
    check_number(tolerance, "tolerance", above=0, finite=False)
    n = len(descending)
    if not keep_tail:
        # The last rows have no label at all but with a probability of at most their sum.
        tail = np.cumsum(descending[::-1])[::-1]
        n = int(np.count_nonzero(tail > tolerance / 2))
    p = descending[:n]
    expected = np.empty(n + 1)
    expected[0] = math.exp(_log_g(p, np.zeros(1))[0]) if n == 0 or p[0] < 1 else 0.0
    a, b = beta_squared.as_integer_ratio()
    nodes, weights = unit_nodes(n * (a + b), tolerance / 2)
    expected[1:] = (a + b) * _integrals(p, nodes, weights, a, b)
    return expected


def _log_g(p: Floats, t: Floats) -> Floats:
    return np.asarray(np.log1p(-(1 - t)[:, None] * p).sum(axis=1))


def _integrals(p: Floats, nodes: Floats, weights: Floats, a: int, b: int) -> Floats:
    """∫ t^(bm + a − 1) G(t^a) Σ_{i≤m} p_i / (1 − p_i + p_i t^a) dt for m = 1 … n."""
    m = np.arange(1, len(p) + 1)
    total = np.zeros(len(p))
    step = max(1, _BLOCK_ENTRIES // max(1, len(p)))
    for start in range(0, len(nodes), step):
        t = nodes[start : start + step]
        power = np.maximum(t**a, _SMALLEST_POWER)
        log_g = _log_g(p, power)
        # G grows with t and the nodes descend. At most n·G is left of the integrand from here on.
        if log_g[0] + math.log(len(p) + 1) < -80:
            break
        summed = np.cumsum(p / (1 - (1 - power)[:, None] * p), axis=1)
        factor = np.exp(log_g[:, None] + np.log(t)[:, None] * (b * m + a - 1))
        total += weights[start : start + step] @ (factor * summed)
    return total


def unit_nodes(degree: int, tolerance: float) -> tuple[Floats, Floats]:
    """Nodes in (0, 1), descending, and weights, as many as the tolerance needs.

    For polynomials below this degree with positive coefficients that sum to at most the degree.
    """
    if degree == 0:
        return np.empty(0), np.empty(0)
    enough = (1 + math.sqrt(degree * math.log(4 * degree / min(tolerance, 1.0)))) / 2
    exact = -(-degree // 2)
    # Few different numbers of nodes, so that labels can share them.
    return _legendre(min(exact, 32 * math.ceil(enough / 32)))


@lru_cache(maxsize=64)
def _legendre(n_nodes: int) -> tuple[Floats, Floats]:
    nodes, weights = roots_legendre(n_nodes)
    return np.ascontiguousarray((1 + nodes[::-1]) / 2), np.ascontiguousarray(weights[::-1] / 2)
