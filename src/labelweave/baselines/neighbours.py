"""Exact nearest neighbours, the same in every batch.

Candidates come from a fast search, scikit-learn's k-d tree for few features and blocked matrix
products for many; both round, and differently in different batches. So every row that rounding
might have misplaced stays a candidate, and if there are more than k, distances summed from the
differences decide among the uncertain ones, with ties broken by the order of the training rows.
Products in single precision then suffice, and are twice as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from sklearn.neighbors import KDTree
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from labelweave._common.arrays import Counts, Floats, Labels, Mask, Positions

# Pairs of query rows and candidate neighbours, sorted by query row, and whether each candidate is
# certainly a neighbour.
Pairs = tuple[Positions, Positions, Mask]
Search = Callable[[Positions], Pairs]

# With more features a k-d tree visits nearly every leaf; scikit-learn has the same limit.
TREE_FEATURES = 15
# Numbers per block of work: few enough for a core's cache (2 MB), but enough rows for an efficient
# matrix product.
_BLOCK = 2**18
_FEWEST_ROWS = 8
# Largest squared norm that single precision holds safely, and its absolute error for tiny ones.
_LONGEST = 1e30
_TINY = 1e-30


def nearest_rows(train: Any, X: Any, k: int, *, n_threads: int = 1) -> Positions:
    """Return the k nearest rows of `train` for every row of X, in ascending order, (n, k).

    Distances are Euclidean; ties go to the earlier rows.

    Parameters
    ----------
    train : (m, D) float64 array or CSR
    X : (n, D) float64 array or CSR, or None
        None: the neighbours of the training rows themselves, where no row is its own neighbour.
    k : int
        At most m, or m - 1 if X is None.
    n_threads : int
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> train = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> nearest_rows(train, np.array([[1.0]]), 2)
    array([[0, 1]])
    >>> nearest_rows(train, None, 1).ravel()
    array([1, 0, 1, 2])
    """
    alone = X is None
    if alone:
        X = train
    elif isinstance(train, np.ndarray) != isinstance(X, np.ndarray):
        X = X.toarray() if isinstance(train, np.ndarray) else type(train)(X)
    n_rows, n_train = X.shape[0], train.shape[0]
    if k == 0:
        return np.empty((n_rows, 0), dtype=np.intp)
    low = isinstance(train, np.ndarray) and train.shape[1] <= TREE_FEATURES
    search = (_tree_search if low else _product_search)(train, X, k, alone)
    size = max(_FEWEST_ROWS, _BLOCK // n_train)
    blocks = [np.arange(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]

    def nearest(rows: Positions) -> Positions:
        with np.errstate(over="ignore", invalid="ignore"):
            return _chosen(train, X, rows, search(rows), k)

    if len(blocks) == 1:
        return nearest(blocks[0])
    # Blocks run in parallel, with BLAS on one core within each.
    with _blas().limit(limits=1), ThreadPoolExecutor(n_threads) as pool:
        return np.concatenate(list(pool.map(nearest, blocks)))


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of BLAS; cached, as finding it takes longer than a small search."""
    return ThreadpoolController().select(user_api="blas")


def count_labels(labels: Labels, neighbours: Positions) -> Counts:
    """Return how many neighbours of every row have each label, (n, L)."""
    counts = np.zeros((len(neighbours), labels.shape[1]), dtype=np.int64)
    for column in neighbours.T:
        counts += labels[column]
    return counts


def _rounding(n_features: int, kind: type[np.floating[Any]] = np.float64) -> float:
    """Bound the relative rounding error of dot products and squared distances."""
    return 4.0 * (n_features + 4) * float(np.finfo(kind).eps)


