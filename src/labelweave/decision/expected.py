"""The labels of a test set with the highest expected F-measure or AUC (math.md, section 6).

`ExpectedF` and `ExpectedAUC` assume independent rows and integrate by Gauss-Legendre quadrature.
`SampledF` (section 4 of the BOMC paper) needs no independence: every sample is one model and so one
labelling of the whole test set. Three counts per label, gathered in one pass over the rows, give
the F1 of every candidate threshold against every sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre

from labelweave._common.arrays import Counts, Floats, Indices
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave.decision.probabilities import Scores, check_probabilities, check_scores, like
from labelweave.decision.rules import Draw, Need, ThresholdRule, cut_between, possible_cuts

# Nodes are processed in blocks of this many matrix entries, to bound memory.
_BLOCK_ENTRIES = 2**18
# Smaller powers of a node are lost in rounding when added to 1.
_SMALLEST_POWER = 2.0**-53
# β² is rounded to a fraction of numbers up to this; larger numbers would need many nodes.
_LARGEST_TERM = 64
# The tolerance of an expected AUC, which is of the size of rounding errors.
_AUC_TOLERANCE = 1e-15


@dataclass(frozen=True)
class ExpectedF(ThresholdRule):
    """The thresholds with the highest expected F_β, exact for independent rows.

    For macro F_β every label has its own threshold. With ``average="micro"`` all labels share one,
    for micro F_β, as if each label of each row were a separate row. The scores have to be
    calibrated probabilities. The labels of different rows are independent for a fixed model;
    `SampledF` also accounts for the uncertainty of the model.

    Parameters
    ----------
    tolerance : float, default=1e-10
        The largest error of an expected F that is allowed for speed. The expected F of the chosen
        threshold is at most twice this below the best one.
    beta : float, default=1.0
        The weight of recall relative to precision, from 1/8 to 8; β² is rounded to a fraction with
        a numerator or denominator of at most 64.
    average : {"macro", "micro"}, default="macro"
        Whether to maximise the mean F_β of the labels, or the F_β of all labels pooled.

    Examples
    --------
    >>> ExpectedF().label([[0.9], [0.45], [0.4], [0.05]]).ravel()
    array([1, 1, 1, 0], dtype=int8)
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"rows", "probabilities"})

    tolerance: float = 1e-10
    beta: float = 1.0
    average: str = "macro"

    def __post_init__(self) -> None:
        check_choice(self.average, "average", ("macro", "micro"))

    @property
    def by_label(self) -> bool:
        """Whether the threshold of a label depends on the scores of this label alone."""
        return self.average == "macro"

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds with the highest expected F, (L,)."""
        del draw
        ranked, p = _descending_columns(scores)
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


@dataclass(frozen=True)
class ExpectedAUC(ThresholdRule):
    """The threshold with the highest expected AUC of the labels, for independent rows.

    The AUC of predicted labels is also known as balanced accuracy: it predicts rare labels for far
    more rows than have them. A label that all rows of the test set have, or none, counts ½.

    Examples
    --------
    >>> ExpectedAUC().label([[0.3], [0.15], [0.05], [0.01]]).ravel()
    array([1, 1, 0, 0], dtype=int8)
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"rows", "probabilities"})
    by_label: ClassVar[bool] = True

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the thresholds with the highest expected AUC, (L,)."""
        del draw
        columns = zip(*_descending_columns(scores), strict=True)
        # The gain of a row grows with its probability, so the rows with a positive gain come first.
        cuts = [cut_between(ranked, int((_gains(p) > 0).sum())) for ranked, p in columns]
        return like(scores, np.array(cuts))


@dataclass(frozen=True, eq=False)
class SampledF(ThresholdRule):
    """The threshold with the highest expected F_β over samples of the model.

    Unlike `ExpectedF`, it takes into account that all test rows follow the same unknown model, so
    that their labels depend on each other.

    Parameters
    ----------
    samples : int, default=5
        Number S of labellings drawn from the model.
    grid : int or sequence of float, default=20
        The candidate thresholds, or their number G, evenly spread over (0, 1).
    beta : float, default=1.0
        The weight of recall relative to precision.

    Examples
    --------
    >>> from labelweave.joint import IndependentJoint
    >>> SampledF(samples=50)(IndependentJoint([[2.0], [1.0], [-1.0], [-4.0]])).ravel()
    array([1, 1, 0, 0], dtype=int8)
    """

    needs: ClassVar[frozenset[Need]] = frozenset({"rows", "draws", "probabilities"})

    samples: int = 5
    grid: int | Sequence[float] | Floats = 20
    beta: float = 1.0

    def statistics(self, n_labels: int) -> F1Statistics:
        """Return zero counts for `update`."""
        return F1Statistics(n_labels, self.samples, self.grid)

    def counted(self, scores: npt.ArrayLike, draw: Draw | None) -> F1Statistics:
        """Return the counts of some rows; `add` joins the counts of parts of a test set."""
        values = check_probabilities(scores)
        if draw is None:
            raise ValueError(
                "SampledF needs draw=, which draws labellings of the test rows from the model; "
                "ExpectedF needs only the scores"
            )
        counts = self.statistics(values.shape[1])
        counts.update(values, np.stack([np.asarray(labels) for labels in draw(self.samples)]))
        return counts

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Floats:
        """Return the candidates with the highest expected F, (L,)."""
        return self.counted(scores, draw).thresholds(self.beta)


class F1Statistics:
    """The counts α, β, γ of sampled labellings against candidate thresholds, over a stream.

    For label c, sample s and candidate θ_g: `alpha`, (L, S, G), counts rows with the label in the
    sample and a score above θ_g, `beta`, (L, S), rows with the label in the sample, and `gamma`,
    (L, G), rows with a score above θ_g. `grid`, (G,), has the candidates, ascending.
    """

    def __init__(
        self, n_labels: int, samples: int = 5, grid: int | Sequence[float] | Floats = 20
    ) -> None:
        samples = check_whole_number(samples, "samples")
        self.grid = _candidates(grid)
        self.alpha = np.zeros((n_labels, samples, len(self.grid)), dtype=np.int64)
        self.beta = np.zeros((n_labels, samples), dtype=np.int64)
        self.gamma = np.zeros((n_labels, len(self.grid)), dtype=np.int64)

    def update(self, scores: npt.ArrayLike, sampled_labels: npt.ArrayLike) -> None:
        """Count rows with probabilities (n, L) and labels (S, n, L) drawn from S fixed models."""
        values = check_probabilities(scores)
        drawn = np.asarray(sampled_labels)
        n_labels, n_samples, _ = self.alpha.shape
        if values.shape[1] != n_labels or drawn.shape != (n_samples, *values.shape):
            raise ValueError(
                f"sampled_labels must have shape ({n_samples}, n, {n_labels}) and scores "
                f"(n, {n_labels}); got {drawn.shape} and {values.shape}"
            )
        if not np.isin(drawn, (0, 1)).all():
            raise ValueError("sampled_labels must be 0 or 1")
        # The number of candidates below each score is its place among the counts of its label.
        below = np.searchsorted(self.grid, values, side="left")
        place = below + np.arange(n_labels) * (len(self.grid) + 1)
        self.gamma += self._above(place.ravel())
        for s, labels in enumerate(drawn.astype(np.bool_)):
            self.alpha[:, s] += self._above(place[labels])
            self.beta[:, s] += labels.sum(axis=0)

    def add(self, other: F1Statistics) -> None:
        """Add counts made with the same samples and candidates."""
        self.alpha += other.alpha
        self.beta += other.beta
        self.gamma += other.gamma

    def _above(self, places: Indices) -> Counts:
        """Count the rows above each candidate, (L, G)."""
        n_labels, n_candidates = self.gamma.shape
        counts = np.bincount(places, minlength=n_labels * (n_candidates + 1))
        counts = counts.reshape(n_labels, n_candidates + 1)
        return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, -2::-1])

    def expected_f1(self, beta: float = 1.0) -> Floats:
        """Return the mean F_β over the samples, (L, G); 0/0 counts as 1."""
        check_number(beta, "beta", above=0, finite=False)
        both = beta**2 * self.beta[:, :, None] + self.gamma[:, None, :]
        found = (1 + beta**2) * self.alpha
        return np.asarray(np.where(both == 0, 1.0, found / np.where(both == 0, 1.0, both)).mean(1))

    def thresholds(self, beta: float = 1.0) -> Floats:
        """Return the best candidate of each label, (L,), the highest among equals."""
        expected = self.expected_f1(beta)
        best = expected.shape[1] - 1 - np.argmax(expected[:, ::-1], axis=1)
        return np.asarray(self.grid[best])


def _candidates(grid: int | Sequence[float] | Floats) -> Floats:
    if np.ndim(grid) == 0:
        size = check_whole_number(grid, "grid", otherwise="the candidates")
        return (np.arange(size) + 0.5) / size
    candidates = np.unique(np.asarray(grid, dtype=np.float64))
    if candidates.ndim != 1 or not len(candidates) or not np.isfinite(candidates).all():
        raise ValueError(f"grid must be a number of candidates or the candidates; got {grid!r}")
    return candidates


def _descending_columns(scores: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the values that rank the rows of each label, and their probabilities, (L, n)."""
    # The rows of a label are contiguous: other labels must not change the rounding of its sums.
    ranked, p = (
        -np.sort(np.negative(values.T, order="C"), axis=1)
        for values in (check_scores(scores), check_probabilities(scores))
    )
    return ranked, p


