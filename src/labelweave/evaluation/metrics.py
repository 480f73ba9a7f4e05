"""How good is a prediction: measures of label vectors, of scores and of joint distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score
from sklearn.metrics import hamming_loss as sklearn_hamming_loss

from labelweave._common.arrays import Floats
from labelweave.evaluation import ranking
from labelweave.evaluation.checks import as_labels, label_pair
from labelweave.evaluation.overlap import (
    f1_example,
    f1_macro,
    f1_macro_zero_division_1,
    f1_micro,
    jaccard,
    precision_macro,
    precision_micro,
    recall_macro,
    recall_micro,
)

__all__ = [
    "DEFAULT_METRICS",
    "METRICS",
    "Metric",
    "SupportsLogProb",
    "cll_loss",
    "cll_loss_path",
    "cll_loss_row",
    "exact_match",
    "f1_example",
    "f1_macro",
    "f1_macro_zero_division_1",
    "f1_micro",
    "hamming_loss",
    "jaccard",
    "precision_macro",
    "precision_micro",
    "recall_macro",
    "recall_micro",
    "resolve_metrics",
    "subset_loss",
]


class SupportsLogProb(Protocol):
    """What a measure of a joint distribution needs of it: one log-probability a row."""

    def log_prob(self, Y: Any, /) -> Any:
        """Return log P(y_n | x_n) for every row n."""
        ...


def exact_match(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of rows whose whole label vector is right (EMA, subset accuracy).

    Examples
    --------
    >>> exact_match([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    return float(accuracy_score(*label_pair(Y_true, Y_pred)))


def subset_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of rows with a mistake anywhere (subset 0/1 loss): 1 − exact match.

    Examples
    --------
    >>> subset_loss([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.5
    """
    return 1.0 - exact_match(Y_true, Y_pred)


def hamming_loss(Y_true: ArrayLike, Y_pred: ArrayLike) -> float:
    """Fraction of single labels that are wrong.

    Examples
    --------
    >>> hamming_loss([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    0.25
    """
    return float(sklearn_hamming_loss(*label_pair(Y_true, Y_pred)))


def _log_likelihoods(Y_true: ArrayLike, joint: SupportsLogProb) -> Floats:
    truth = as_labels(Y_true, "Y_true")
    values = np.asarray(joint.log_prob(truth), dtype=np.float64)
    if values.shape != (len(truth),):
        raise ValueError(
            f"joint.log_prob(Y_true) must give one number a row, got shape {values.shape} "
            f"for {len(truth)} row(s); was the joint predicted from the same rows?"
        )
    return values


def cll_loss(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """Conditional log-likelihood loss, −Σ_n log P(y_n | x_n), summed over the test set.

    Parameters
    ----------
    Y_true : array-like of shape (n, L)
        The labels that came true.
    joint : JointDistribution
        What the model said about the same rows: ``model.predict_joint(X)``.

    Examples
    --------
    >>> class FairCoins:
    ...     def log_prob(self, Y):
    ...         return np.full(len(Y), -Y.shape[1] * np.log(2))
    >>> round(cll_loss([[1, 0], [0, 1]], FairCoins()), 4)
    2.7726
    """
    # 0.0 − x, so that a perfect joint costs 0 and not −0.
    return 0.0 - float(_log_likelihoods(Y_true, joint).sum())


def cll_loss_row(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """CLL-loss divided by the number of rows, so that test sets of any size compare.

    Examples
    --------
    >>> class FairCoins:
    ...     def log_prob(self, Y):
    ...         return np.full(len(Y), -Y.shape[1] * np.log(2))
    >>> round(cll_loss_row([[1, 0], [0, 1]], FairCoins()), 4)
    1.3863
    """
    return 0.0 - float(_log_likelihoods(Y_true, joint).mean())


def cll_loss_path(Y_true: ArrayLike, joint: SupportsLogProb) -> float:
    """CLL-loss a row of the product of conditionals along a chain's greedy path.

    It is what papers report for classifier chains (CC), which never look at P(y|x) itself. For
    distributions without a greedy path it is `cll_loss_row`.

    Examples
    --------
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint([[1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]])
    >>> round(cll_loss_path([[0, 0]], joint), 4), round(cll_loss_row([[0, 0]], joint), 4)
    (3.4402, 2.0064)
    """
    path = joint.greedy_path() if hasattr(joint, "greedy_path") else joint
    return cll_loss_row(Y_true, path)


@dataclass(frozen=True)
class Metric:
    """A measure and what a table must know about it.

    Parameters
    ----------
    name : str
        Key in :data:`METRICS`.
    title : str
        What a person reads.
    function : callable
        ``function(Y_true, Y_pred)``, ``function(Y_true, joint)`` if ``needs_joint``, or
        ``function(Y_true, scores)`` if ``needs_scores``.
    higher_is_better : bool
        Whether a good model has a high value.
    needs_joint : bool
        Whether it measures the joint distribution instead of predicted labels.
    needs_scores : bool
        Whether it measures the labels' probabilities, or other scores, instead.

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

    def __call__(self, Y_true: ArrayLike, predicted: Any) -> float:
        """Measure predicted labels, or what else is needed, against the truth."""
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

#: Every measure by name; a new one is one line here.
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("exact_match", "exact match", exact_match, True),
        Metric("subset_loss", "subset 0/1 loss", subset_loss, False),
        Metric("hamming_loss", "Hamming loss", hamming_loss, False),
        Metric("cll_loss", "CLL-loss", cll_loss, False, needs_joint=True),
        Metric("cll_loss_row", "CLL-loss / row", cll_loss_row, False, needs_joint=True),
        Metric("cll_loss_path", "CLL-loss / row (path)", cll_loss_path, False, needs_joint=True),
        Metric("f1_micro", "micro F1", f1_micro, True),
        Metric("f1_macro", "macro F1 (0/0 = 0)", f1_macro, True),
        Metric("f1_macro_zero_division_1", "macro F1 (0/0 = 1)", f1_macro_zero_division_1, True),
        Metric("f1_example", "example F1 (0/0 = 1)", f1_example, True),
        Metric("jaccard", "Jaccard (0/0 = 1)", jaccard, True),
        Metric("precision_micro", "micro precision", precision_micro, True),
        Metric("recall_micro", "micro recall", recall_micro, True),
        Metric("precision_macro", "macro precision (0/0 = 0)", precision_macro, True),
        Metric("recall_macro", "macro recall (0/0 = 0)", recall_macro, True),
        *_RANKING,
    )
}

#: The measures shown unless others are asked for.
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
    """Look measures up by name; hyphens and capitals do not matter.

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
