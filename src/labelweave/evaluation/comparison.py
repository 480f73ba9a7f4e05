"""Compare methods by cross-validation on the same folds, in parallel."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import BaseCrossValidator, KFold
from sklearn.utils import _safe_indexing, check_consistent_length

from labelweave._common.arrays import Indices
from labelweave._common.checks import check_choice
from labelweave._common.engine import (
    MACHINE_ERRORS,
    Call,
    Engine,
    JoblibEngine,
    Lost,
    process_to_itself,
)
from labelweave._common.keyed_lines import KeyedLines
from labelweave._common.pipelines import last
from labelweave._common.progress import stage
from labelweave._common.row_keys import data_digest
from labelweave.decision.losses import Decision
from labelweave.evaluation.results import Comparison, DataSummary, FoldResult
from labelweave.evaluation.tasks import SharedFit, content_key, fit_key, keeping, run_tasks
from labelweave.inference import Auto, BestFirst, Exhaustive
from labelweave.metrics import DEFAULT_METRICS, Metric, check_indicators, resolve_metrics
from labelweave.models.methods import Scale, check_classifier, deciding, with_preprocessing
from labelweave.models.predictions import score_model
from labelweave.versions import code_version, environment, library_versions

Rows = tuple[Indices, Indices]  # the training rows and the test rows
# These strategies search for the exact mode, so they imply no choice of a decision.
_EXACT = (Auto, BestFirst, Exhaustive)
# These warnings address developers, not users who compare methods.
_DEVELOPER_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


def compare(
    methods: Mapping[str, Any],
    X: Any,
    Y: Any,
    *,
    cv: int | BaseCrossValidator = 10,
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
    and workers do not compete for cores. Methods that differ only in `inference` or `decision` are
    fitted once per fold, and the time of that fit is reported for each of them. If a method fails
    on a fold, the error is recorded in that fold's result and reported by a ``FitFailedWarning``;
    the other runs continue.

    Parameters
    ----------
    methods : mapping of str to estimator
        Multi-label classifiers or pipelines, by display name. The first is the reference for
        significance tests. They are cloned before fitting.
    X : array, sparse matrix or data frame of shape (n, D)
        Features.
    Y : array or data frame of shape (n, L)
        Labels, 0 or 1.
    cv : int or splitter, default=10
        Number of shuffled folds (``KFold`` with seed 0), or any scikit-learn splitter, such as
        :class:`IterativeStratification`.
    metrics : iterable of str
        Names in :data:`METRICS`.
    decisions : {"own", "matching"}, default="own"
        With "own", each method predicts once, by its own decision. With "matching", it predicts
        once for each metric, from the same fit, by the decision with the best expected value
        (`Metric.decision`); methods that were given a decision or an approximate search, and
        methods without probabilities, keep their own decision.
    scale : {"auto", True, False}, default="auto"
        Whether to standardise the features on each training fold; see :func:`with_preprocessing`,
        which also converts categories and missing values to numbers.
    n_jobs : int, optional
        Number of worker processes; -1 for all cores.
    engine : Engine, optional
        Where to run instead of `n_jobs` processes, such as the workers of a cluster
        (:mod:`labelweave.distributed`). The scores are the same.
    results : path, optional
        A file of JSON lines in which each result is kept as soon as it is available. A comparison
        that was stopped continues from there, and failed runs are repeated. Results of other
        estimators, folds, metrics, data or versions of labelweave stay in the file and are not
        used; changes in the code of your own classes are not noticed.
    progress : callable, optional
        Called in this process with the result of each method on each fold as it completes (an
        entry of ``Comparison.results``), and at once with the results of an earlier run.
    name : str, default=""
        Name of the data set, recorded in the result.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> X, Y = make_multilabel_classification(60, n_classes=3, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=3, metrics=["exact_match"])
    >>> result.scores("prior", "exact_match").shape
    (3,)
    """
    if not methods:
        raise ValueError("methods is empty: pass at least one estimator")
    for method, estimator in methods.items():
        check_classifier(estimator, method)
    measures = tuple(resolve_metrics(metrics).values())
    check_consistent_length(X, Y)
    truth = check_indicators(Y, "Y")
    X = X.tocsr() if hasattr(X, "tocsr") else X
    splitter = KFold(cv, shuffle=True, random_state=0) if isinstance(cv, int) else cv
    parts = list(splitter.split(X, truth))
    _check_parts(parts)
    matching = check_choice(decisions, "decisions", ("own", "matching")) == "matching"
    prepared = [
        (method, with_preprocessing(variant, X, scale), judged_by)
        for method, estimator in methods.items()
        for variant, judged_by in variants_of(estimator, measures, matching=matching)
    ]
    tasks = [FoldTask(fold, *each) for fold in range(len(parts)) for each in prepared]
    runner = JoblibEngine(n_jobs) if engine is None else engine
    file = None if results is None else Path(results)
    runs: dict[tuple[str, int], FoldResult] = {}
    with stage("folds", len(methods) * len(parts)) as advance:
        for run in _merged(tasks, measures, _run_missing(tasks, parts, X, Y, runner, file)):
            runs[run.method, run.fold] = run
            advance()
            if progress is not None:
                progress(run)
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


