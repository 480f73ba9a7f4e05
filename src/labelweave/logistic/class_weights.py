"""Class weights for rare labels: how much present and absent labels count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from labelweave.logistic.problem import LogisticProblems

ClassWeight: TypeAlias = Mapping[int, float] | str | None


def check_class_weight(class_weight: Any) -> ClassWeight:
    """Return `class_weight` if it is valid; raise a ValueError that names the fix otherwise.

    Examples
    --------
    >>> check_class_weight({0: 1.0, 1: 5.0})
    {0: 1.0, 1: 5.0}
    >>> check_class_weight("even")
    Traceback (most recent call last):
    ...
    ValueError: class_weight must be None, 'balanced' or a dict such as {0: 1.0, 1: 5.0}; got 'even'
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return class_weight
    is_map = isinstance(class_weight, Mapping) and set(class_weight) <= {0, 1}
    if not is_map or not all(_is_positive(weight) for weight in class_weight.values()):
        raise ValueError(
            "class_weight must be None, 'balanced' or a dict such as {0: 1.0, 1: 5.0}; "
            f"got {class_weight!r}"
        )
    return dict(class_weight)


def _is_positive(weight: Any) -> bool:
    is_number = isinstance(weight, Real) and not isinstance(weight, bool)
    return is_number and 0 < float(weight) < np.inf


def class_weighted(problems: LogisticProblems, class_weight: ClassWeight) -> LogisticProblems:
    """Return the same problems with rows weighted by the class of each problem's target.

    All problems must have the same sample weights.
    """
    n, n_targets = problems.targets.shape
    weights = np.ones((n, 1)) if problems.weights is None else problems.weights
    by_class = weights_of_classes(problems.targets, weights[:, 0], class_weight)
    return replace(
        problems,
        weights=weights * np.where(problems.targets == 1, by_class[1], by_class[0]),
        weight_of=np.arange(n_targets, dtype=np.int32)[problems.target_of],
        total_weight=None,
    )


def weights_of_classes(targets: Any, weight: Any, class_weight: ClassWeight) -> Any:
    """Return the weights of the classes 0 and 1 of every target, (2, T).

    Examples
    --------
    >>> weights_of_classes(np.array([[1], [0], [0], [0]]), np.ones(4), "balanced").ravel()
    array([0.66666667, 2.        ])
    """
    if class_weight is None:
        return np.ones((2, targets.shape[1]))
    if isinstance(class_weight, Mapping):
        pair = [[class_weight.get(value, 1.0)] for value in (0, 1)]
        return np.broadcast_to(np.array(pair, dtype=np.float64), (2, targets.shape[1]))
    positive = weight @ targets
    mass = np.stack([weight.sum() - positive, positive])
    # A class without rows needs no weight.
    return np.divide(weight.sum() / 2, mass, out=np.ones_like(mass), where=mass > 0)
