"""The score at a given rank among the rows of a test set that comes in parts, exactly.

Selection in bounded memory needs more than one pass over the rows (Munro and Paterson, 1980). A
pass keeps some of the scores as points, and how many rows are known to be above each and how many
are known not to be; such summaries of parts add up, and points can be left out at the price of less
knowledge (as in Greenwald and Khanna's summaries for sensor networks, 2004). At its end the rank is
known to lie between two of the points, and the next pass looks at the scores between them only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from labelweave._common.arrays import Counts, Floats
from labelweave.decision.probabilities import Scores, as_scores, check_scores, joined, like
from labelweave.decision.threshold_rule import Draw, between

# Points that the summary of all labels may have, and each label at least.
_POINTS = 2**18
_POINTS_PER_LABEL = 1024
# The last pass keeps all points between the bounds: so many times the usual number are expected.
_LAST_PASS = 4
# A pass leaves about this share of a label's rows, times its number of points, undecided: two
# points a spacing, on both sides of the rank, and as much again for each level of merging.
_UNDECIDED = 16
# As many rows are expected where their number is not known.
_MANY_ROWS = 10**8


class TiedRows(NamedTuple):
    """The rows with the same score as the row of a given rank, and the scores beside it.

    In descending order they are the rows from `above` up to, but not including, `end`. The next
    `higher` score is infinite if there is none, the next `lower` one minus infinite.
    """

    above: int
    end: int
    higher: float
    score: float
    lower: float

    def nearest_cut(self, expected: float, n_rows: int) -> float:
        """Return the threshold with as many rows above it as come closest to `expected`.

        Rows with equal scores go together, so the cut is on one side of them or on the other; on
        the higher one if both are as close.
        """
        if abs(self.above - expected) <= abs(self.end - expected):
            return np.inf if self.above == 0 else between(self.higher, self.score)
        return -np.inf if self.end == n_rows else between(self.score, self.lower)


#: ``cut(rate, n, tied_rows, kind)`` returns the threshold of a label among the scores as ranked;
#: the `kind` tells whether these are log-odds of `Probabilities`.
Cut: TypeAlias = Callable[[float, int, TiedRows, Scores], float]


@dataclass(frozen=True)
class Ranks:
    """What is known of the scores of one label in some rows.

    Only the scores between two bounds count, of which there are `inside`; `above` rows are beyond
    them, `higher` and `lower` are the scores next to them on the outside.

    Attributes
    ----------
    points : (m,) array
        Some of the scores, ascending and distinct.
    least, most : (m,) arrays of int64
        The rows known to have at least the score of a point, less those of the next point; and the
        rows known to have at most its score, less those of the point before.
    complete : bool
        Whether no distinct score is missing among the points.
    """

    above: int
    inside: int
    higher: float
    lower: float
    points: Floats
    least: Counts
    most: Counts
    complete: bool = True

    @classmethod
    def of(cls, scores: Floats, low: float, high: float) -> Ranks:
        """Return all that there is to know about the scores in (low, high]."""
        beyond, below = scores[scores > high], scores[scores <= low]
        points, counts = np.unique(scores[(scores > low) & (scores <= high)], return_counts=True)
        return cls(
            above=len(beyond),
            inside=int(counts.sum()),
            higher=float(beyond.min(initial=np.inf)),
            lower=float(below.max(initial=-np.inf)),
            points=points,
            least=counts,
            most=counts,
        )

    @classmethod
    def merged(cls, parts: Sequence[Ranks]) -> Ranks:
        """Return what is known of the rows of all parts."""
        points, place = np.unique(np.concatenate([p.points for p in parts]), return_inverse=True)
        least, most = np.zeros((2, len(points)), dtype=np.int64)
        np.add.at(least, place, np.concatenate([p.least for p in parts]))
        np.add.at(most, place, np.concatenate([p.most for p in parts]))
        return cls(
            above=sum(p.above for p in parts),
            inside=sum(p.inside for p in parts),
            higher=min(p.higher for p in parts),
            lower=max(p.lower for p in parts),
            points=points,
            least=least,
            most=most,
            complete=all(p.complete for p in parts),
        )

    def pruned(self, n_points: int) -> Ranks:
        """Return a summary of no more points, evenly spread over the rows; the ends are kept."""
        if len(self.points) <= n_points:
            return self
        below = self.inside - (self.surely_above() + self.possibly_above()) / 2
        # Both sides of a step: the rows of one frequent score are not to hide others.
        place = np.searchsorted(below, np.linspace(0, self.inside, max(2, n_points // 2 - 1)))
        chosen = np.zeros(len(self.points), dtype=np.bool_)
        chosen[place.clip(max=len(self.points) - 1)] = chosen[(place - 1).clip(0)] = True
        chosen[[0, -1]] = True
        kept = np.flatnonzero(chosen)
        return replace(
            self,
            points=self.points[kept],
            # What is at least a point is at least the next lower one; at most, the next higher.
            least=np.add.reduceat(self.least, kept),
            most=np.add.reduceat(self.most, np.append(0, kept[:-1] + 1)),
            complete=False,
        )

    def tied_rows(self, rank: int) -> TiedRows:
        """Return the rows with the score of this rank, which lies inside; all points are known."""
        first = int(np.count_nonzero(self.surely_above() > rank - self.above))
        padded = np.concatenate([[self.lower], self.points, [self.higher]])
        lower, score, higher = padded[first : first + 3].tolist()
        above = self.above + int(self.surely_above()[first])
        return TiedRows(above, above + int(self.least[first]), higher, score, lower)

    def bounds(self, rank: int, low: float, high: float) -> tuple[float, float]:
        """Return the points between which the score of this rank lies, (low, high]."""
        surely_below = self.points[self.surely_above() > rank - self.above]
        surely_not_above = self.points[self.possibly_above() <= rank - self.above]
        return float(surely_below.max(initial=low)), float(surely_not_above.min(initial=high))

    def surely_above(self) -> Counts:
        """Return the number of rows inside that are known to be above each point."""
        return np.cumsum(self.least[::-1])[::-1] - self.least

    def possibly_above(self) -> Counts:
        """Return the number of rows inside that are not known not to be above each point."""
        return self.inside - np.cumsum(self.most)


class RankSummary(NamedTuple):
    """Some rows: their number, and each label's ranks (None if nothing is left to find out).

    An empty array of their scores tells of what kind these are.
    """

    n_rows: int
    labels: tuple[Ranks | None, ...]
    kind: Scores


@dataclass(frozen=True)
class RankSearch:
    """Look for the scores at rank ⌊rate · n⌋ of each label, and cut there: a `ThresholdSurvey`.

    Parameters
    ----------
    rates : (L,) array
        The share of rows above the rank, one for each label.
    cut : Cut
    passes : int
        How often the rows are gone through, see `passes_over`.
    points : int
        The number of points for each label, except in the last pass.
    """

    rates: Floats
    cut: Cut
    passes: int
    points: int
    bounds: tuple[tuple[float, float], ...]
    found: tuple[TiedRows | None, ...]
    n_rows: int = 0
    kind: Scores = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of(cls, rates: Floats, cut: Cut, passes: int) -> RankSearch:
        """Return a search that has not begun; with one pass, every summary has all points."""
        everywhere = ((-np.inf, np.inf),) * len(rates)
        nothing = (None,) * len(rates)
        return cls(rates, cut, passes, _points_for(len(rates)), everywhere, nothing)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to find out."""
        return all(rows is not None for rows in self.found)

    def summary(self, scores: Scores, draw: Draw | None = None) -> RankSummary:
        """Return what a part of the rows says about the ranks."""
        del draw
        columns = np.ascontiguousarray(check_scores(scores).T)
        parts = [
            Ranks.of(s, *bounds) if rows is None else None
            for s, bounds, rows in zip(columns, self.bounds, self.found, strict=True)
        ]
        kept = tuple(self._kept(part) for part in parts)
        return RankSummary(columns.shape[1], kept, as_scores(scores)[:0])

    def merge(self, summaries: Sequence[RankSummary]) -> RankSummary:
        """Return what some parts together say."""
        columns = zip(*(summary.labels for summary in summaries), strict=True)
        parts = [
            Ranks.merged(known) if (known := [p for p in column if p is not None]) else None
            for column in columns
        ]
        n_rows = sum(summary.n_rows for summary in summaries)
        kind = joined([summary.kind for summary in summaries])
        return RankSummary(n_rows, tuple(map(self._kept, parts)), kind)

    def conclude(self, summary: RankSummary) -> RankSearch:
        """Return the search as it stands after a pass that had this summary of all rows."""
        bounds, found, n = list(self.bounds), list(self.found), summary.n_rows
        for label, part in enumerate(summary.labels):
            if part is None:
                continue
            rank = min(int(self.rates[label] * n), n - 1)
            if n == 0:
                found[label] = TiedRows(0, 0, np.inf, -np.inf, -np.inf)
            elif part.complete:
                found[label] = part.tied_rows(rank)
            else:
                bounds[label] = part.bounds(rank, *bounds[label])
        return replace(
            self,
            passes=self.passes - 1,
            bounds=tuple(bounds),
            found=tuple(found),
            n_rows=n,
            kind=summary.kind,
        )

    def thresholds(self) -> Scores:
        """Return the thresholds, after the last pass, (L,)."""
        pairs = zip(self.rates.tolist(), self.found, strict=True)
        n, kind = self.n_rows, self.kind
        cuts = [self.cut(rate, n, rows, kind) for rate, rows in pairs if rows is not None]
        return like(kind, np.array(cuts))

    def _kept(self, part: Ranks | None) -> Ranks | None:
        return part if part is None or self.passes == 1 else part.pruned(self.points)


def passes_over(n_rows: int | None, n_labels: int) -> int:
    """Return how many passes a search needs so that its last one need not keep many points.

    Examples
    --------
    >>> [passes_over(n, n_labels=100) for n in (10**4, 10**6, 10**8)]
    [1, 2, 3]
    """
    points = _points_for(n_labels)
    passes, undecided = 1, _MANY_ROWS if n_rows is None else n_rows
    while undecided > _LAST_PASS * points:
        passes, undecided = passes + 1, undecided * _UNDECIDED // points
    return passes


def _points_for(n_labels: int) -> int:
    return max(_POINTS_PER_LABEL, _POINTS // max(1, n_labels))
