"""Run methods on folds: each one on some worker, with its errors and warnings."""

from __future__ import annotations

import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.base import clone
from sklearn.utils import _safe_indexing

from labelweave._common.arrays import Indices
from labelweave._common.engine import MACHINE_ERRORS, Call, Engine, Lost, process_to_itself
from labelweave.evaluation.comparison.results import FoldResult
from labelweave.evaluation.comparison.shared_fits import fit_key, predicting_as
from labelweave.evaluation.predictions import score_model
from labelweave.metrics import Metric

__all__ = ["FoldTask", "run_folds"]


@dataclass(frozen=True)
class FoldTask:
    """One method on the training and test rows of one fold, and what it is judged by there."""

    method: str
    fold: int
    estimator: Any
    rows: tuple[Indices, Indices]
    metrics: tuple[Metric, ...]


def run_folds(
    tasks: Sequence[FoldTask], X: Any, Y: Any, engine: Engine
) -> Iterator[tuple[int, FoldResult]]:
    """Yield the position and the result of each task as it is finished.

    Tasks that share a fit are run together; their times of fitting are those of the common fit.
    """
    if not tasks:
        return
    data = engine.share(X), engine.share(Y)
    rows = {task.fold: engine.share(task.rows) for task in tasks}
    groups: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, task in enumerate(tasks):
        groups[task.fold, fit_key(task.estimator) or str(number)].append(number)
    members = list(groups.values())
    calls = []
    for numbers in members:
        first = tasks[numbers[0]]
        methods = [
            (tasks[number].method, tasks[number].estimator, tasks[number].metrics)
            for number in numbers
        ]
        arguments = (methods, first.fold, rows[first.fold], *data)
        calls.append(Call(f"{first.method}, fold {first.fold + 1}", _run, arguments))
    for place, found in engine.run(calls):
        if isinstance(found, Lost):
            found = [_lost(tasks[number], found) for number in members[place]]
        yield from zip(members[place], found, strict=True)


def _lost(task: FoldTask, lost: Lost) -> FoldResult:
    where = lost.traceback or None
    return FoldResult(task.method, task.fold, error=lost.reason, traceback=where)


# Addressed to developers, not to someone who compares methods.
_DEVELOPER_WARNINGS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    ImportWarning,
    ResourceWarning,
)


def _run(
    methods: Sequence[tuple[str, Any, tuple[Metric, ...]]],
    fold: int,
    rows: tuple[Indices, Indices],
    X: Any,
    Y: Any,
) -> list[FoldResult]:
    """Run methods that share a fit on a fold, each judged by its metrics."""
    (train, test), results = rows, []
    training = _safe_indexing(X, train), _safe_indexing(Y, train)
    testing = _safe_indexing(X, test), _safe_indexing(Y, test)
    fit: _Fit | None = None
    for method, estimator, metrics in methods:
        with process_to_itself():
            result, fit = _attempt(
                FoldResult(method, fold), estimator, fit, training, testing, metrics
            )
        results.append(result)
    return results


@dataclass(frozen=True)
class _Fit:
    """A fitted model, how long that took and what it warned of."""

    model: Any
    seconds: float
    warnings: tuple[str, ...]


def _attempt(
    blank: FoldResult,
    estimator: Any,
    fit: _Fit | None,
    training: tuple[Any, Any],
    testing: tuple[Any, Any],
    metrics: tuple[Metric, ...],
) -> tuple[FoldResult, _Fit | None]:
    """Score an estimator, by the given fit if there is one; return its fit for the next one.

    Errors and warnings become part of the result.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if fit is None:
                fit = _fitted(estimator, training, caught)
            scores, seconds = score_model(predicting_as(fit.model, estimator), *testing, metrics)
        except MACHINE_ERRORS:
            raise  # another worker may succeed
        except Exception as error:
            trace = traceback.format_exc()
            failed = replace(blank, error=_one_line(error), traceback=trace)
            return replace(failed, warnings=_messages(caught)), fit
    told = tuple(dict.fromkeys((*fit.warnings, *_messages(caught))))
    found = replace(blank, scores=scores, fit_seconds=fit.seconds, predict_seconds=seconds)
    return replace(found, warnings=told), fit


def _fitted(
    estimator: Any, training: tuple[Any, Any], caught: list[warnings.WarningMessage]
) -> _Fit:
    start = time.perf_counter()
    model = clone(estimator).fit(*training)
    return _Fit(model, time.perf_counter() - start, _messages(caught))


def _messages(caught: Iterable[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return distinct warnings that concern someone who compares methods."""
    messages = (
        f"{entry.category.__name__}: {entry.message}"
        for entry in caught
        if not issubclass(entry.category, _DEVELOPER_WARNINGS)
    )
    return tuple(dict.fromkeys(messages))


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
