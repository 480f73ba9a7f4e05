"""Classifiers that count labels among the nearest training rows.

`MLkNN` estimates P(y_j | c), where c of the k nearest training rows have label j, by Bayes' rule
and smoothed counts. `InstanceBasedLogistic` has the shares c/k of all labels as the features of
logistic regressions.

Neighbours are exact, and the same in every batch. scikit-learn's search finds more candidates than
needed, but its distances are rounded, differently in different batches. Where rounding could decide
who is among the nearest, squared distances are summed from the differences instead. If even the
last candidate might be as near as the k-th, there are more candidates in a further search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from labelweave._common.arrays import Counts, Floats, Labels, Mask, Positions
from labelweave._common.checks import are_binary, check_number
from labelweave._common.files import check_shape
from labelweave._common.presets import Presets, published
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.two_layers import fit_on_estimates
from labelweave.models.base import MultiLabelClassifier

# The first search finds k and `_SPARE` candidates, and each further search `_GROWTH` times as many.
_SPARE = 6
_GROWTH = 4
# Numbers per block of work: few enough for a core's cache (2 MB).
_BLOCK = 2**18
# Squared norms above `_LONGEST` overflow in the search, and those below `_TINY` underflow.
_LONGEST = 1e300
_TINY = 1e-300


def nearest_rows(train: Any, X: Any, k: int, *, n_threads: int = 1) -> Positions:
    """Return the k nearest rows of `train` for every row of X, in ascending order, (n, k).

    Distances are Euclidean; ties go to the earlier rows. If X is None, the rows of X are those of
    `train`, and none is its own neighbour.
    """
    alone = X is None
    if alone:
        X = train
    elif isinstance(train, np.ndarray) != isinstance(X, np.ndarray):
        X = X.toarray() if isinstance(train, np.ndarray) else type(train)(X)
    nearest = np.empty((X.shape[0], k), dtype=np.intp)
    if k == 0:
        return nearest
    rows, n_candidates = np.arange(len(nearest)), k + alone + _SPARE
    with np.errstate(over="ignore"), _thread_pools().limit(limits=n_threads):
        search = _Search(train, X, alone, n_threads)
        while len(rows):
            size = max(1, _BLOCK // n_candidates)
            uncertain = []
            for block in np.split(rows, range(size, len(rows), size)):
                nearest[block], certain = search.nearest(block, k, n_candidates)
                uncertain.append(block[~certain])
            rows, n_candidates = np.concatenate(uncertain), _GROWTH * n_candidates
    return nearest


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the controller of thread pools; to find them takes longer than a small search."""
    return ThreadpoolController()


