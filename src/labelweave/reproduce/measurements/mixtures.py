"""Mixtures of trees: what each further tree brings, and how often one tree knows the mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.evaluation.metrics.classification import exact_match
from labelweave.evaluation.metrics.likelihood import cll_loss_row
from labelweave.inference import BestFirst
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.models.methods import make_method
from labelweave.models.predictions import predict_joint
from labelweave.reproduce.measurements.folds import scaled, split_data
from labelweave.reproduce.task import Task

__all__ = ["map_agreement", "tree_counts"]


def tree_counts(task: Task) -> dict[str, Any]:
    """Score mixtures of growing numbers of trees.

    Settings: ``n_folds``; ``counts``; ``scale``, as of a fold; ``C``, a number, or "cv" for the
    penalties that suit a single tree.

    Examples
    --------
    >>> task = Task("tree_counts", "emotions top:3", "mc(preset='published')", 0, 0,
    ...             {"n_folds": 10, "counts": [1, 2], "scale": "minmax", "C": 0.3})
    >>> values = tree_counts(task)
    >>> len(values["exact_match"]), len(values["cll_loss_row"])
    (2, 2)
    """
    train, test = split_data(task)
    scores: dict[str, list[float]] = {"exact_match": [], "cll_loss_row": []}
    for count in task.settings["counts"]:
        mixture = make_method(task.method, seed=task.seed)
        mixture.set_params(n_components=count, C=task.settings["C"])
        model = scaled(mixture, train.X, task.settings["scale"]).fit(train.X, train.Y)
        scores["exact_match"].append(exact_match(test.Y, model.predict(test.X)))
        scores["cll_loss_row"].append(cll_loss_row(test.Y, _joint(model, test.X)))
    return scores


def map_agreement(task: Task) -> dict[str, Any]:
    """Measure how often the best of the trees' modes is the mode of the mixture.

    Settings: ``n_folds``; ``count``, the number of trees; ``scale``. Only rows whose mode is proven
    count.

    Examples
    --------
    >>> task = Task("map_agreement", "emotions top:3", "mc(preset='published')", 0, 0,
    ...             {"n_folds": 10, "count": 2, "scale": "minmax"})
    >>> 0.0 <= map_agreement(task)["agreement"] <= 1.0
    True
    """
    train, test = split_data(task)
    mixture = make_method(task.method, seed=task.seed).set_params(
        n_components=task.settings["count"]
    )
    model = scaled(mixture, train.X, task.settings["scale"]).fit(train.X, train.Y)
    joint = _joint(model, test.X)
    assert isinstance(joint, MixtureJoint)
    mode = BestFirst(budget=10_000)(joint)
    candidates = [joint.log_prob(tree.mode().labels) for tree in joint.components]
    found: Floats = np.max(candidates, axis=0)
    same = found >= mode.log_prob - 1e-9
    return {
        "agreement": float(same[mode.optimal].mean()),
        "proven": float(mode.optimal.mean()),
    }


def _joint(model: Any, X: Any) -> JointDistribution:
    joint = predict_joint(model, X)
    assert isinstance(joint, JointDistribution)
    return joint
