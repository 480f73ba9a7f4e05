"""Tasks on an engine: grouped by a common fit, and kept in a file as they finish.

`compare` and the reproductions of the papers run on this. Methods that differ only in how they
predict have one `fit_key`, and a `SharedFit` serves them all.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any, Generic, Protocol, TypeVar

import joblib
from sklearn.base import clone

from labelweave._common.engine import Call, Engine, Lost
from labelweave._common.keyed_lines import KeyedLines
from labelweave._common.pipelines import last


class Outcome(Protocol):
    """The result of a task."""

    @property
    def error(self) -> str | None:
        """The reason why the task failed; None if it did not."""


Task = TypeVar("Task")
Result = TypeVar("Result", bound=Outcome)


def content_key(*parts: Any) -> str:
    """Return a digest of everything that a result depends on, written as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Kept(Generic[Result]):
    """The results of earlier runs by key, and a function that adds one to them."""

    found: Mapping[str, Result]
    add: Callable[[str, Result], None]


@contextmanager
def keeping(lines: KeyedLines[Result] | None) -> Iterator[Kept[Result]]:
    """Hold a file of results, if any, for a run; failures in it are ignored, and tried again."""
    if lines is None:
        yield Kept({}, lambda _key, _result: None)
        return
    with lines.writing() as append:
        yield Kept({key: each for key, each in lines.read().items() if not each.error}, append)


def run_tasks(
    tasks: Mapping[str, Task],
    kept: Kept[Result],
    engine: Engine,
    *,
    shared: Callable[[Task], Hashable | None],
    call: Callable[[Sequence[Task]], Call],
    lost: Callable[[Task, Lost], Result],
) -> Iterator[tuple[str, Result]]:
    """Yield the result of each task under its key: kept ones at once, others as they finish.

    Tasks for which `shared` returns the same value, other than None, run in one `call`, whose
    result is a list. If the call is lost, `lost` makes a result for each of its tasks.
    """
    groups: dict[Hashable, list[str]] = defaultdict(list)
    for key, task in tasks.items():
        if key in kept.found:
            yield key, kept.found[key]
        else:
            groups[shared(task) or key].append(key)
    if not groups:
        return
    members = list(groups.values())
    calls = [call([tasks[key] for key in keys]) for keys in members]
    for place, found in engine.run(calls):
        keys = members[place]
        results = [lost(tasks[key], found) for key in keys] if isinstance(found, Lost) else found
        for key, result in zip(keys, results, strict=True):
            kept.add(key, result)
            yield key, result


def fit_key(estimator: Any) -> str | None:
    """Return a digest of everything that a fit depends on; None if it cannot be shared."""
    stripped = clone(estimator)
    classifier = last(stripped)
    try:
        names = _predicting(classifier)
    except ValueError:  # there is no such decision: its own fit will raise the error
        return None
    if not names:
        return None
    classifier.set_params(**dict.fromkeys(names))
    try:
        return str(joblib.hash(stripped))
    except PicklingError:  # a user's own function, for example
        return None


def _predicting(classifier: Any) -> list[str]:
    """Return the parameters of a classifier that its fit does not depend on."""
    names = getattr(classifier, "prediction_parameters", ())
    return [name for name in names if name in classifier.get_params(deep=False)]


class SharedFit:
    """One timed fit, and its last warnings, for all estimators with the same `fit_key`."""

    def __init__(self) -> None:
        self.seconds = math.nan
        self.warnings: list[warnings.WarningMessage] = []
        self._model: Any = None

    def model(self, estimator: Any, X: Any, Y: Any) -> Any:
        """Return the fitted model, set to predict as `estimator` does; the first call fits it."""
        if self._model is None:
            with warnings.catch_warnings(record=True) as self.warnings:
                warnings.simplefilter("always")
                start = time.perf_counter()
                self._model = clone(estimator).fit(X, Y)
                self.seconds = time.perf_counter() - start
        wanted = last(estimator)
        own = {name: getattr(wanted, name) for name in _predicting(wanted)}
        last(self._model).set_params(**own)
        return self._model
