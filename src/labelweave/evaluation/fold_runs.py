"""Run methods on folds: each one on some worker, with its errors and warnings."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.utils import _safe_indexing

from labelweave._common.arrays import Indices
from labelweave._common.engine import MACHINE_ERRORS, Call, Engine, Lost, process_to_itself
from labelweave.evaluation.comparison import FoldResult
from labelweave.evaluation.metrics import Metric
from labelweave.evaluation.predictions import predict_joint, predict_labels, predict_scores
from labelweave.evaluation.validation import check_labels

__all__ = ["FoldTask", "run_folds", "score_model"]


@dataclass(frozen=True)
class FoldTask:
    """One method on the training and test rows of one fold."""

    method: str
    fold: int
    estimator: Any
    rows: tuple[Indices, Indices]


def run_folds(
    tasks: Sequence[FoldTask], X: Any, Y: Any, metrics: tuple[Metric, ...], engine: Engine
) -> Iterator[tuple[int, FoldResult]]:
    """Yield the position and the result of each task as it is finished."""
    if not tasks:
        return
    data = engine.share(X), engine.share(Y)
    rows = {task.fold: engine.share(task.rows) for task in tasks}
    calls = [
        Call(
            f"{task.method}, fold {task.fold + 1}",
            _run,
            (task.method, task.fold, task.estimator, rows[task.fold], *data, metrics),
        )
        for task in tasks
    ]
    for number, result in engine.run(calls):
        if isinstance(result, Lost):
            task, where = tasks[number], result.traceback or None
            result = FoldResult(task.method, task.fold, error=result.reason, traceback=where)
        yield number, result


# Addressed to developers, not to someone who compares methods.
_DEVELOPER_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


def _run(
    method: str,
    fold: int,
    estimator: Any,
    rows: tuple[Indices, Indices],
    X: Any,
    Y: Any,
    metrics: tuple[Metric, ...],
) -> FoldResult:
    """Run a method on a fold; its errors and warnings become part of the result."""
    outcome: dict[str, Any]
    with process_to_itself(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _fit_and_score(estimator, rows, X, Y, metrics)
        except MACHINE_ERRORS:
            raise  # another worker may succeed
        except Exception as error:
            outcome = {"error": _one_line(error), "traceback": traceback.format_exc()}
    messages = dict.fromkeys(
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, _DEVELOPER_WARNINGS)
    )
    return FoldResult(method, fold, warnings=tuple(messages), **outcome)


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _fit_and_score(
    estimator: Any, rows: tuple[Indices, Indices], X: Any, Y: Any, metrics: tuple[Metric, ...]
) -> dict[str, Any]:
    train, test = rows
    X_train, Y_train = _safe_indexing(X, train), _safe_indexing(Y, train)
    X_test, Y_test = _safe_indexing(X, test), _safe_indexing(Y, test)
    start = time.perf_counter()
    model = clone(estimator).fit(X_train, Y_train)
    fitted = time.perf_counter()
    scores, predict_seconds = score_model(model, X_test, Y_test, metrics)
    return {
        "scores": scores,
        "fit_seconds": fitted - start,
        "predict_seconds": predict_seconds,
    }


def score_model(
    model: Any, X: Any, Y: Any, metrics: Iterable[Metric]
) -> tuple[dict[str, float], float]:
    """Score a fitted model on test data.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier, or a pipeline that ends in one.
    X, Y : array-like
        Test data.
    metrics : iterable of Metric
        The metrics to compute; those that need a joint distribution or scores are omitted if the
        model has none.

    Returns
    -------
    dict, float
        The scores by metric, and the seconds that ``predict`` took.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import numpy as np
    >>> from labelweave.evaluation import resolve_metrics
    >>> X, Y = np.eye(4), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    >>> scores, seconds = score_model(tree, X, Y, resolve_metrics(["exact_match", "cll_loss"]))
    >>> scores
    {'exact_match': 1.0}
    """
    truth = check_labels(Y, "Y")
    start = time.perf_counter()
    prediction = predict_labels(model, X)
    seconds = time.perf_counter() - start
    wanted = list(metrics)
    joint = predict_joint(model, X) if any(metric.needs_joint for metric in wanted) else None
    scores = predict_scores(model, X) if any(metric.needs_scores for metric in wanted) else None
    inputs = {
        metric: joint if metric.needs_joint else scores if metric.needs_scores else prediction
        for metric in wanted
    }
    results = {m.name: m(truth, values) for m, values in inputs.items() if values is not None}
    return results, seconds