def _check_parts(parts: Sequence[Rows]) -> None:
    for number, (train, test) in enumerate(parts):
        for rows, name in ((train, "training"), (test, "test")):
            if len(rows) == 0:
                raise ValueError(f"cv: the {name} set of fold {number} has no rows")


@dataclass(frozen=True)
class FoldTask:
    """One method on one fold, preprocessing included, and the metrics that judge it there."""

    fold: int
    method: str
    estimator: Any
    metrics: tuple[Metric, ...]


def variants_of(
    estimator: Any, metrics: tuple[Metric, ...], *, matching: bool = True
) -> list[tuple[Any, tuple[Metric, ...]]]:
    """Return a method with each decision that its metrics require, starting with its own."""
    if not (matching and _can_decide_otherwise(estimator)):
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
    """Whether the user chose neither a decision nor an approximate search."""
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


def _merged(
    tasks: Sequence[FoldTask], metrics: Sequence[Metric], runs: Iterable[tuple[int, FoldResult]]
) -> Iterator[FoldResult]:
    """Yield the scores of all variants of a method on a fold, and the times of the first."""
    waiting: dict[tuple[str, int], dict[int, FoldResult | None]] = defaultdict(dict)
    for number, task in enumerate(tasks):
        waiting[task.method, task.fold][number] = None
    for number, run in runs:
        variants = waiting[run.method, run.fold]
        variants[number] = run
        done = [each for each in variants.values() if each is not None]
        if len(done) == len(variants):
            yield _merged_variants(done, metrics)


def _merged_variants(runs: Sequence[FoldResult], metrics: Sequence[Metric]) -> FoldResult:
    scores = {name: score for run in runs for name, score in run.scores.items()}
    failed = next((run for run in runs if run.error is not None), runs[0])
    return replace(
        runs[0],
        scores={metric.name: scores[metric.name] for metric in metrics if metric.name in scores},
        warnings=tuple(dict.fromkeys(text for run in runs for text in run.warnings)),
        error=failed.error,
        traceback=failed.traceback,
    )


def _run_missing(
    tasks: Sequence[FoldTask],
    parts: Sequence[Rows],
    X: Any,
    Y: Any,
    engine: Engine,
    file: Path | None,
) -> Iterator[tuple[int, FoldResult]]:
    """Yield the results from the file, then the others, each with the number of its task."""
    keys = list(map(str, range(len(tasks)))) if file is None else _keys(tasks, parts, X, Y)
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        numbers[key].append(number)

    @cache
    def data() -> tuple[Any, Any]:
        return engine.share(X), engine.share(Y)

    @cache
    def rows(fold: int) -> Any:
        return engine.share(parts[fold])

    def shared(task: FoldTask) -> tuple[int, str] | None:
        key = fit_key(task.estimator)
        return None if key is None else (task.fold, key)

    def call(group: Sequence[FoldTask]) -> Call:
        first = group[0]
        arguments = (group, rows(first.fold), *data())
        return Call(f"{first.method}, fold {first.fold + 1}", _run_group, arguments)

    lines = None if file is None else KeyedLines(file, asdict, FoldResult.from_dict)
    with keeping(lines) as kept:
        distinct = {key: tasks[same[0]] for key, same in numbers.items()}
        for key, run in run_tasks(distinct, kept, engine, shared=shared, call=call, lost=_failed):
            for number in numbers[key]:
                yield number, replace(run, method=tasks[number].method, fold=tasks[number].fold)


def _keys(tasks: Sequence[FoldTask], parts: Sequence[Rows], X: Any, Y: Any) -> list[str]:
    """Return digests of everything that results depend on, because reprs are not exact."""
    data, code = data_digest(X, Y), code_version()
    rows = [data_digest(*part) for part in parts]

    def key(task: FoldTask) -> str:
        names = [metric.name for metric in task.metrics]
        return content_key(data, code, names, joblib.hash(task.estimator), rows[task.fold])

    return list(map(key, tasks))


def _failed(task: FoldTask, failure: Lost) -> FoldResult:
    where = failure.traceback or None
    return FoldResult(task.method, task.fold, error=failure.reason, traceback=where)


def _run_group(tasks: Sequence[FoldTask], rows: Rows, X: Any, Y: Any) -> list[FoldResult]:
    """Run methods that share a fit on a fold."""
    training, testing = ((_safe_indexing(X, part), _safe_indexing(Y, part)) for part in rows)
    fit = SharedFit()
    with process_to_itself():
        return [_attempt(task, fit, training, testing) for task in tasks]


def _attempt(
    task: FoldTask, fit: SharedFit, training: tuple[Any, Any], testing: tuple[Any, Any]
) -> FoldResult:
    """Score a method; errors and warnings become part of the result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit.model(task.estimator, *training)
            scores, seconds = score_model(model, *testing, task.metrics)
            result = FoldResult(task.method, task.fold, scores, fit.seconds, seconds)
        except MACHINE_ERRORS:
            raise  # another worker may succeed
        except Exception as error:
            result = _failed(task, Lost.by(task.method, error))
    return replace(result, warnings=_messages([*fit.warnings, *caught]))


def _messages(caught: Iterable[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return distinct warnings, without those for developers."""
    messages = (
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, _DEVELOPER_WARNINGS)
    )
    return tuple(dict.fromkeys(messages))
