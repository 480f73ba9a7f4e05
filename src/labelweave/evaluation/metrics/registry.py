"""The registry of metrics: what is measured, how it is titled, and whether higher is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from numpy.typing import ArrayLike

from labelweave.decision import ExpectedF
from labelweave.decision.losses import Decision
from labelweave.evaluation.metrics import ranking
from labelweave.evaluation.metrics.classification import (
    exact_match,
    f1_example,
    f1_macro,
    f1_macro_zero_division_1,
    f1_micro,
    hamming_loss,
    jaccard,
    precision_macro,
    precision_micro,
    recall_macro,
    recall_micro,
    subset_loss,
)
from labelweave.evaluation.metrics.likelihood import (
    cll_loss,
    cll_loss_path,
    cll_loss_row,
    log_loss,
)
from labelweave.evaluation.metrics.reliability import calibration_error, joint_calibration_error

__all__ = ["DEFAULT_METRICS", "METRICS", "Metric", "resolve_metrics"]


@dataclass(frozen=True)
class Metric:
    """A metric and its properties.

    Parameters
    ----------
    name : str
        Key in :data:`METRICS`.
    title : str
        Title in tables.
    function : callable
        ``function(Y_true, Y_pred)``, ``function(Y_true, joint)`` if ``needs_joint``, or
        ``function(Y_true, scores)`` if ``needs_scores``.
    higher_is_better : bool
        Whether higher values are better.
    needs_joint : bool
        Whether it scores the joint distribution instead of predicted labels.
    needs_scores : bool
        Whether it evaluates probabilities or other scores instead of predicted labels.
    decision : str, Decision or None
        The decision of the best expected value; None if it has none of its own.

    Examples
    --------
    >>> METRICS["exact_match"].higher_is_better
    True
    >>> METRICS["hamming_loss"]([[1, 0]], [[1, 1]])
    0.5
    """

    name: str
    title: str
    function: Callable[[Any, Any], float]
    higher_is_better: bool
    needs_joint: bool = False
    needs_scores: bool = False
    decision: str | Decision | None = None

    def __call__(self, Y_true: ArrayLike, predicted: Any) -> float:
        """Evaluate predicted labels, scores or a joint distribution against the true labels."""
        return self.function(Y_true, predicted)


_RANKING = tuple(
    Metric(function.__name__, title, function, higher, needs_scores=True)
    for title, function, higher in (
        ("macro AUC", ranking.auc_macro, True),
        ("micro AUC", ranking.auc_micro, True),
        ("macro average precision", ranking.average_precision_macro, True),
        ("micro average precision", ranking.average_precision_micro, True),
        ("ranking average precision", ranking.average_precision_ranking, True),
        ("ranking loss", ranking.ranking_loss, False),
        ("coverage error", ranking.coverage_error, False),
        ("one-error", ranking.one_error, False),
        ("precision at 1", ranking.precision_at_1, True),
        ("precision at 3", ranking.precision_at_3, True),
        ("precision at 5", ranking.precision_at_5, True),
    )
)

#: All metrics by name; to register a new one, add one line.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("exact_match", "exact match", exact_match, True, decision="subset"),
        Metric("subset_loss", "subset 0/1 loss", subset_loss, False, decision="subset"),
        Metric("hamming_loss", "Hamming loss", hamming_loss, False, decision="hamming"),
        Metric("cll_loss", "CLL-loss", cll_loss, False, needs_joint=True),
        Metric("cll_loss_row", "CLL-loss / row", cll_loss_row, False, needs_joint=True),
        Metric("cll_loss_path", "CLL-loss / row (path)", cll_loss_path, False, needs_joint=True),
        Metric("f1_micro", "micro F1", f1_micro, True, decision=ExpectedF(average="micro")),
        Metric("f1_macro", "macro F1 (0/0 = 0)", f1_macro, True, decision=ExpectedF()),
        Metric(
            "f1_macro_zero_division_1",
            "macro F1 (0/0 = 1)",
            f1_macro_zero_division_1,
            True,
            decision=ExpectedF(),
        ),
        Metric("f1_example", "example F1 (0/0 = 1)", f1_example, True, decision="f1"),
        Metric("jaccard", "Jaccard (0/0 = 1)", jaccard, True, decision="jaccard"),
        Metric("precision_micro", "micro precision", precision_micro, True),
        Metric("recall_micro", "micro recall", recall_micro, True),
        Metric("precision_macro", "macro precision (0/0 = 0)", precision_macro, True),
        Metric("recall_macro", "macro recall (0/0 = 0)", recall_macro, True),
        Metric(
            "calibration_error", "calibration error", calibration_error, False, needs_scores=True
        ),
        Metric(
            "joint_calibration_error",
            "joint calibration error",
            joint_calibration_error,
            False,
            needs_joint=True,
        ),
        Metric("log_loss", "log-loss of marginals", log_loss, False, needs_scores=True),
        *_RANKING,
    )
}

#: The metrics shown by default.
DEFAULT_METRICS = (
    "exact_match",
    "hamming_loss",
    "cll_loss_row",
    "f1_micro",
    "f1_macro",
    "f1_example",
    "jaccard",
)


def resolve_metrics(names: Iterable[str]) -> tuple[Metric, ...]:
    """Look up metrics by name; hyphens and upper case are accepted.

    Examples
    --------
    >>> [metric.title for metric in resolve_metrics(["exact-match", "jaccard"])]
    ['exact match', 'Jaccard (0/0 = 1)']
    """
    found: dict[str, Metric] = {}
    for name in names:
        key = name.strip().lower().replace("-", "_")
        if key not in METRICS:
            near = get_close_matches(key, METRICS, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise ValueError(f"unknown metric {name!r}: {hint}choose from {', '.join(METRICS)}")
        found[key] = METRICS[key]
    if not found:
        raise ValueError(f"metrics is empty: name one or more of {', '.join(METRICS)}")
    return tuple(found.values())
