"""Compare methods, each measure by the decision that is right for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from labelweave.evaluation.comparison.cross_validation import compare
from labelweave.evaluation.comparison.results import Comparison, FoldResult
from labelweave.evaluation.methods.decisions import with_decisions
from labelweave.evaluation.metrics.registry import DEFAULT_METRICS, Metric, resolve_metrics

__all__ = ["compare_matching", "with_matching_decisions"]


def compare_matching(
    methods: Mapping[str, Any],
    X: Any,
    Y: Any,
    *,
    metrics: Iterable[str] = DEFAULT_METRICS,
    **options: Any,
) -> Comparison:
    """Cross-validate methods, and judge each of them in every measure by the matching decision.

    The best labels for exact match are not the best for F1. Probabilistic methods therefore predict
    once for each decision: the most probable vector for exact match, likely labels for Hamming
    loss, labels of the highest expected F1 or Jaccard index for these, and labels by thresholds
    that are tuned on held-out training rows for micro and macro F1. Measures without a decision of
    their own, and methods without probabilities, are judged as `compare` judges them.

    Parameters
    ----------
    methods, X, Y, metrics, **options
        As in :func:`compare`.

    Returns
    -------
    Comparison
        Times are those of the methods with the decision that they were given.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.evaluation import compare
    >>> from labelweave.models import ClassifierChain
    >>> data = load_emotions()
    >>> given = {"chain": ClassifierChain(C=0.01, label_penalty=0.03)}
    >>> one, each = (
    ...     function(given, data.X, data.Y, folds=3, metrics=["exact_match", "f1_example"])
    ...     for function in (compare, compare_matching)
    ... )
    >>> bool((one.scores("chain", "exact_match") == each.scores("chain", "exact_match")).all())
    True
    >>> bool(one.scores("chain", "f1_example").mean() < each.scores("chain", "f1_example").mean())
    True
    """
    wanted = resolve_metrics(metrics)
    expanded = with_matching_decisions(methods, wanted)
    names = [metric.name for metric in wanted]
    comparison = compare(expanded, X, Y, metrics=names, **options)
    runs = {(run.method, run.fold): run for run in comparison.results}
    return replace(
        comparison,
        methods={method: comparison.methods[method] for method in methods},
        results=tuple(
            _matched(runs, method, fold, wanted)
            for method in methods
            for fold in range(comparison.n_folds)
        ),
    )


def with_matching_decisions(
    methods: Mapping[str, Any], metrics: Iterable[Metric]
) -> dict[str, Any]:
    """Return every method as it is, and once for each decision that the metrics call for.

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> list(with_matching_decisions({"br": BinaryRelevance()}, resolve_metrics(["f1_micro"])))
    ['br', 'br: micro_f1']
    """
    decisions = {metric.decision for metric in metrics if metric.decision is not None}
    return {**methods, **with_decisions(methods, sorted(decisions))}


def _matched(
    runs: Mapping[tuple[str, int], FoldResult],
    method: str,
    fold: int,
    metrics: Iterable[Metric],
) -> FoldResult:
    """Return the run of a method whose scores are those of the matching decisions."""
    own = runs[method, fold]
    scores, warnings, error = {}, dict.fromkeys(own.warnings), own
    for metric in metrics:
        run = runs.get((f"{method}: {metric.decision}", fold), own)
        warnings |= dict.fromkeys(run.warnings)
        if run.error is not None and error.error is None:
            error = run
        if metric.name in run.scores:
            scores[metric.name] = run.scores[metric.name]
    return replace(
        own,
        scores=scores,
        warnings=tuple(warnings),
        error=error.error,
        traceback=error.traceback,
    )
