"""Compare methods by cross-validation: the same folds for all of them, in parallel."""

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
from labelweave.evaluation.answers import joint_of, labels_of, scores_of
from labelweave.evaluation.checks import as_labels
from labelweave.evaluation.classifiers import check_classifier
from labelweave.evaluation.comparison import Comparison, DataSummary, FoldResult
from labelweave.evaluation.metrics import DEFAULT_METRICS, Metric, resolve_metrics
from labelweave.evaluation.preparation import Scale, with_preparation
from labelweave.evaluation.splits import make_splitter
from labelweave.versions import library_versions

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
    """Fit and measure every method on the same folds.

    Each run of a method on a fold uses one thread for linear algebra, so that times compare and
    workers do not fight for the cores. A method that fails on a fold leaves an error in that
    fold's result, and a ``FitFailedWarning`` names it; the others go on.

    Parameters
    ----------
    methods : mapping of str to estimator
        Multi-label classifiers or pipelines by the name they are shown under. The first is the
        reference of significance tests. They are cloned, never fitted themselves.
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
        Standardise the features on each training fold, where categories and missing values become
        numbers too: see :func:`with_preparation`.
    n_jobs : int, optional
        Worker processes; -1 for all cores.
    progress : callable, optional
        Called in this process with each :class:`FoldResult` as it arrives.
    name : str, default=""
        Name of the data, kept in the result.

    Returns
    -------
    Comparison
        Every figure of every fold.

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
        raise ValueError("methods is empty: name one estimator or more")
    for method, estimator in methods.items():
        check_classifier(estimator, method)
    measures = resolve_metrics(metrics)
    check_consistent_length(X, Y)
    truth = as_labels(Y, "Y")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    splitter = make_splitter(n_splits=folds) if isinstance(folds, int) else folds
    parts = list(splitter.split(X, truth))
    _check_parts(parts)
    tasks = [
        _Task(method, number, with_preparation(estimator, X, scale), train, test)
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
        versions=library_versions(),
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


# Notes to developers, not to the person who compares methods.
_DEVELOPER_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


def _run(task: _Task, X: Any, Y: Any, metrics: tuple[Metric, ...]) -> FoldResult:
    """Run one task; whatever goes wrong or is warned of becomes part of the result."""
    outcome: dict[str, Any]
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = _fit_and_score(task, X, Y, metrics)
        except Exception as error:
            outcome = {"error": _one_line(error), "traceback": traceback.format_exc()}
    told = dict.fromkeys(
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, _DEVELOPER_WARNINGS)
    )
    return FoldResult(task.method, task.fold, warnings=tuple(told), **outcome)


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
    """Measure a fitted model on test data.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier, or a pipeline that ends in one.
    X, Y : array-like
        Test data.
    metrics : iterable of Metric
        Measures; those that need a joint distribution or scores are left out if the model has
        none.

    Returns
    -------
    dict, float
        Figure by name of the measure, and the seconds ``predict`` took.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = np.eye(4), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    >>> scores, seconds = score_model(tree, X, Y, resolve_metrics(["exact_match", "cll_loss"]))
    >>> scores
    {'exact_match': 1.0}
    """
    truth = as_labels(Y, "Y")
    start = time.perf_counter()
    prediction = labels_of(model, X)
    seconds = time.perf_counter() - start
    wanted = list(metrics)
    joint = joint_of(model, X) if any(metric.needs_joint for metric in wanted) else None
    scores = scores_of(model, X) if any(metric.needs_scores for metric in wanted) else None
    measured = {
        metric: joint if metric.needs_joint else scores if metric.needs_scores else prediction
        for metric in wanted
    }
    figures = {m.name: m(truth, answer) for m, answer in measured.items() if answer is not None}
    return figures, seconds
