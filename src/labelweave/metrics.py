"""Metrics: a table of names, functions and options; the metrics of each label; reliability curves.

Ratios of 0/0 follow two conventions. A *row* without labels that is predicted empty is correct, so
example F1 and Jaccard count it as 1. A *label* that neither occurs nor is predicted gives no
evidence, so macro F1 counts it as 0, as scikit-learn does (``zero_division=0``); otherwise empty
predictions would score well whenever most labels are rare. Metric titles state the convention.

Scores are marginal probabilities or any other values that increase with the probability of a
label. As in scikit-learn, an irrelevant label with the same score as a relevant one is ranked
before it; only one-error and precision at k take the expected value over the orders of ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    coverage_error,
    f1_score,
    hamming_loss,
    jaccard_score,
    label_ranking_loss,
    precision_recall_fscore_support,
    precision_score,
    recall_score,
)

from labelweave._common.arrays import Counts, Floats, Indicators, Labels
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave.decision import ExpectedF
from labelweave.decision.expected import F1Statistics
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities, check_scores
from labelweave.inference.search import greedy_path
from labelweave.joint import JointDistribution

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["METRICS", "reliability_curve"]


def check_indicators(values: ArrayLike, argument: str) -> Indicators:
    """Return an (n, L) array of zeros and ones; ValueError unless the argument is one."""
    labels = np.asarray(values)
    if labels.ndim != 2:
        raise ValueError(
            f"{argument} must be an n×L array of labels, got {labels.ndim} dimension(s); "
            "reshape a single label to a column with .reshape(-1, 1)"
        )
    if labels.size == 0:
        raise ValueError(f"{argument} is empty (shape {labels.shape}); pass at least one row")
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{argument} must contain only 0 and 1")
    return labels.astype(np.int64, copy=False)


def _check_pair(Y_true: ArrayLike, Y_pred: ArrayLike) -> tuple[Indicators, Indicators]:
    truth, prediction = check_indicators(Y_true, "Y_true"), check_indicators(Y_pred, "Y_pred")
    if truth.shape != prediction.shape:
        raise ValueError(
            f"Y_true and Y_pred must have the same shape, got {truth.shape} and {prediction.shape}"
        )
    return truth, prediction


def _at_least_two(Y_true: ArrayLike, Y_pred: ArrayLike) -> tuple[Indicators, Indicators]:
    """Return true and predicted labels, with a single column duplicated.

    scikit-learn treats a single column as a binary problem and averages over the *classes* 0
    and 1. No metric here changes when every label is duplicated.
    """
    truth, prediction = _check_pair(Y_true, Y_pred)
    if truth.shape[1] == 1:
        truth, prediction = np.repeat(truth, 2, axis=1), np.repeat(prediction, 2, axis=1)
    return truth, prediction


def _check_scored(Y_true: ArrayLike, scores: ArrayLike) -> tuple[Indicators, Floats]:
    """Return labels and scores of the same shape; `Probabilities` are ranked by their log-odds."""
    truth = check_indicators(Y_true, "Y_true")
    ranked = check_scores(scores) if isinstance(scores, Probabilities) else scores
    values = np.asarray(ranked, dtype=np.float64)
    if values.shape != truth.shape:
        raise ValueError(
            f"scores must have the shape of Y_true, got {values.shape} and {truth.shape}"
        )
    if np.isnan(values).any():
        raise ValueError("scores must not contain NaN")
    return truth, values


_CHECKS: dict[str, Callable[[Any, Any], tuple[Indicators, Any]]] = {
    "labels": _at_least_two,
    "scores": _check_scored,
    # These metrics evaluate probabilities, not log-odds.
    "probabilities": lambda truth, scores: _check_scored(truth, np.asarray(scores)),
    "joint": lambda truth, joint: (check_indicators(truth, "Y_true"), joint),
}


@dataclass(frozen=True)
class Metric:
    """A metric: ``metric(Y_true, predicted)`` evaluates predictions of the kind that it `takes`.

    The kinds are predicted labels, scores (probabilities or any others), probabilities, and the
    joint distribution of the rows. `decision` has the best expected value; None means that no
    decision has. A call may pass further options of the function.
    """

    name: str
    title: str
    function: Callable[..., Any]
    takes: Literal["labels", "scores", "probabilities", "joint"]
    higher_is_better: bool
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    decision: str | Decision | None = None

    def __call__(self, Y_true: ArrayLike, predicted: Any, **options: Any) -> float:
        """Evaluate predictions against the true labels."""
        checked = _CHECKS[self.takes](Y_true, predicted)
        return float(self.function(*checked, **{**self.options, **options}))

    @property
    def __name__(self) -> str:
        """The name that scikit-learn's scorers show."""
        return self.name

    @property
    def needs_joint(self) -> bool:
        """Whether it evaluates the joint distribution."""
        return self.takes == "joint"

    @property
    def needs_scores(self) -> bool:
        """Whether it evaluates probabilities or other scores."""
        return self.takes in ("scores", "probabilities")


