"""One threshold for all labels, at which test rows have as many labels as training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from labelweave._common.checks import check_number
from labelweave.decision.probabilities import Scores, as_scores, check_scores, like
from labelweave.decision.rank_search import RankSearch, RankSummary, TiedRows, passes_over
from labelweave.decision.threshold_rule import Draw, HeldOut, ThresholdRule, ThresholdSurvey


@dataclass(frozen=True)
class CardinalityThreshold(ThresholdRule):
    """One threshold for all labels, calibrated on the label cardinality (LCard, PCut1).

    The label cardinality is the mean number of labels of a row. The rule chooses the threshold at
    which that of the test rows comes as close as possible to that of the training rows; of two
    that are equally close, the higher one. Equal scores are above it together or not at all. The
    scores of all labels are compared with one another, so they must be on one scale: marginals, or
    the votes of an ensemble (`MajorityVote`). `ClassMassNormalization` does the same label by
    label.

    Read, Pfahringer, Holmes and Frank (Machine Learning 85, 2011) decide so with an ensemble of
    classifier chains.

    Parameters
    ----------
    cardinality : float, optional
        Mean number of labels of a training row. By default, the estimator that uses the rule
        provides it.

    Examples
    --------
    >>> rule = CardinalityThreshold(cardinality=1.5)
    >>> rule.thresholds([[0.9, 0.4], [0.3, 0.2]])
    array([0.25, 0.25])
    >>> rule.label([[0.9, 0.4], [0.3, 0.2]])
    array([[1, 1],
           [1, 0]], dtype=int8)
    """

    cardinality: float | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before the number of labels is known."""
        if self.cardinality is not None:
            check_number(self.cardinality, "cardinality", minimum=0, otherwise="None")

    def informed(
        self, rates: npt.ArrayLike, held_out: HeldOut | None = None
    ) -> CardinalityThreshold:
        """Return the rule with the label cardinality of training, unless it was given its own."""
        del held_out
        if self.cardinality is not None:
            return self
        return replace(self, cardinality=float(np.sum(np.asarray(rates))))

    def thresholds(self, scores: npt.ArrayLike, draw: Draw | None = None) -> Scores:
        """Return the one threshold, for each label, (L,)."""
        del draw
        search = self._search(check_scores(scores).shape[1], passes=1)
        return search.conclude(search.summary(as_scores(scores))).thresholds()

    def survey(self, n_labels: int, n_rows: int | None = None) -> ThresholdSurvey:
        """Return a search for the rank of the label cardinality among the scores of all labels."""
        n_scores = None if n_rows is None else n_rows * n_labels
        return self._search(n_labels, passes_over(n_scores, n_labels=1))

    def _search(self, n_labels: int, passes: int) -> PooledSearch:
        if self.cardinality is None:
            raise ValueError(
                "CardinalityThreshold needs cardinality=, the mean number of labels of a training "
                "row"
            )
        # Rates are quotients: the sum of those of labels that all rows have may exceed L a little.
        share = self.cardinality / n_labels
        if share > 1 + 1e-9:
            raise ValueError(
                f"cardinality must be at most the number of labels, {n_labels}; "
                f"got {self.cardinality}"
            )
        return PooledSearch(RankSearch.of(np.array([share]), _cut, passes), n_labels)


@dataclass(frozen=True)
class PooledSearch:
    """Look for a rank among the scores of all labels: a `ThresholdSurvey`.

    Parameters
    ----------
    search : RankSearch
        A search in one column, which has the scores of all labels.
    n_labels : int
    """

    search: RankSearch
    n_labels: int

    @property
    def passes(self) -> int:
        """The number of passes left, at most."""
        return self.search.passes

    @property
    def finished(self) -> bool:
        """Whether the threshold is known."""
        return self.search.finished

    def summary(self, scores: Scores, draw: Draw | None = None) -> RankSummary:
        """Return what a part of the rows says about the ranks."""
        return self.search.summary(like(scores, check_scores(scores).reshape(-1, 1)), draw)

    def merge(self, summaries: Sequence[RankSummary]) -> RankSummary:
        """Return what some parts together say."""
        return self.search.merge(summaries)

    def conclude(self, summary: RankSummary) -> PooledSearch:
        """Return the search as it stands after a pass that had this summary of all rows."""
        return replace(self, search=self.search.conclude(summary))

    def thresholds(self) -> Scores:
        """Return the threshold, after the last pass, for each label, (L,)."""
        return self.search.thresholds()[np.zeros(self.n_labels, dtype=np.int64)]


def _cut(share: float, n_scores: int, tied: TiedRows, kind: Scores) -> float:
    del kind
    return tied.nearest_cut(share * n_scores, n_scores)
