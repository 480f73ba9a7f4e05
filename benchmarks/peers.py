"""scikit-learn's logistic regressions, one fit per label, on one core or on two."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy import Problem
from labelweave._common.arrays import Floats

Solution = tuple[Floats, Floats]  # coef (L, D), intercept (L,)


class TooSlowError(Exception):
    """A fit was given up because it took longer than it may."""


@dataclass(frozen=True)
class Setting:
    """How one solver is run: its tolerance and further options."""

    solver: str
    tol: float
    options: dict[str, Any] = field(default_factory=dict)

    def describe(self) -> str:
        """Return the settings that decide about accuracy, as in a call."""
        return ", ".join([f"tol={self.tol:.0e}", *(f"{k}={v:g}" for k, v in self.options.items())])


def fit_labels(
    X: Any, T: Any, C: float, setting: Setting, deadline: float = float("inf")
) -> list[Any]:
    """Fit one model per column of T; give up when the process has used ``deadline`` seconds."""
    models = []
    with warnings.catch_warnings():
        # A run that stops at max_iter is caught by its measured excess.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for target in T.T:
            model = LogisticRegression(
                C=C, solver=setting.solver, tol=setting.tol, max_iter=10_000, **setting.options
            )
            models.append(model.fit(X, target))
            if time.process_time() > deadline:
                raise TooSlowError
    return models


def stack(models: list[Any]) -> Solution:
    """Return the coefficients of fitted models as one matrix, and their intercepts."""
    coef = np.concatenate([model.coef_ for model in models])
    return coef, np.concatenate([model.intercept_ for model in models])


def on_one_core(problem: Problem, setting: Setting, limit: float = float("inf")) -> Solution:
    """Fit all labels one after the other, in at most about ``limit`` seconds of work."""
    deadline = time.process_time() + limit
    return stack(fit_labels(problem.X, problem.T, problem.C, setting, deadline))


class TwoCores:
    """Two worker processes that fit every other label each; a context manager.

    Before a timed run they are started, have scikit-learn imported and the features mapped into
    their memory: only fitting is measured. Threads instead of processes are at best as fast (for
    liblinear) and label by label is slower than two halves, so this is scikit-learn's best.
    """

    def __enter__(self) -> TwoCores:
        """Start the workers."""
        with parallel_config(backend="loky", inner_max_num_threads=1):
            self._pool = Parallel(n_jobs=2)
        self._pool.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop the workers."""
        self._pool.__exit__(*error)

    def runner(self, problem: Problem, setting: Setting) -> Callable[[], Solution]:
        """Return a call that fits all labels, after a first quick fit of some."""
        halves = [problem.T[:, first::2] for first in range(2)]
        self._fit(problem, [half[:, :1] for half in 2 * halves], replace(setting, tol=1.0))

        def run() -> Solution:
            models: list[Any] = [None] * problem.T.shape[1]
            models[0::2], models[1::2] = self._fit(problem, halves, setting)
            return stack(models)

        return run

    def _fit(self, problem: Problem, parts: list[Any], setting: Setting) -> list[list[Any]]:
        return self._pool(delayed(fit_labels)(problem.X, T, problem.C, setting) for T in parts)