class _Search:
    """A search for the nearest rows of `train` among candidates, for the rows of X."""

    def __init__(self, train: Any, X: Any, alone: bool, n_threads: int) -> None:
        self.train, self.X, self.alone = train, X, alone
        centred, self.queries = train, X
        if isinstance(train, np.ndarray):  # centred rows are shorter, and so are their errors
            centre = train.mean(axis=0)
            centred, self.queries = train - centre, X - centre
        longest = row_norms(centred, squared=True).max()
        lengths = row_norms(self.queries, squared=True) + longest
        # Cancellation leaves errors of the size of the norms.
        self.slack = 8.0 * (train.shape[1] + 4) * np.finfo(np.float64).eps * lengths + _TINY
        self.index: NearestNeighbors | None = None
        if lengths.max() < _LONGEST:
            self.index = NearestNeighbors(n_jobs=n_threads).fit(centred)

    def nearest(self, rows: Positions, k: int, n_candidates: int) -> tuple[Positions, Mask]:
        """Return the k nearest candidates of each row, and whether no other row is nearer."""
        n_train = self.train.shape[0]
        if self.index is None or n_candidates >= n_train:
            everything = np.tile(np.arange(n_train), (len(rows), 1))
            return self._decided(rows, everything, k)[0], np.full(len(rows), True)
        found, squares = self._candidates(rows, n_candidates)
        slack = self.slack[rows]
        nearest, certain = np.sort(found[:, :k], axis=1), squares[:, k - 1] + slack < squares[:, k]
        unclear = np.flatnonzero(~certain)
        # All other rows are at least as far as the candidates that the search finds last.
        beyond = squares[unclear, -1 - self.alone] - slack[unclear]
        nearest[unclear], furthest = self._decided(rows[unclear], found[unclear], k)
        certain[unclear] = furthest < beyond
        return nearest, certain

    def _candidates(self, rows: Positions, n_candidates: int) -> tuple[Positions, Floats]:
        """Return candidates by increasing squared distance, rounded; a row itself is last."""
        assert self.index is not None
        distances, found = self.index.kneighbors(self.queries[rows], n_candidates)
        squares = distances**2
        if self.alone:
            squares[found == rows[:, None]] = np.inf
            order = np.argsort(squares, axis=1, kind="stable")
            squares = np.take_along_axis(squares, order, axis=1)
            found = np.take_along_axis(found, order, axis=1)
        return found, squares

    def _decided(self, rows: Positions, found: Positions, k: int) -> tuple[Positions, Floats]:
        """Return each row's k nearest candidates by the differences, and the k-th distance."""
        found = np.sort(found, axis=1)  # of equal distances, the earlier row is taken
        distances = self._squared_distances(rows, found)
        if self.alone:
            distances[found == rows[:, None]] = np.nan  # NaN is sorted behind all numbers
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        furthest = np.take_along_axis(distances, order[:, -1:], axis=1)[:, 0]
        return np.sort(np.take_along_axis(found, order, axis=1), axis=1), furthest

    def _squared_distances(self, rows: Positions, found: Positions) -> Floats:
        """Sum the squares of the differences between each row and its candidates."""
        query, candidate = np.repeat(rows, found.shape[1]), found.ravel()
        distances = np.empty(len(query))
        dense = isinstance(self.X, np.ndarray)
        width = self.X.shape[1] if dense else 2 * max(1, self.train.nnz // self.train.shape[0])
        size = max(1, _BLOCK // width)
        for first in range(0, len(query), size):
            part = slice(first, first + size)
            difference = self.X[query[part]] - self.train[candidate[part]]
            if dense:
                distances[part] = np.square(difference, out=difference).sum(axis=1)
            else:
                difference.data **= 2
                distances[part] = difference @ np.ones(self.X.shape[1])
        return distances.reshape(found.shape)


@dataclass(frozen=True)
class Neighbourhood:
    """Training rows and their labels, among which the k nearest of any row are found."""

    X: Any
    labels: Labels
    k: int

    @classmethod
    def of(cls, X: Any, labels: Labels, k: int) -> Self:
        """Keep training rows, copied as the caller may change them; k is at most all but one."""
        return cls(X.copy(), labels, min(k, len(labels) - 1))

    def counts(self, X: Any, n_threads: int) -> Counts:
        """Return how many neighbours of each row of X have each label, (n, L).

        If X is None, the rows are the training rows, and no row is its own neighbour, because no
        new row will be.
        """
        return count_labels(self.labels, nearest_rows(self.X, X, self.k, n_threads=n_threads))

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise ValueError if arrays, read from a file, have sizes or values that do not fit."""
        n_rows = len(self.labels)
        check_shape(self.X, (n_rows, n_features), "_neighbours.X")
        check_shape(self.labels, (n_rows, n_labels), "_neighbours.labels")
        if not (are_binary(self.labels) and 0 <= self.k <= n_rows):
            raise ValueError("_neighbours.labels or _neighbours.k is out of range")


def count_labels(labels: Labels, neighbours: Positions) -> Counts:
    """Return how many neighbours of every row have each label, (n, L)."""
    counts = np.zeros((len(neighbours), labels.shape[1]), dtype=np.int64)
    for column in neighbours.T:
        counts += labels[column]
    return counts


@dataclass(eq=False, repr=False, kw_only=True)
class InstanceBasedLogistic(MultiLabelClassifier):
    """Instance-based learning by logistic regression (Cheng and Hüllermeier, 2009).

    The frequencies of the labels among the k nearest training rows are features: every label is
    learned from the frequencies of all labels (IBLR-ML), and with ``passthrough=True`` from the
    original features, too (IBLR-ML+). In training, no row is its own neighbour. Distances are
    Euclidean, so features should be on comparable scales. Ties are broken by the order of the
    training rows. ``InstanceBasedLogistic.preset("published")`` has ten neighbours, as by default.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; all other rows if there are fewer.
    passthrough : bool, default=False
        Whether the original features are features of the regressions, too.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty on the frequencies (with `passthrough`, on the original
        features), shared by all labels; "cv" chooses it by cross-validated log-likelihood.
    label_penalty : float or "cv", default="cv"
        Penalty of the frequencies relative to the original features'. Ignored without
        `passthrough`.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    conditionals_ : LinearConditionals
        ``weights[j, k]`` (with `passthrough`, ``coupling[j, k]``) is the coefficient of the
        frequency of label k among the neighbours in the log-odds of label j.
    C_, label_penalty_ : float
        The penalties used; `label_penalty_` only with `passthrough`.

    Examples
    --------
    >>> from labelweave import InstanceBasedLogistic, load
    >>> data = load("emotions")
    >>> model = InstanceBasedLogistic(C=1.0).fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.13, 0.25, 0.61, 0.57, 0.39, 0.12],
           [0.18, 0.31, 0.62, 0.29, 0.33, 0.18]])
    """

    n_neighbors: int = 10
    passthrough: bool = False
    C: float | str = "cv"
    label_penalty: float | str = "cv"

    presets: ClassVar[Presets] = published(n_neighbors=10)

    @property
    def n_neighbors_(self) -> int:
        """Number of neighbours used: `n_neighbors`, or all other rows if there are fewer."""
        return self._neighbours.k

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the labels of every row's neighbours; there are no sample weights."""
        return super().fit(X, y)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        shared: dict[str, Any] = {"seed": self._seed(), "n_threads": self._n_threads()}
        self._with_features = bool(self.passthrough)
        self._neighbours = Neighbourhood.of(X, labels, self._count("n_neighbors"))
        frequency = self._frequency(None)
        if self._with_features:
            self.conditionals_ = fit_on_estimates(
                X, frequency, labels, C=C, label_penalty=label_penalty, **shared
            )
            self.label_penalty_ = self.conditionals_.label_penalty
            also = f", label_penalty = {self.label_penalty_:.4g}"
        else:
            self.conditionals_ = fit_conditionals(frequency, labels, C=C, **shared)
            also = ""
        self.C_ = self.conditionals_.C
        self._tell(f"C = {self.C_:.4g}{also}")

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "_neighbours"):
            self._neighbours.check(self.n_features_in_, self.n_labels_)

    def _frequency(self, X: Any) -> Floats:
        """Return the shares of the neighbours that have each label, (n, L)."""
        counts = self._neighbours.counts(X, self._n_threads())
        return counts / max(self._neighbours.k, 1)  # a single training row has no neighbours

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        frequency = self._frequency(X)
        n_threads = self._n_threads()
        if self._with_features:
            scores = self.conditionals_.scores(X, frequency, n_threads=n_threads)
        else:
            scores = self.conditionals_.scores(frequency, n_threads=n_threads)
        return IndependentJoint(scores, **rows)


