"""Mixtures of trees: what each further tree brings, and how often one tree knows the mode."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.evaluation import cll_loss_row, exact_match, make_method
from labelweave.inference import ThresholdAlgorithm
from labelweave.models import TreeNetwork
from labelweave.reproduce.measurements.folds import split_data, standardised
from labelweave.reproduce.task import Task

__all__ = ["map_agreement", "tree_counts"]


def tree_counts(task: Task) -> dict[str, Any]:
    """Score mixtures of growing numbers of trees, with the penalties that suit a single tree.

    Settings: ``n_folds``, ``counts``.

    Examples
    --------
    >>> task = Task("tree_counts", "emotions top:3", "mc(preset='published')", 0, 0,
    ...             {"n_folds": 10, "counts": [1, 2]})
    >>> values = tree_counts(task)
    >>> len(values["exact_match"]), len(values["cll_loss_row"])
    (2, 2)
    """
    train, test = standardised(*split_data(task))
    model = make_method(task.method, seed=task.seed)
    single = TreeNetwork(label_penalty=model.label_penalty, random_state=task.seed)
    single.fit(train.X, train.Y)
    model.set_params(C=single.C_, label_penalty=single.label_penalty_)
    scores: dict[str, list[float]] = {"exact_match": [], "cll_loss_row": []}
    for count in task.settings["counts"]:
        model.set_params(n_components=count).fit(train.X, train.Y)
        scores["exact_match"].append(exact_match(test.Y, model.predict(test.X)))
        scores["cll_loss_row"].append(cll_loss_row(test.Y, model.predict_joint(test.X)))
    return scores


def map_agreement(task: Task) -> dict[str, Any]:
    """Measure how often the best of the trees' modes is the mode of the mixture.

    Settings: ``n_folds``, ``count``, the number of trees. Only rows whose mode is proven count.

    Examples
    --------
    >>> task = Task("map_agreement", "emotions top:3", "mc(preset='published')", 0, 0,
    ...             {"n_folds": 10, "count": 2})
    >>> 0.0 <= map_agreement(task)["agreement"] <= 1.0
    True
    """
    train, test = standardised(*split_data(task))
    model = make_method(task.method, seed=task.seed).set_params(n_components=task.settings["count"])
    joint = model.fit(train.X, train.Y).predict_joint(test.X)
    mode = ThresholdAlgorithm()(joint)
    candidates = [joint.log_prob(tree.mode().labels) for tree in joint.components]
    found: Floats = np.max(candidates, axis=0)
    same = found >= mode.log_prob - 1e-9
    return {
        "agreement": float(same[mode.optimal].mean()),
        "proven": float(mode.optimal.mean()),
    }
