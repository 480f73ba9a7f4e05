"""Classifiers that workers import by name, and that something happens to."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from tests.distributed import work


class Prior(ClassifierMixin, BaseEstimator):
    """Predicts nothing."""

    def __init__(self, file: str | None = None) -> None:
        self.file = file

    def fit(self, X: Any, Y: Any) -> Prior:
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return np.zeros((len(X), self.n_labels_), dtype=int)


class KillsItsWorkerOnce(Prior):
    """Kills the first worker that fits it; the file tells the others."""

    def fit(self, X: Any, Y: Any) -> KillsItsWorkerOnce:
        work.kills_its_worker_once(str(self.file), None)
        self.n_labels_ = Y.shape[1]
        return self


class KillsItsWorkers(Prior):
    """Kills every worker that fits it."""

    def fit(self, X: Any, Y: Any) -> KillsItsWorkers:
        work.kills_its_worker()
        return self


class NoMemory(Prior):
    """Has no memory, wherever it is."""

    def fit(self, X: Any, Y: Any) -> NoMemory:
        raise MemoryError("no room")


class FirstDoesNotWait(Prior):
    """Is fitted once; all further fits wait until there is the file with the ending .go."""

    def fit(self, X: Any, Y: Any) -> FirstDoesNotWait:
        first = Path(str(self.file))
        try:
            first.touch(exist_ok=False)
        except FileExistsError:
            while not first.with_suffix(".go").exists():
                time.sleep(0.05)
        self.n_labels_ = Y.shape[1]
        return self