def expected_f1(
    probabilities: npt.ArrayLike, tolerance: float = 1e-10, *, beta: float = 1.0
) -> Floats:
    """Return the expected F_β if the m most probable rows get a label, (n+1,); 0/0 counts as 1."""
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
        # The probability that any of the last rows has the label is at most their sum.
        tail = np.cumsum(descending[::-1])[::-1]
        n = int(np.count_nonzero(tail > tolerance / 2))
    p = descending[:n]
    expected = np.empty(n + 1)
    expected[0] = math.exp(_log_g(p, np.zeros(1))[0]) if n == 0 or p[0] < 1 else 0.0
    a, b = beta_squared.as_integer_ratio()
    nodes, weights = _unit_nodes(n * (a + b), tolerance / 2)
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
        # G grows with t and the nodes descend, so the rest of the integrand is at most n·G.
        if log_g[0] + math.log(len(p) + 1) < -80:
            break
        summed = np.cumsum(p / (1 - (1 - power)[:, None] * p), axis=1)
        factor = np.exp(log_g[:, None] + np.log(t)[:, None] * (b * m + a - 1))
        total += weights[start : start + step] @ (factor * summed)
    return total


def _unit_nodes(degree: int, tolerance: float) -> tuple[Floats, Floats]:
    """Return descending nodes in (0, 1) and weights for polynomials as in math.md, section 6."""
    if degree == 0:
        return np.empty(0), np.empty(0)
    enough = (1 + math.sqrt(degree * math.log(4 * degree / min(tolerance, 1.0)))) / 2
    exact = -(-degree // 2)
    # The number of nodes takes few values, so that labels can share them.
    return _legendre(min(exact, 32 * math.ceil(enough / 32)))


@lru_cache(maxsize=64)
def _legendre(n_nodes: int) -> tuple[Floats, Floats]:
    nodes, weights = roots_legendre(n_nodes)
    return np.ascontiguousarray((1 + nodes[::-1]) / 2), np.ascontiguousarray(weights[::-1] / 2)


def expected_auc(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the expected AUC of a labelling, (n,), of independent rows with probabilities (n,)."""
    p = check_probabilities(np.reshape(probabilities, (-1, 1)))[:, 0]
    return float(0.5 + 0.5 * _gains(p) @ np.asarray(labels, dtype=np.float64))


def _gains(p: Floats) -> Floats:
    """E[y_i / T] − E[(1 − y_i) / (n − T)], (n,); rows where T is 0 or n have nothing to gain."""
    # There is no AUC if all rows have the label or none, so this contribution is subtracted.
    all_positive, all_negative = np.prod(p), np.prod(1 - p)
    n = max(1, len(p))
    return (_shares(p) - all_positive / n) - (_shares(1 - p) - all_negative / n)


def _shares(p: Floats) -> Floats:
    """E[y_i / T; T > 0] for every row."""
    total = np.zeros(len(p))
    for node, weight in zip(*_unit_nodes(len(p), _AUC_TOLERANCE), strict=True):
        factors = 1 - (1 - node) * p
        total += weight * np.exp(np.log(factors).sum()) * p / factors
    return total