@dataclass(eq=False, repr=False, kw_only=True)
class MLkNN(MultiLabelClassifier):
    """Multi-label k nearest neighbours (Zhang and Zhou, 2007).

    For every label, the evidence is the number c of the k nearest training rows that have it:
    P(y_j = 1 | c) ∝ P(y_j = 1) P(c | y_j = 1), with both factors estimated by smoothed counts in
    the training data, where no row is its own neighbour. Distances are Euclidean, so features
    should be on comparable scales. Ties are broken by the order of the training rows.
    ``MLkNN.preset("published")`` has ten neighbours, as by default.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; all other rows if there are fewer.
    smoothing : float, default=1.0
        Added to every count, positive; 1 is Laplace smoothing.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    prior_log_odds_ : (L,) array
        Prior log-odds of each label.
    evidence_ : (L, k + 1) array
        ``log P(c | y_j = 1) - log P(c | y_j = 0)`` for c neighbours with label j.

    Examples
    --------
    >>> from labelweave import MLkNN, load
    >>> data = load("emotions")
    >>> model = MLkNN().fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.14, 0.26, 0.45, 0.74, 0.44, 0.07],
           [0.3 , 0.27, 0.64, 0.28, 0.44, 0.21]])
    """

    n_neighbors: int = 10
    smoothing: float = 1.0

    presets: ClassVar[Presets] = published(n_neighbors=10)

    @property
    def n_neighbors_(self) -> int:
        """Number of neighbours used: `n_neighbors`, or all other rows if there are fewer."""
        return self._neighbours.k

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the labels of every row's neighbours; there are no sample weights."""
        return super().fit(X, y)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        smoothing = check_number(self.smoothing, "smoothing", above=0)
        self._seed()  # not used, but an invalid seed is an error here too
        self._neighbours = Neighbourhood.of(X, labels, self._count("n_neighbors"))
        counts, k = self._neighbours.counts(None, self._n_threads()), self._neighbours.k
        self._tell(f"{k} neighbours in {len(labels)} rows")
        positive = labels.sum(axis=0, dtype=np.float64)
        negative = len(labels) - positive
        self.prior_log_odds_ = np.log(positive + smoothing) - np.log(negative + smoothing)
        with_label = _histograms(counts, labels == 1, k)
        without = _histograms(counts, labels == 0, k)
        self.evidence_ = _smoothed(with_label, smoothing) - _smoothed(without, smoothing)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "_neighbours"):
            self._neighbours.check(self.n_features_in_, self.n_labels_)
            check_shape(self.prior_log_odds_, (self.n_labels_,), "prior_log_odds_")
            check_shape(self.evidence_, (self.n_labels_, self._neighbours.k + 1), "evidence_")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        counts = self._neighbours.counts(X, self._n_threads())
        evidence = self.evidence_[np.arange(self.n_labels_), counts]
        return IndependentJoint(self.prior_log_odds_ + evidence, **rows)


def _histograms(counts: Counts, chosen: Mask, largest: int) -> Floats:
    """Return the histogram of every label's counts over its chosen rows, (L, largest + 1)."""
    n_labels = counts.shape[1]
    cells = counts + np.arange(n_labels) * (largest + 1)
    histogram = np.bincount(cells[chosen], minlength=n_labels * (largest + 1))
    return histogram.reshape(n_labels, largest + 1).astype(np.float64)


def _smoothed(histogram: Floats, smoothing: float) -> Floats:
    """Return the logarithms of the smoothed frequencies in each row of a histogram."""
    shares: Floats = histogram + smoothing
    shares /= shares.sum(axis=1, keepdims=True)
    return np.log(shares)
