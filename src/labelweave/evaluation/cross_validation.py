"""Compare methods by cross-validation on the same folds, in parallel."""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import _safe_indexing, check_consistent_length
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Indices
from labelweave.evaluation.classifier_checks import check_classifier
from labelweave.evaluation.comparison import Comparison, DataSummary, FoldResult
from labelweave.evaluation.metrics import DEFAULT_METRICS, Metric, resolve_metrics
from labelweave.evaluation.predictions import predict_joint, predict_labels, predict_scores
from labelweave.evaluation.preprocessing import Scale, with_preprocessing
from labelweave.evaluation.splits import make_splitter
from labelweave.evaluation.validation import check_labels
from labelweave.versions import environment, library_versions

__all__ = ["compare", "score_model"]


def compare(
    methods: Mapping[str, Any],
    X: Any,
    Y: Any,
    *,
    folds: int | BaseCrossValidator = 10,
    metrics: Iterable[str] = DEFAULT_METRICS,
    scale: Scale = "auto",
    n_jobs: int | None = None,
    progress: Callable[[FoldResult], None] | None = None,
    name: str = "",
) -> Comparison:
    """Cross-validate several methods on the same folds.

    Each run of a method on a fold uses one thread for linear algebra, so that times are comparable
    and workers do not compete for cores. If a method fails on a fold, the error is recorded in that
    fold's result and reported by a ``FitFailedWarning``; the other runs continue.

    Parameters
    ----------
    methods : mapping of str to estimator
        Multi-label classifiers or pipelines, by display name. The first is the reference for
        significance tests. They are cloned before fitting.
    X : array, sparse matrix or data frame of shape (n, D)
        Features.
    Y : array or data frame of shape (n, L)
        Labels, 0 or 1.
    folds : int or splitter, default=10
        Number of shuffled folds (``KFold`` with seed 0), or any scikit-learn splitter, such as
        :class:`IterativeStratification`.
    metrics : iterable of str
        Names in :data:`METRICS`.
    scale : {"auto", True, False}, default="auto"
        Whether to standardise the features on each training fold; see :func:`with_preprocessing`,
        which also converts categories and missing values to numbers.
    n_jobs : int, optional
        Number of worker processes; -1 for all cores.
    progress : callable, optional
        Called in this process with each :class:`FoldResult` as it completes.
    name : str, default=""
        Name of the data set, recorded in the result.

    Returns
    -------
    Comparison
        The scores of all methods on all folds.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = make_multilabel_classification(60, n_classes=3, random_state=0)
    >>> methods = {"tree": DecisionTreeClassifier(random_state=0), "prior": DummyClassifier()}
    >>> result = compare(methods, X, Y, folds=3, metrics=["exact_match"])
    >>> result.scores("tree", "exact_match").shape
    (3,)
    """
    if not methods:
        raise ValueError("methods is empty: pass at least one estimator")
    for method, estimator in methods.items():
        check_classifier(estimator, method)
    measures = resolve_metrics(metrics)
    check_consistent_length(X, Y)
    truth = check_labels(Y, "Y")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    splitter = make_splitter(n_splits=folds) if isinstance(folds, int) else folds
    parts = list(splitter.split(X, truth))
    _check_parts(parts)
    tasks = [
        _Task(method, number, with_preprocessing(estimator, X, scale), train, test)
        for number, (train, test) in enumerate(parts)
        for method, estimator in methods.items()
    ]
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run)(task, X, Y, measures) for task in tasks
    )
    results: dict[tuple[str, int], FoldResult] = {}
    for run in runs:
        results[run.method, run.fold] = run
        if progress is not None:
            progress(run)
    comparison = Comparison(
        data=DataSummary(name, len(truth), np.shape(X)[1], truth.shape[1]),
        splitter=repr(splitter),
        fold_sizes=tuple((len(train), len(test)) for train, test in parts),
        scale=str(scale),
        metrics=tuple(metric.name for metric in measures),
        methods={method: " ".join(repr(model).split()) for method, model in methods.items()},
        results=tuple(results[method, fold] for method in methods for fold in range(len(parts))),
        versions=library_versions() | environment(),
    )
    for note in comparison.failure_notes():
        warnings.warn(note, FitFailedWarning, stacklevel=2)
    return comparison


def _check_parts(parts: list[tuple[Indices, Indices]]) -> None:
    for number, (train, test) in enumerate(parts):
        for rows, name in ((train, "training"), (test, "test")):
            if len(rows) == 0:
                raise ValueError(f"folds: the {name} set of fold {number} has no rows")


@dataclass(frozen=True)
class _Task:
    """One method on one fold."""

    method: str
    fold: int
    estimator: Any
    train: Indices
    test: Indices


# Addressed to developers, not to someone who compares methods.
_DEVELOPER_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


def _run(task: _Task, X: Any, Y: Any, metrics: tuple[Metric, ...]) -> FoldResult:
    """Run one task; errors and warnings become part of the result."""
    outcome: dict[str, Any]
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _fit_and_score(task, X, Y, metrics)
        except Exception as error:
            outcome = {"error": _one_line(error), "traceback": traceback.format_exc()}
    messages = dict.fromkeys(
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, _DEVELOPER_WARNINGS)
    )
    return FoldResult(task.method, task.fold, warnings=tuple(messages), **outcome)


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _fit_and_score(task: _Task, X: Any, Y: Any, metrics: tuple[Metric, ...]) -> dict[str, Any]:
    X_train, Y_train = _safe_indexing(X, task.train), _safe_indexing(Y, task.train)
    X_test, Y_test = _safe_indexing(X, task.test), _safe_indexing(Y, task.test)
    start = time.perf_counter()
    model = clone(task.estimator).fit(X_train, Y_train)
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