# Scores that rank the rows for each label.


def _auc_by_label(truth: Indicators, scores: Floats) -> Floats:
    """Return the area under the ROC curve of each label; nan if all or none of its rows have it."""
    positive = truth.sum(axis=0)
    negative = len(truth) - positive
    # The Mann-Whitney rank-sum statistic.
    ranks = np.where(truth == 1, stats.rankdata(scores, axis=0), 0.0).sum(axis=0)
    pairs = positive * negative
    won = ranks - positive * (positive + 1) / 2
    return np.asarray(np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def _average_precision_by_label(truth: Indicators, scores: Floats) -> Floats:
    """Return the average precision of each label; 0 if no row has it, as in scikit-learn."""
    columns = zip(truth.T, scores.T, strict=True)
    return np.array([average_precision_score(y, s) if y.any() else 0.0 for y, s in columns])


def _averaged(
    truth: Indicators,
    scores: Floats,
    *,
    by_label: Callable[[Indicators, Floats], Floats],
    average: Literal["macro", "micro"],
) -> float:
    """Return the mean over the labels that have a value, or the value of all labels pooled."""
    if average == "micro":
        truth, scores = truth.reshape(-1, 1), scores.reshape(-1, 1)
    values = by_label(truth, scores)
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


# Scores that rank the labels of each row.


def _of_rows(
    truth: Indicators, scores: Floats, *, of: Callable[[Indicators, Floats], float]
) -> float:
    """Return a measure of scikit-learn; a single label gets a second one, false and ranked last."""
    if truth.shape[1] == 1:
        truth = np.column_stack([truth, np.zeros_like(truth)])
        scores = np.column_stack([scores, np.full(len(scores), scores.min() - 1.0)])
    return of(truth, scores)


def _average_precision_of_rows(truth: Indicators, scores: Floats) -> float:
    """Return the precision at each relevant label in the ranking of a row, averaged twice.

    A row without relevant or without irrelevant labels counts as 1. scikit-learn's
    ``label_ranking_average_precision_score`` differs in rounding only and is up to 40 times slower.
    """
    overall = stats.rankdata(-scores, method="max", axis=1).astype(np.float64)
    # With irrelevant labels last, relevant labels keep the ranks they have among themselves.
    behind = np.where(truth == 1, -scores, np.inf)
    relevant = stats.rankdata(behind, method="max", axis=1).astype(np.float64)
    size = truth.sum(axis=1)
    total = np.where(truth == 1, relevant / overall, 0.0).sum(axis=1)
    trivial = (size == 0) | (size == truth.shape[1])
    return float(np.where(trivial, 1.0, total / np.maximum(size, 1)).mean())


def _precision_of_rows(truth: Indicators, scores: Floats, k: int) -> Floats:
    """Return the share of relevant labels among the k with the highest scores, (n,)."""
    k = min(k, truth.shape[1])
    cut = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
    above, tied = scores > cut, scores == cut
    share = (k - above.sum(axis=1)) / tied.sum(axis=1)
    hits = (truth * above).sum(axis=1) + share * (truth * tied).sum(axis=1)
    return np.asarray(hits / k)


def _precision_at_k(truth: Indicators, scores: Floats, *, k: int) -> float:
    return float(_precision_of_rows(truth, scores, k).mean())


def _one_error(truth: Indicators, scores: Floats) -> float:
    """Return the share of rows with labels whose top-scoring label is irrelevant."""
    labelled = truth.any(axis=1)
    if not labelled.any():
        return 0.0
    return 1.0 - float(_precision_of_rows(truth[labelled], scores[labelled], 1).mean())


# Probabilities: likelihood and calibration.


def _are_probabilities(values: Floats) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)


