"""The forest that joins labels by their strongest dependences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree

from labelweave._common.arrays import Floats, Indices
from labelweave.evaluation.dependence.pairwise import mutual_information
from labelweave.joint.dependence import log_odds_ratios
from labelweave.metrics import check_labels
from labelweave.models import Structure

__all__ = ["chow_liu", "strongest_forest"]


def chow_liu(Y: ArrayLike, label_names: Sequence[str] | None = None) -> Structure:
    """Return the forest that explains most of the dependence between labels (Chow and Liu 1968).

    Features play no part in it. An edge must increase the log-likelihood of Y by more than
    ½ log n, the cost of its parameter by the Bayesian information criterion, so that labels which
    occur together by chance remain apart. Every tree has its best connected label as root.

    Parameters
    ----------
    Y : array-like of shape (n, L)
        Labels, 0 or 1.
    label_names : sequence of str, optional

    Returns
    -------
    Structure
        ``gains`` are n times the mutual information, less ½ log n; ``couplings`` are log-odds
        ratios.

    Examples
    --------
    >>> rain, sun = np.tile([0, 0, 1, 1], 20), np.tile([0, 1], 40)
    >>> chow_liu(np.column_stack([rain, rain, sun]), ["rain", "wet", "sun"])
    Structure(3 labels, 1 edges, gain 53.3)
    rain
    └─ wet  +8.79  (gain 53.3)
    sun
    """
    labels = check_labels(Y, "Y")
    n, n_labels = labels.shape
    if label_names is not None and len(label_names) != n_labels:
        raise ValueError(f"label_names must name {n_labels} labels; it has {len(label_names)}")
    gain = n * mutual_information(labels) - np.log(n) / 2.0
    counts = labels.T.astype(np.float64) @ labels
    # Half a row in every cell (Haldane): always finite.
    log_odds = log_odds_ratios(counts, n, prior=0.5)
    names = None if label_names is None else tuple(map(str, label_names))
    return strongest_forest(gain, log_odds, names)


def strongest_forest(
    gain: Floats, log_odds: Floats, label_names: tuple[str, ...] | None = None
) -> Structure:
    """Return the forest of largest total gain; every tree has its best connected label as root.

    Parameters
    ----------
    gain : (L, L) array
        What it is worth to join two labels, symmetric; only positive gains make edges, and the
        diagonal is ignored.
    log_odds : (L, L) array
        The couplings of the edges.
    label_names : tuple of str, optional

    Examples
    --------
    >>> gain = np.array([[0.0, 3.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> strongest_forest(gain, np.ones((3, 3)))
    Structure(3 labels, 2 edges, gain 5.0)
    0
    ├─ 1  +1.00  (gain 3.0)
    └─ 2  +1.00  (gain 2.0)
    """
    worth = np.maximum(gain, 0.0)
    np.fill_diagonal(worth, 0.0)
    parents = _spanning_forest(worth)
    child = np.flatnonzero(parents >= 0)
    gains, couplings = np.zeros(len(worth)), np.zeros(len(worth))
    gains[child] = worth[parents[child], child]
    couplings[child] = log_odds[parents[child], child]
    return Structure(parents, gains=gains, label_names=label_names, couplings=couplings)


def _spanning_forest(weight: Floats) -> Indices:
    """Return the parents in the forest of largest total weight; zero means no edge."""
    edges = minimum_spanning_tree(-weight).toarray() < 0
    linked = edges | edges.T
    degree = linked.sum(axis=0)
    parents = np.full(len(weight), -1, dtype=np.int64)
    _, part = connected_components(linked, directed=False)
    for number in range(part.max() + 1):
        inside = np.flatnonzero(part == number)
        root = inside[np.argmax(degree[inside])]
        order, before = breadth_first_order(linked, root, directed=False)
        parents[order[1:]] = before[order[1:]]
    return parents
