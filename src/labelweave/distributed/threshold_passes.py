"""The thresholds of a test set whose rows are on a cluster: passes over its blocks, as a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import tokenize
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from labelweave.decision import Evidence, ThresholdRule, ThresholdSurvey
from labelweave.decision.probabilities import Scores, joined
from labelweave.distributed.row_blocks import RowBlocks

# As many summaries are merged at a time.
_ARITY = 8
# The labels of a rule that has to see whole columns are taken in as many groups, at most.
_LABEL_GROUPS = 16

#: ``score(block, model)`` returns what a rule decides by.
Score = Callable[[Any, Any], Evidence]


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
        ``score(block, model)`` returns the `Evidence` of the rows of a block.
    model : Delayed
        The second argument of `score`.
    n_labels : int
    """
    if not rule.needs_rows:
        return delayed(rule.thresholds(np.empty((0, n_labels))), traverse=False)
    survey = rule.survey(n_labels, rows.n_rows)
    if survey is not None:
        return _by_survey(survey, rows, score, model)
    if rule.by_label:
        return _by_label(rule, rows, score, model, n_labels)
    raise ValueError(
        f"{type(rule).__name__} has to see the scores of all rows at once: choose 'cmn', 'lcard', "
        "'sample', 'expected_f' or 'expected_auc', give the rule a survey, or set by_label where a "
        "threshold depends on the scores of its label alone"
    )


def _by_survey(survey: ThresholdSurvey, rows: RowBlocks, score: Score, model: Delayed) -> Delayed:
    step = delayed(survey, traverse=False)
    for number in range(survey.passes):
        again = rows if number == 0 else rows.after(step)
        summaries = again.map_to_objects(_summary, score=score, model=model, survey=step)
        step = delayed(_conclude)(step, _merged(summaries, step))
    return delayed(_thresholds)(step)


def _summary(block: Any, score: Score, model: Any, survey: ThresholdSurvey) -> Any:
    if survey.finished:
        return None
    return survey.summary(*score(block, model))


def _merged(summaries: da.Array, survey: Delayed) -> Delayed:
    """Merge by a tree: no worker ever has more than a few summaries."""
    keys = list(flatten(summaries.__dask_keys__()))
    name = f"merge-{tokenize(summaries.name)}"
    layer: dict[Any, Any] = {}
    level = 0
    while len(keys) > 1 or level == 0:
        groups = [keys[first : first + _ARITY] for first in range(0, len(keys), _ARITY)]
        keys = [(name, level, number) for number in range(len(groups))]
        layer |= {key: (_merge, survey.key, group) for key, group in zip(keys, groups, strict=True)}
        level += 1
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[summaries, survey])
    return Delayed(keys[0], graph, layer=name)


def _merge(survey: ThresholdSurvey, summaries: Sequence[Any]) -> Any:
    return None if survey.finished else survey.merge(summaries)


def _conclude(survey: ThresholdSurvey, summary: Any) -> ThresholdSurvey:
    return survey if survey.finished else survey.conclude(summary)


def _thresholds(survey: ThresholdSurvey) -> Scores:
    return survey.thresholds()


def _by_label(
    rule: ThresholdRule, rows: RowBlocks, score: Score, model: Delayed, n_labels: int
) -> Delayed:
    """Bring all scores of a group of labels together, one group after the other."""
    groups = np.array_split(np.arange(n_labels), min(n_labels, _LABEL_GROUPS, rows.n_blocks))
    parts = rows.map_to_objects(partial(_columns, groups=groups), score=score, model=model)
    keys = list(flatten(parts.__dask_keys__()))
    name = f"columns-{tokenize(parts.name)}"
    layer: dict[Any, Any] = {}
    for number in range(len(groups)):
        taken = [(name, "part", number, place) for place in range(len(keys))]
        layer |= {new: (_entry, key, number) for new, key in zip(taken, keys, strict=True)}
        layer[name, number] = (partial(_thresholds_of_columns, rule), taken)
    layer[name] = (joined, [(name, number) for number in range(len(groups))])
    return Delayed(name, HighLevelGraph.from_collections(name, layer, dependencies=[parts]))


def _columns(block: Any, groups: Sequence[Any], score: Score, model: Any) -> list[Scores]:
    scores = score(block, model).scores
    return [scores[:, group] for group in groups]


def _entry(parts: Sequence[Scores], number: int) -> Scores:
    return parts[number]


def _thresholds_of_columns(rule: ThresholdRule, parts: Sequence[Scores]) -> Scores:
    return rule.thresholds(joined(parts))