def _log_loss(
    truth: Indicators, probabilities: Floats, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return −log P(y_nj | x_n), averaged and clipped as in scikit-learn; nan for other scores."""
    if not _are_probabilities(probabilities):
        return float("nan")
    smallest = np.finfo(np.float64).eps
    right = np.where(truth == 1, probabilities, 1.0 - probabilities)
    right = np.clip(right, smallest, 1.0 - smallest)
    weight = _check_weight(sample_weight, len(truth))
    return float(np.average(-np.log(right).mean(axis=1), weights=weight))


def _check_weight(sample_weight: ArrayLike | None, n_rows: int) -> Floats | None:
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have one number for each of the {n_rows} rows; its shape is "
            f"{weight.shape}"
        )
    if not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise ValueError("sample_weight must not be negative, nor zero for every row")
    return weight


def _cll_loss(
    truth: Indicators, joint: JointDistribution, *, sum: bool = False, path: bool = False
) -> float:
    """Return the conditional log-likelihood loss, −log P(y_n | x_n), per row or in sum.

    With `path` it is the loss of the product of conditionals along a chain's greedy path. Papers
    report it for classifier chains (CC), which do not use P(y|x) itself. Distributions without a
    greedy path have the same loss either way.
    """
    if path and isinstance(joint, JointDistribution):
        joint = greedy_path(joint)
    values = np.asarray(joint.log_prob(truth), dtype=np.float64)
    if values.shape != (len(truth),):
        raise ValueError(
            f"joint.log_prob(Y_true) must return one number per row, got shape {values.shape} "
            f"for {len(truth)} row(s); was the joint predicted from the same rows?"
        )
    # 0.0 − x makes the loss of a perfect joint 0 and not −0.
    return 0.0 - float(values.sum() if sum else values.mean())


def _calibration_error(truth: Indicators, probabilities: Floats) -> float:
    """Return the expected calibration error of marginals, all labels pooled, over ten bins."""
    if not _are_probabilities(probabilities):
        return float("nan")
    return reliability_curve(probabilities, truth).error


def vector_reliability(
    truth: Indicators | Labels, joint: JointDistribution, **bins: Any
) -> ReliabilityCurve:
    """Compare the probabilities of the most probable vectors with how often they are correct."""
    mode = joint.mode()
    if mode.labels.shape != truth.shape:
        raise ValueError(
            f"Y_true must have the shape of the joint's labels, {mode.labels.shape}; its shape is "
            f"{truth.shape}. Was the joint predicted from the same rows?"
        )
    confidence = np.minimum(np.exp(mode.log_prob), 1.0)
    return reliability_curve(confidence, (mode.labels == truth).all(axis=1), **bins)


def _joint_calibration_error(truth: Indicators, joint: JointDistribution) -> float:
    return vector_reliability(truth, joint).error if hasattr(joint, "mode") else float("nan")


# The table.


def _of_labels(
    name: str,
    title: str,
    function: Callable[..., Any],
    average: str,
    zero_division: float,
    decision: str | Decision | None = None,
) -> Metric:
    options = {"average": average, "zero_division": zero_division}
    return Metric(name, title, function, "labels", True, options, decision)


_LIST = (
    Metric("exact_match", "exact match", accuracy_score, "labels", True, decision="subset"),
    Metric("hamming_loss", "Hamming loss", hamming_loss, "labels", False, decision="hamming"),
    Metric("cll_loss", "CLL-loss / row", _cll_loss, "joint", False),
    Metric("cll_loss_sum", "CLL-loss", _cll_loss, "joint", False, {"sum": True}),
    Metric("cll_loss_path", "CLL-loss / row (path)", _cll_loss, "joint", False, {"path": True}),
    _of_labels("f1_micro", "micro F1", f1_score, "micro", 1.0, ExpectedF(average="micro")),
    _of_labels("f1_macro", "macro F1 (0/0 = 0)", f1_score, "macro", 0.0, ExpectedF()),
    _of_labels(
        "f1_macro_zero_division_1", "macro F1 (0/0 = 1)", f1_score, "macro", 1.0, ExpectedF()
    ),
    _of_labels("f1_example", "example F1 (0/0 = 1)", f1_score, "samples", 1.0, "f1"),
    _of_labels("jaccard", "Jaccard (0/0 = 1)", jaccard_score, "samples", 1.0, "jaccard"),
    _of_labels("precision_micro", "micro precision", precision_score, "micro", 0.0),
    _of_labels("recall_micro", "micro recall", recall_score, "micro", 0.0),
    _of_labels("precision_macro", "macro precision (0/0 = 0)", precision_score, "macro", 0.0),
    _of_labels("recall_macro", "macro recall (0/0 = 0)", recall_score, "macro", 0.0),
    Metric("calibration_error", "calibration error", _calibration_error, "probabilities", False),
    Metric(
        "joint_calibration_error",
        "joint calibration error",
        _joint_calibration_error,
        "joint",
        False,
    ),
    Metric("log_loss", "log-loss of marginals", _log_loss, "probabilities", False),
    *(
        Metric(f"{name}_{average}", f"{average} {title}", _averaged, "scores", True, options)
        for name, title, by_label in (
            ("auc", "AUC", _auc_by_label),
            ("average_precision", "average precision", _average_precision_by_label),
        )
        for average in ("macro", "micro")
        for options in [{"by_label": by_label, "average": average}]
    ),
    Metric(
        "average_precision_ranking",
        "ranking average precision",
        _average_precision_of_rows,
        "scores",
        True,
    ),
    Metric("ranking_loss", "ranking loss", _of_rows, "scores", False, {"of": label_ranking_loss}),
    Metric("coverage_error", "coverage error", _of_rows, "scores", False, {"of": coverage_error}),
    Metric("one_error", "one-error", _one_error, "scores", False),
    *(
        Metric(f"precision_at_{k}", f"precision at {k}", _precision_at_k, "scores", True, {"k": k})
        for k in (1, 3, 5)
    ),
)

#: All metrics by name.
#:
#: ``METRICS["f1_macro"](Y_true, Y_pred)`` is a number, and
#: ``make_scorer(METRICS["f1_macro"])`` is a scorer of scikit-learn.
METRICS: dict[str, Metric] = {metric.name: metric for metric in _LIST}

#: The metrics shown by default.
DEFAULT_METRICS = (
    "exact_match",
    "hamming_loss",
    "cll_loss",
    "f1_micro",
    "f1_macro",
    "f1_example",
    "jaccard",
)


def resolve_metrics(names: Iterable[str]) -> dict[str, Metric]:
    """Return metrics by name; hyphens and upper case are accepted."""
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
    return found


# Labels one by one.


def scores_by_label(
    Y_true: ArrayLike,
    Y_pred: ArrayLike,
    scores: ArrayLike | None = None,
    *,
    label_names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return a table of the support, predicted rows, precision, recall and F1 of each label.

    0/0 counts as 0. With `scores`, the table has the AUC (nan if undefined) and average precision.
    """
    import pandas as pd

    truth, prediction = _check_pair(Y_true, Y_pred)
    # One label at a time: scikit-learn treats a single column as a problem with two classes.
    figures = [
        precision_recall_fscore_support(y, p, average="binary", zero_division=0.0)[:3]
        for y, p in zip(truth.T, prediction.T, strict=True)
    ]
    index = list(label_names) if label_names is not None else range(truth.shape[1])
    table = pd.DataFrame(figures, columns=["precision", "recall", "f1"], index=index)
    table.insert(0, "support", truth.sum(axis=0))
    table.insert(1, "predicted", prediction.sum(axis=0))
    if scores is not None:
        values = np.asarray(scores, dtype=np.float64)
        table["auc"] = _auc_by_label(truth, values)
        table["average_precision"] = _average_precision_by_label(truth, values)
    return table


def f1_by_threshold(scores: ArrayLike, Y_true: ArrayLike, grid: ArrayLike) -> Floats:
    """Return the F1 of each label at each threshold of the grid, (L, G); 0/0 counts as 1."""
    truth = check_indicators(Y_true, "Y_true")
    # The true labelling takes the place of the sampled ones.
    counts = F1Statistics(truth.shape[1], samples=1, grid=np.asarray(grid, dtype=np.float64))
    counts.update(scores, truth[None])
    return counts.expected_f1()


# Reliability.


@dataclass(frozen=True)
class ReliabilityCurve:
    """Predicted and observed rates, bin by bin; bins without predictions are left out.

    `p`, increasing, is the mean prediction of each bin, `rate` the share of its events that came
    true, and `n` the number of its predictions. The interval from `low` to `high` covers the rate
    that the bin would have with unlimited predictions.
    """

    p: Floats
    rate: Floats
    n: Counts
    low: Floats
    high: Floats

    def __len__(self) -> int:
        return len(self.n)

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance between p and rate, weighted by n."""
        return float(self.n @ np.abs(self.p - self.rate) / self.n.sum())


def reliability_curve(
    scores: ArrayLike,
    truth: ArrayLike,
    n_bins: int = 10,
    *,
    strategy: str = "uniform",
    level: float = 0.95,
) -> ReliabilityCurve:
    """Compare the probabilities of events with how often the events came true.

    For marginals, pass one column for the reliability of a label, or whole matrices to pool all
    labels. For a joint distribution, pass the probabilities of the predicted label vectors,
    ``np.exp(joint.log_prob(predicted))``, and whether all labels of the row were correct. The
    result has arrays `p`, `rate`, `n`, `low` and `high` with an entry for each bin that is not
    empty, and the expected calibration `error`.

    Parameters
    ----------
    scores : array-like of any shape
        Probabilities.
    truth : array-like of the same shape
        1 if the event came true, else 0.
    n_bins : int, default=10
        Number of bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Whether bins have the same width or, as far as ties allow, the same number of predictions.
        The latter helps with rare labels, whose probabilities mostly fall into the lowest bin.
    level : float, default=0.95
        Confidence level of the Wilson intervals, which assume independent predictions. As the
        labels of one row depend on each other, intervals of pooled labels are slightly too narrow.

    Examples
    --------
    >>> curve = reliability_curve([0.1, 0.3, 0.8, 0.9], [0, 1, 1, 1], n_bins=2)
    >>> curve.p, curve.rate, curve.n
    (array([0.2 , 0.85]), array([0.5, 1. ]), array([2, 2]))
    >>> round(curve.error, 3)
    0.225
    """
    probability, outcome = _check_outcomes(scores, truth)
    n_bins = check_whole_number(n_bins, "n_bins")
    check_choice(strategy, "strategy", ("uniform", "quantile"))
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = np.quantile(probability, edges)
    # As in scikit-learn's calibration_curve, a bin includes its left edge, the last bin both.
    place = np.searchsorted(edges[1:-1], probability, side="right")
    n = np.bincount(place, minlength=n_bins)
    filled = n > 0
    count = n[filled].astype(np.int64)
    right = np.bincount(place, weights=outcome, minlength=n_bins)[filled]
    low, high = wilson_interval(right, count, level)
    total = np.bincount(place, weights=probability, minlength=n_bins)[filled]
    return ReliabilityCurve(total / count, right / count, count, low, high)


def wilson_interval(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return Wilson's interval (within [0, 1], valid for few trials) of shares; nan for none."""
    check_number(level, "level", above=0, below=1)
    found, n = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    z = float(stats.norm.isf((1.0 - level) / 2.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (found + z**2 / 2.0) / (n + z**2)
        half = z * np.sqrt(found * (n - found) / n + z**2 / 4.0) / (n + z**2)
    # The ends are set exactly, since centre and half are equal there only up to rounding.
    low = np.where(found == 0, 0.0, centre - half)
    high = np.where(found == n, 1.0, centre + half)
    return np.where(n == 0, np.nan, low), np.where(n == 0, np.nan, high)


def _check_outcomes(scores: ArrayLike, truth: ArrayLike) -> tuple[Floats, Indicators]:
    """Return probabilities and outcomes as flat arrays of the same length."""
    probability, outcome = np.asarray(scores, dtype=np.float64), np.asarray(truth)
    if probability.shape != outcome.shape:
        raise ValueError(
            f"scores and truth must have the same shape, got {probability.shape} and "
            f"{outcome.shape}"
        )
    if probability.size == 0:
        raise ValueError(f"scores are empty (shape {probability.shape}); pass at least one")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("scores must be probabilities, from 0 to 1")
    if not np.isin(outcome, (0, 1)).all():
        raise ValueError("truth must contain only 0 and 1")
    return probability.ravel(), outcome.ravel().astype(np.int64)
