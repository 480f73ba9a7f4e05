"""The order of a chain's labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def resolve_order(
    order: Any, n_labels: int, names: tuple[str, ...] | None, seed: int
) -> NDArray[np.int64]:
    """Return the labels from first to last as positions.

    Examples
    --------
    >>> resolve_order(["b", "a"], 2, ("a", "b"), seed=0)
    array([1, 0])
    """
    if order is None:
        return np.arange(n_labels, dtype=np.int64)
    if isinstance(order, str):
        if order != "random":
            raise ValueError(f"order must be None, 'random' or a list of labels; got {order!r}")
        return np.random.default_rng(seed).permutation(n_labels).astype(np.int64)
    positions = [_position(label, names) for label in np.asarray(order, dtype=object).ravel()]
    if sorted(positions) != list(range(n_labels)):
        raise ValueError(
            f"order must name each of the {n_labels} labels once, from first to last; got {order!r}"
        )
    return np.array(positions, dtype=np.int64)


def _position(label: Any, names: tuple[str, ...] | None) -> int:
    if isinstance(label, str):
        if names is None:
            raise ValueError(
                f"order names the label {label!r}, but Y has no label names: fit with a data "
                "frame, or give positions"
            )
        if label not in names:
            raise ValueError(f"order names the unknown label {label!r}; Y has {', '.join(names)}")
        return names.index(label)
    if isinstance(label, (bool, np.bool_)) or not isinstance(label, (int, np.integer)):
        raise ValueError(f"order must hold positions or names of labels; got {label!r}")
    return int(label)
