"""Classifier chains: how fast Gibbs sampling converges, and what enumeration costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from labelweave.inference import BestFirst, Exhaustive, Gibbs
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution
from labelweave.models.methods import make_method, with_preprocessing
from labelweave.models.predictions import predict_joint
from labelweave.reproduce.measurements.folds import split_data
from labelweave.reproduce.task import Task

__all__ = ["convergence", "enumeration"]

_REPEATS = 5
_LONG = 5.0


def convergence(task: Task) -> dict[str, Any]:
    """Trace the mean probability of the best vector found by Gibbs sampling, sweep by sweep.

    Settings: ``n_folds``, ``sweeps``. ``proven`` is the share of rows whose mode is proven, and
    ``mode_probability`` the mean probability of the best vector that a search found.

    Examples
    --------
    >>> task = Task("convergence", "emotions", "cc(C=1,label_penalty=1)", 0, 0,
    ...             {"n_folds": 10, "sweeps": 5})
    >>> trace = convergence(task)["mean_probability"]
    >>> len(trace), trace == sorted(trace)
    (6, True)
    """
    joint = _fitted_joint(task)
    trace = Gibbs(sweeps=task.settings["sweeps"], random_state=task.seed).trace(joint)
    mode = BestFirst()(joint)
    return {
        "mean_probability": np.exp(trace).mean(axis=0).tolist(),
        "mode_probability": float(np.exp(mode.log_prob).mean()),
        "proven": float(mode.optimal.mean()),
    }


def enumeration(task: Task) -> dict[str, Any]:
    """Time the enumeration of all 2^L label vectors on some rows, and Gibbs sampling on all.

    The scores of the features are computed before: they are the same for both.

    Settings: ``n_folds``; ``rows``, how many rows to enumerate; ``max_labels``, beyond which
    enumeration is not tried and ``seconds_per_row`` is missing.

    Examples
    --------
    >>> task = Task("enumeration", "emotions", "cc(C=1,label_penalty=1)", 0, 0,
    ...             {"n_folds": 10, "rows": 5, "max_labels": 20})
    >>> values = enumeration(task)
    >>> values["n_labels"], values["n_rows"], values["seconds_per_row"] > 0
    (6, 60, True)
    """
    joint = _fitted_joint(task)
    values = {
        "n_labels": joint.n_labels,
        "n_rows": len(joint),
        "sampling_seconds_per_row": _seconds(Gibbs(random_state=task.seed), joint) / len(joint),
    }
    if joint.n_labels <= task.settings["max_labels"]:
        some = joint[: task.settings["rows"]]
        enumerate_all = Exhaustive(max_labels=joint.n_labels, prune=False)
        values["seconds_per_row"] = _seconds(enumerate_all, some) / len(some)
    return values


def _seconds(inference: Inference, joint: JointDistribution) -> float:
    """Return the time that inference takes: the shortest of several runs, of one if it is long."""
    times: list[float] = []
    while len(times) < _REPEATS and sum(times) < _LONG:
        start = time.perf_counter()
        inference(joint)
        times.append(time.perf_counter() - start)
    return min(times)


def _fitted_joint(task: Task) -> JointDistribution:
    train, test = split_data(task)
    model = with_preprocessing(make_method(task.method, seed=task.seed), train.X)
    joint = predict_joint(model.fit(train.X, train.Y), test.X)
    assert isinstance(joint, JointDistribution)
    return joint
