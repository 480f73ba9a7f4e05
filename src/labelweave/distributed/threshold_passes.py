"""The thresholds of a test set whose rows are on a cluster: passes over its blocks, as a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import tokenize
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

from labelweave._common.arrays import Counts, Floats
from labelweave.decision import CardinalityThreshold, MajorityVote, SampledF
from labelweave.decision.expected import F1Statistics
from labelweave.decision.probabilities import Probabilities, Scores, check_scores, joined
from labelweave.decision.rules import ScoredRows, ThresholdRule, nearest_cut
from labelweave.distributed.row_blocks import RowBlocks

# As many summaries are merged at a time.
_ARITY = 8
# The labels of a rule that has to see whole columns are taken in as many groups, at most.
_LABEL_GROUPS = 16
# Scores whose first bits are the same share a bin of a histogram: sign, exponent, 8 bits beyond.
_BIN_BITS = 20

#: ``score(block, model)`` returns the scores and draws by which a rule decides.
Score = Callable[[Any, Any], ScoredRows]


def thresholds_of_blocks(
    rule: ThresholdRule, rows: RowBlocks, score: Score, model: Delayed, n_labels: int
) -> Delayed:
    """Return the thresholds that a rule chooses for all rows, to the last bit.

    Parameters
    ----------
    rule : ThresholdRule
        Informed by the training data.
    rows : RowBlocks
        The test set.
    score : callable
        ``score(block, model)`` returns the `ScoredRows` of a block.
    model : Delayed
        The second argument of `score`.
    n_labels : int
    """
    inner = rule.rule if isinstance(rule, MajorityVote) else rule
    if "rows" not in inner.needs:
        return delayed(inner.thresholds(np.empty((0, n_labels))), traverse=False)
    if inner.by_label:
        return _by_label(inner, rows, score, model, n_labels)
    if isinstance(inner, CardinalityThreshold):
        return _by_histogram(inner.share(n_labels), rows, score, model, n_labels)
    if isinstance(inner, SampledF):
        counts = rows.map_to_objects(partial(_counted, inner), score=score, model=model)
        return delayed(F1Statistics.thresholds)(_merged(counts, _added), inner.beta)
    raise ValueError(
        f"{type(inner).__name__} has to see the scores of all rows at once: choose 'cmn', 'lcard', "
        "'sample', 'expected_f' or 'expected_auc', or set by_label where a threshold depends on "
        "the scores of its label alone"
    )


# Rules that go label by label: the scores of a group of labels are brought together.


def _by_label(
    rule: ThresholdRule, rows: RowBlocks, score: Score, model: Delayed, n_labels: int
) -> Delayed:
    groups = np.array_split(np.arange(n_labels), min(n_labels, _LABEL_GROUPS, rows.n_blocks))
    parts = rows.map_to_objects(partial(_columns, groups=groups), score=score, model=model)
    keys = list(flatten(parts.__dask_keys__()))
    name = f"columns-{tokenize(parts.name, rule)}"
    layer: dict[Any, Any] = {}
    for number, group in enumerate(groups):
        taken = [(name, "part", number, place) for place in range(len(keys))]
        layer |= {new: (_entry, key, number) for new, key in zip(taken, keys, strict=True)}
        layer[name, number] = (partial(_thresholds_of_columns, rule.for_labels(group)), taken)
    layer[name] = (joined, [(name, number) for number in range(len(groups))])
    return Delayed(name, HighLevelGraph.from_collections(name, layer, dependencies=[parts]))


def _columns(block: Any, groups: Sequence[Any], score: Score, model: Any) -> list[Scores]:
    scores = score(block, model).scores
    return [scores[:, group] for group in groups]


def _entry(parts: Sequence[Scores], number: int) -> Scores:
    return parts[number]


def _thresholds_of_columns(rule: ThresholdRule, parts: Sequence[Scores]) -> Scores:
    return rule.thresholds(joined(parts))


# Sampled labellings: the counts of all blocks are added up.


def _counted(rule: SampledF, block: Any, score: Score, model: Any) -> F1Statistics:
    return rule.counted(*score(block, model))


def _added(parts: Sequence[F1Statistics]) -> F1Statistics:
    first, *others = parts
    total = F1Statistics(len(first.beta), first.beta.shape[1], first.grid)
    for part in (first, *others):
        total.add(part)
    return total


# One threshold for all labels: a histogram tells in which bin it lies, and a second pass brings
# together the scores of that bin and the nearest scores beyond it.


class Tally(NamedTuple):
    """Distinct numbers in ascending order, and how often each occurs.

    If they are scores, `of_log_odds` says whether they are log-odds of `Probabilities`.
    """

    values: NDArray[Any]
    counts: Counts
    of_log_odds: bool = False

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        """Return the tally of all parts."""
        values, place = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([p.counts for p in parts]))
        return cls(values, counts, any(p.of_log_odds for p in parts))


def _by_histogram(
    share: float, rows: RowBlocks, score: Score, model: Delayed, n_labels: int
) -> Delayed:
    bins = rows.map_to_objects(_histogram, score=score, model=model)
    chosen = delayed(bin_of_rank)(_merged(bins, Tally.merged), share)
    again = rows.after(chosen)
    near = again.map_to_objects(_near, score=score, model=model, chosen=chosen)
    tally = _merged(near, _merged_near, chosen)
    return delayed(common_threshold)(tally, share, n_labels)


def _histogram(block: Any, score: Score, model: Any) -> Tally:
    return histogram(score(block, model).scores)


def _near(block: Any, score: Score, model: Any, chosen: int | None) -> Tally:
    return scores_near(score(block, model).scores, chosen)


def _merged_near(parts: Sequence[Tally], chosen: int | None) -> Tally:
    return folded(Tally.merged(parts), chosen)


def bins_of(scores: Floats) -> NDArray[np.int64]:
    """Return the bin of each score; bins have the order of the scores."""
    bits = (scores + 0.0).view(np.int64)  # 0.0 and -0.0 are the same score
    # As whole numbers, negative floats have the opposite order.
    ordered = bits ^ (bits >> 63 & np.iinfo(np.int64).max)
    return np.asarray(ordered >> (64 - _BIN_BITS))


def histogram(scores: Scores) -> Tally:
    """Return how many of the scores are in each bin."""
    bins, counts = np.unique(bins_of(check_scores(scores)), return_counts=True)
    return Tally(bins, counts)


def bin_of_rank(bins: Tally, share: float) -> int | None:
    """Return the bin of the score below which this share of all scores begins; None if none."""
    n_scores = int(bins.counts.sum())
    if n_scores == 0:
        return None
    rank = min(int(share * n_scores), n_scores - 1)
    not_below = np.cumsum(bins.counts[::-1])[::-1]
    return int(bins.values[np.flatnonzero(not_below > rank)[-1]])


def scores_near(scores: Scores, chosen: int | None) -> Tally:
    """Return the scores in a bin, and the nearest beyond it, each for all that are further away."""
    values, counts = np.unique(check_scores(scores), return_counts=True)
    return folded(Tally(values, counts, isinstance(scores, Probabilities)), chosen)


def folded(tally: Tally, chosen: int | None) -> Tally:
    """Return the tally with the scores beyond the bin counted as the nearest of them."""
    if chosen is None:
        return tally
    first, end = np.searchsorted(bins_of(tally.values), [chosen, chosen + 1])
    # Scores are counted in runs: all below the bin, each one inside, all above the bin.
    below, inside, above = np.split(np.arange(len(tally.values)), [first, end])
    starts = np.concatenate([below[:1], inside, above[:1]])
    nearest = np.concatenate([below[-1:], inside, above[:1]])
    counts = np.add.reduceat(tally.counts, starts) if len(starts) else tally.counts
    return Tally(tally.values[nearest], counts, tally.of_log_odds)


def common_threshold(tally: Tally, share: float, n_labels: int) -> Scores:
    """Return the threshold that `CardinalityThreshold` chooses for all labels, (L,)."""
    cut = nearest_cut(tally.values, tally.counts, share * int(tally.counts.sum()))
    chosen = np.full(n_labels, cut)
    return Probabilities(chosen) if tally.of_log_odds else chosen


def _merged(summaries: da.Array, merge: Callable[..., Any], *arguments: Delayed) -> Delayed:
    """Merge by a tree: no worker ever has more than a few summaries."""
    keys = list(flatten(summaries.__dask_keys__()))
    name = f"merge-{tokenize(summaries.name)}"
    others = [argument.key for argument in arguments]
    layer: dict[Any, Any] = {}
    level = 0
    while len(keys) > 1 or level == 0:
        groups = [keys[first : first + _ARITY] for first in range(0, len(keys), _ARITY)]
        keys = [(name, level, number) for number in range(len(groups))]
        layer |= {key: (merge, group, *others) for key, group in zip(keys, groups, strict=True)}
        level += 1
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[summaries, *arguments])
    return Delayed(keys[0], graph, layer=name)