def _product_search(train: Any, X: Any, k: int, alone: bool) -> Search:
    """Search all training rows by ``|t|² - 2 x·t``, the squared distance minus |x|²."""
    lengths = row_norms(train, squared=True)
    own_lengths = lengths if alone else row_norms(X, squared=True)
    # Cancellation leaves errors of the size of the norms, in either of the two rows compared.
    slack = 2.0 * _rounding(train.shape[1]) * (own_lengths + lengths.max())
    if isinstance(train, np.ndarray) and lengths.max() < _LONGEST and own_lengths.max() < _LONGEST:
        train, X, lengths, own_lengths = _single_precision(train, None if alone else X)
        slack += 2.0 * _rounding(train.shape[1], np.float32) * (own_lengths + lengths.max() + _TINY)
    transposed, lengths = train.T, lengths.astype(train.dtype)

    def search(rows: Positions) -> Pairs:
        product = (X[rows] * -2.0) @ transposed
        distance = product if isinstance(product, np.ndarray) else product.toarray()
        distance += lengths
        if alone:
            distance[np.arange(len(rows)), rows] = np.inf
        kth = np.partition(distance, k - 1, axis=1)[:, k - 1].astype(np.float64)
        # Negated, so that a NaN from overflow stays a candidate.
        candidate = ~(distance > (kth + slack[rows]).astype(distance.dtype)[:, None])
        if alone:
            candidate[np.arange(len(rows)), rows] = False
        # Finding flat positions is several times faster than finding index pairs.
        position = np.flatnonzero(candidate)
        query, found = np.divmod(position, len(lengths))
        return rows[query], found, distance.ravel()[position] < (kth - slack[rows])[query]

    return search


def _single_precision(train: Floats, X: Floats | None) -> tuple[Any, Any, Floats, Floats]:
    """Return both, centred, and their squared norms; centring reduces rounding errors."""
    centre = train.mean(axis=0)
    centred = [(rows - centre).astype(np.float32) for rows in (train, X) if rows is not None]
    lengths = [row_norms(rows.astype(np.float64), squared=True) for rows in centred]
    return centred[0], centred[-1], lengths[0], lengths[-1]


def _tree_search(train: Floats, X: Floats, k: int, alone: bool) -> Search:
    """Search with scikit-learn's k-d tree: all rows within the distance of the k-th neighbour."""
    tree = KDTree(train)
    stretch = 1.0 + _rounding(train.shape[1])

    def search(rows: Positions) -> Pairs:
        distance, _ = tree.query(X[rows], k + alone)
        within = tree.query_radius(X[rows], distance[:, -1] * stretch)
        query = np.repeat(rows, [len(found) for found in within])
        found = np.concatenate(within).astype(np.intp)
        if alone:
            query, found = query[query != found], found[query != found]
        order = np.lexsort((found, query))
        return query[order], found[order], np.zeros(len(query), dtype=bool)

    return search


def _chosen(train: Any, X: Any, rows: Positions, pairs: Pairs, k: int) -> Positions:
    """Return the k nearest of each row's candidates."""
    query, found, sure = pairs
    n_candidates = np.bincount(query - rows[0], minlength=len(rows))
    nearest = np.empty((len(rows), k), dtype=np.intp)
    settled = n_candidates == k
    nearest[settled] = found[settled[query - rows[0]]].reshape(-1, k)
    if settled.all():
        return nearest
    open_pair = ~settled[query - rows[0]]
    query, found, doubt = query[open_pair], found[open_pair], ~sure[open_pair]
    distances = np.full(len(query), -np.inf)
    distances[doubt] = _squared_distances(X, query[doubt], train, found[doubt])
    order = np.lexsort((found, distances, query))
    counts = n_candidates[~settled]
    starts = np.cumsum(counts) - counts
    nearest[~settled] = np.sort(found[order][starts[:, None] + np.arange(k)], axis=1)
    return nearest


def _squared_distances(X: Any, query: Positions, train: Any, found: Positions) -> Floats:
    """Squared distance of every pair, summed from the differences feature by feature."""
    distances = np.empty(len(query))
    width = X.shape[1] if isinstance(X, np.ndarray) else 2 * max(1, train.nnz // train.shape[0])
    size = max(1, _BLOCK // width)
    for first in range(0, len(query), size):
        part = slice(first, first + size)
        difference = X[query[part]] - train[found[part]]
        if isinstance(difference, np.ndarray):
            distances[part] = np.square(difference, out=difference).sum(axis=1)
        else:
            difference.data **= 2
            distances[part] = difference @ np.ones(X.shape[1])
    return distances
