"""Each measure by the decision that is right for it: variants of a method, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from typing import Any

from labelweave._common.pipelines import last
from labelweave.decision import Decision
from labelweave.evaluation.comparison.results import FoldResult
from labelweave.evaluation.metrics.registry import Metric
from labelweave.inference import Auto, BestFirst, Exhaustive
from labelweave.models.methods import deciding

__all__ = ["merged", "variants_of"]

# Searches for nothing but the most probable vector, whose decision is open.
_EXACT = (Auto, BestFirst, Exhaustive)


def variants_of(
    estimator: Any, metrics: tuple[Metric, ...]
) -> list[tuple[Any, tuple[Metric, ...]]]:
    """Return a method with each decision that its metrics call for, and these metrics.

    The first one has its own decision, for the metrics that call for this one or for none.

    Examples
    --------
    >>> from labelweave.evaluation.metrics.registry import resolve_metrics
    >>> from labelweave import BinaryRelevance
    >>> for variant, judged_by in variants_of(
    ...     BinaryRelevance(), resolve_metrics(["f1_example", "hamming_loss", "recall_micro"])
    ... ):
    ...     print(variant, *(metric.name for metric in judged_by))
    BinaryRelevance() recall_micro
    BinaryRelevance(decision='f1') f1_example
    BinaryRelevance(decision='hamming') hamming_loss
    """
    if not _can_decide_otherwise(estimator):
        return [(estimator, metrics)]
    own = last(estimator).decision
    by_decision: dict[str | Decision, list[Metric]] = {own: []}
    for metric in metrics:
        by_decision.setdefault(metric.decision or own, []).append(metric)
    return [
        (estimator if each == own else deciding(estimator, each), tuple(judged_by))
        for each, judged_by in by_decision.items()
    ]


def _can_decide_otherwise(estimator: Any) -> bool:
    """Whether nobody has chosen how a method decides, and its fit does not depend on it.

    An approximate search is such a choice: greedy search is what makes a classifier chain.
    """
    classifier = last(estimator)
    free, defaults = getattr(classifier, "prediction_parameters", ()), signature(type(classifier))
    chosen = {name: getattr(classifier, name) for name in free if name in defaults.parameters}
    return (
        "decision" in chosen
        and hasattr(classifier, "predict_joint")
        and all(
            value == defaults.parameters[name].default or isinstance(value, _EXACT)
            for name, value in chosen.items()
        )
    )


def merged(runs: Sequence[FoldResult], metrics: Sequence[Metric]) -> FoldResult:
    """Return the scores of all variants of a method on a fold, with the times of the first."""
    scores = {name: score for run in runs for name, score in run.scores.items()}
    failed = next((run for run in runs if run.error is not None), runs[0])
    return replace(
        runs[0],
        scores={metric.name: scores[metric.name] for metric in metrics if metric.name in scores},
        warnings=tuple(dict.fromkeys(text for run in runs for text in run.warnings)),
        error=failed.error,
        traceback=failed.traceback,
    )
