"""Compare methods by cross-validation on the same folds, in parallel."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_consistent_length

from labelweave._common.arrays import Indices
from labelweave._common.checks import check_choice
from labelweave._common.engine import Engine, JoblibEngine
from labelweave.evaluation.comparison.fold_runs import FoldTask, run_folds
from labelweave.evaluation.comparison.kept_folds import FoldKeys, keeping
from labelweave.evaluation.comparison.matching import merged, variants_of
from labelweave.evaluation.comparison.results import Comparison, DataSummary, FoldResult
from labelweave.evaluation.comparison.splits import make_splitter
from labelweave.evaluation.methods.classifier_checks import check_classifier
from labelweave.evaluation.methods.preprocessing import Scale, with_preprocessing
from labelweave.metrics import DEFAULT_METRICS, check_labels, resolve_metrics
from labelweave.versions import environment, library_versions

__all__ = ["compare"]


def compare(
    methods: Mapping[str, Any],
    X: Any,
    Y: Any,
    *,
    folds: int | BaseCrossValidator = 10,
    metrics: Iterable[str] = DEFAULT_METRICS,
    decisions: str = "own",
    scale: Scale = "auto",
    n_jobs: int | None = None,
    engine: Engine | None = None,
    results: str | os.PathLike[str] | None = None,
    progress: Callable[[FoldResult], None] | None = None,
    name: str = "",
) -> Comparison:
    """Cross-validate several methods on the same folds.

    Each run of a method on a fold uses one thread for linear algebra, so that times are comparable
    and workers do not compete for cores. Methods that differ in `inference` or `decision` only are
    fitted once per fold, and all have the time of that fit. If a method fails on a fold, the error
    is recorded in that fold's result and reported by a ``FitFailedWarning``; the other runs
    continue.

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
    decisions : {"own", "matching"}, default="own"
        Whether each method predicts once, by its own decision, or from the same fit once for each
        metric by the decision with the best expected value: the best labels for exact match are not
        the best for F1. These are the most probable vector for exact match, likely labels for
        Hamming loss, and labels of the highest expected F1 or Jaccard index for these; micro and
        macro F1 take all rows of the test fold into account (`ExpectedF`). Methods that were given
        a decision or an approximate search keep it, as do those without probabilities.
    scale : {"auto", True, False}, default="auto"
        Whether to standardise the features on each training fold; see :func:`with_preprocessing`,
        which also converts categories and missing values to numbers.
    n_jobs : int, optional
        Number of worker processes; -1 for all cores.
    engine : Engine, optional
        Where to run instead of `n_jobs` processes, such as the workers of a cluster
        (:mod:`labelweave.distributed`). The scores are the same.
    results : path, optional
        A file of JSON lines in which each result is kept as it comes. A comparison that was stopped
        continues where it was, and runs that failed are repeated. Results of other estimators,
        folds, metrics, data or versions of labelweave stay in the file and are not used; the code
        of classes of your own is not looked at.
    progress : callable, optional
        Called in this process with each :class:`FoldResult` as it completes; with those of an
        earlier run at once.
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
    measures = tuple(resolve_metrics(metrics).values())
    check_consistent_length(X, Y)
    truth = check_labels(Y, "Y")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    splitter = make_splitter(n_splits=folds) if isinstance(folds, int) else folds
    parts = list(splitter.split(X, truth))
    _check_parts(parts)
    matching = check_choice(decisions, "decisions", ("own", "matching")) == "matching"
    variants = {
        method: variants_of(estimator, measures) if matching else [(estimator, measures)]
        for method, estimator in methods.items()
    }
    tasks = [
        FoldTask(method, number, with_preprocessing(variant, X, scale), rows, judged_by)
        for number, rows in enumerate(parts)
        for method in methods
        for variant, judged_by in variants[method]
    ]
    runs: dict[tuple[str, int], FoldResult] = {}
    engine = JoblibEngine(n_jobs) if engine is None else engine
    file = None if results is None else Path(results)
    collected: dict[tuple[str, int], dict[int, FoldResult]] = defaultdict(dict)
    for number, run in _run_missing(tasks, X, Y, engine, file):
        found = collected[run.method, run.fold]
        found[number] = run
        if len(found) == len(variants[run.method]):
            runs[run.method, run.fold] = merged([found[k] for k in sorted(found)], measures)
            if progress is not None:
                progress(runs[run.method, run.fold])
    comparison = Comparison(
        data=DataSummary(name, len(truth), np.shape(X)[1], truth.shape[1]),
        splitter=repr(splitter),
        fold_sizes=tuple((len(train), len(test)) for train, test in parts),
        scale=str(scale),
        metrics=tuple(metric.name for metric in measures),
        methods={method: " ".join(repr(model).split()) for method, model in methods.items()},
        results=tuple(runs[method, fold] for method in methods for fold in range(len(parts))),
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


def _run_missing(
    tasks: Sequence[FoldTask],
    X: Any,
    Y: Any,
    engine: Engine,
    file: Path | None,
) -> Iterator[tuple[int, FoldResult]]:
    """Yield the results that are kept in a file, then the others, each with its task's number."""
    with keeping(file) as (found, keep):
        keys = [""] * len(tasks)
        if file is not None:
            key = FoldKeys(X, Y)
            keys = [
                key(task.estimator, task.rows, [metric.name for metric in task.metrics])
                for task in tasks
            ]
        missing = []
        for number, task in enumerate(tasks):
            if keys[number] in found:
                yield number, replace(found[keys[number]], method=task.method, fold=task.fold)
            else:
                missing.append(number)
        for place, run in run_folds([tasks[number] for number in missing], X, Y, engine):
            keep(keys[missing[place]], run)
            yield missing[place], run
