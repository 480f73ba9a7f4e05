"""The order of a chain's labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave._common.arrays import Indices, Labels
from labelweave._common.checks import check_label
from labelweave._common.label_graph import LabelGraph
from labelweave.logistic import fit_conditionals, structure_losses

#: Number of orders that ``order="auto"`` compares.
N_CANDIDATES = 10


def resolve_order(order: Any, n_labels: int, names: tuple[str, ...] | None, seed: int) -> Indices:
    """Return the order as label positions, from first to last.

    Examples
    --------
    >>> resolve_order(["b", "a"], 2, ("a", "b"), seed=0)
    array([1, 0])
    """
    if order is None:
        return np.arange(n_labels, dtype=np.int64)
    if isinstance(order, str):
        if order != "random":
            raise ValueError(
                f"order must be None, 'random', 'auto' or a list of labels; got {order!r}"
            )
        return np.random.default_rng(seed).permutation(n_labels).astype(np.int64)
    given = np.asarray(order, dtype=object).ravel()
    positions = [check_label(label, "order", n_labels, names) for label in given]
    if sorted(positions) != list(range(n_labels)):
        raise ValueError(
            f"order must name each of the {n_labels} labels once, from first to last; got {order!r}"
        )
    return np.array(positions, dtype=np.int64)


def candidate_orders(labels: Labels, seed: int, n_orders: int = N_CANDIDATES) -> list[Indices]:
    """Return candidate orders: of y's columns, by falling and rising frequency, and random ones."""
    n_labels = labels.shape[1]
    frequency = labels.sum(axis=0, dtype=np.int64)
    random = np.random.default_rng(seed)
    orders = [
        np.arange(n_labels),
        np.argsort(-frequency, kind="stable"),
        np.argsort(frequency, kind="stable"),
        *(random.permutation(n_labels) for _ in range(n_orders - 3)),
    ]
    distinct = {order.tobytes(): order.astype(np.int64) for order in orders}
    return list(distinct.values())


def best_order(
    X: Any,
    labels: Labels,
    penalties: dict[str, Any],
    shared: dict[str, Any],
) -> tuple[Indices, dict[str, Any]]:
    """Return the order of best cross-validated log-likelihood, and the penalties used.

    Penalties are chosen once, for the order of y's columns: they hardly depend on the order.
    """
    orders = candidate_orders(labels, shared["seed"])
    graphs = [LabelGraph.chain(order) for order in orders]
    first = fit_conditionals(X, labels, graphs[0], **penalties, **shared)
    chosen: dict[str, Any] = {"C": first.C, "label_penalty": first.label_penalty}
    losses = structure_losses(X, labels, graphs, **chosen, **shared)
    return orders[int(losses.argmin())], chosen
