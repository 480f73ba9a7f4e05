"""MLkNN, InstanceBasedLogistic, exact neighbours in any batch.

Exact nearest neighbours, the same in every batch.

Candidates come from a fast search, scikit-learn's k-d tree for few features and blocked matrix
products for many; both round, and differently in different batches. So every row that rounding
might have misplaced stays a candidate, and if there are more than k, distances summed from the
differences decide among the uncertain ones, with ties broken by the order of the training rows.
Products in single precision then suffice, and are twice as fast.

What the nearest-neighbour classifiers share.

IBLR-ML: logistic regression on the labels of the neighbours.

ML-kNN: Bayes' rule on the number of neighbours with a label.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.neighbors import KDTree
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from labelweave._common.arrays import Counts, Floats, Labels, Mask, Positions
from labelweave._common.checks import are_binary, check_number
from labelweave._common.files import check_shape
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import fit_conditionals
from labelweave.logistic.two_layers import fit_on_estimates
from labelweave.models.base import MultiLabelClassifier

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


class NeighbourClassifier(MultiLabelClassifier):
    """Base of the classifiers that count labels among the nearest training rows.

    Like scikit-learn's nearest-neighbour classifiers, they do not support sample weights.

    Attributes set by `fit`
    -----------------------
    n_neighbors_ : int
        Number of neighbours used: `n_neighbors`, or all other rows if there are fewer.
    """

    n_neighbors: int

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learn from the labels of every row's neighbours."""
        return super().fit(X, y)

    def _remember(self, X: Any, labels: Labels) -> Counts:
        """Store the training rows; return how many neighbours of each have each label, (n, L).

        A row is not its own neighbour, as new rows will not be.
        """
        self.n_neighbors_ = min(self._count("n_neighbors"), len(labels) - 1)
        # A copy: the caller may change the array later.
        self._train, self._train_labels = X.copy(), labels
        rows = nearest_rows(X, None, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(labels, rows)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "_train"):
            n_rows = len(self._train_labels)
            check_shape(self._train, (n_rows, self.n_features_in_), "_train")
            check_shape(self._train_labels, (n_rows, self.n_labels_), "_train_labels")
            if not (are_binary(self._train_labels) and 0 <= self.n_neighbors_ <= n_rows):
                raise ValueError("_train_labels or n_neighbors_ is out of range")

    def _neighbour_counts(self, X: Any) -> Counts:
        """Return how many neighbours of each new row have each label, (n, L)."""
        rows = nearest_rows(self._train, X, self.n_neighbors_, n_threads=self._n_threads())
        return count_labels(self._train_labels, rows)


class InstanceBasedLogistic(NeighbourClassifier):
    """Instance-based learning by logistic regression (Cheng and Hüllermeier, 2009).

    The frequencies of the labels among the k nearest training rows are features: every label is
    learned from the frequencies of all labels (IBLR-ML), with ``passthrough=True`` from these and
    the original features (IBLR-ML+). In training, no row is its own neighbour. Distances are
    Euclidean, so features should be on comparable scales. Ties are broken by the order of the
    training rows.
    ``InstanceBasedLogistic.preset("published")`` has ten neighbours, as by default.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; all other rows if there are fewer.
    passthrough : bool, default=False
        Whether to learn the labels from the original features too.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty on the frequencies (with `passthrough`, on the original
        features), shared by all labels; "cv" chooses it by cross-validated log-likelihood.
    label_penalty : float or "cv", default="cv"
        Penalty of the frequencies relative to the original features'. Ignored without
        `passthrough`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds of "cv". None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties.

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
    >>> from labelweave import InstanceBasedLogistic
    >>> from labelweave import load
    >>> data = load("emotions")
    >>> model = InstanceBasedLogistic(C=1.0).fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.13, 0.25, 0.61, 0.57, 0.39, 0.12],
           [0.18, 0.31, 0.62, 0.29, 0.33, 0.18]])
    """

    presets: ClassVar[Presets] = published(n_neighbors=10)

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        passthrough: bool = False,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.passthrough = passthrough
        self.C = C
        self.label_penalty = label_penalty
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        shared: dict[str, Any] = {"seed": self._seed(), "n_threads": self._n_threads()}
        self._with_features = bool(self.passthrough)
        frequency = self._frequency(self._remember(X, labels))
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

    def _frequency(self, counts: Counts) -> Floats:
        """Divide counts by the number of neighbours; a single training row has none."""
        return counts / max(self.n_neighbors_, 1)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        frequency = self._frequency(self._neighbour_counts(X))
        n_threads = self._n_threads()
        if self._with_features:
            scores = self.conditionals_.scores(X, frequency, n_threads=n_threads)
        else:
            scores = self.conditionals_.scores(frequency, n_threads=n_threads)
        return IndependentJoint(
            scores,
            **rows,
        )


class MLkNN(NeighbourClassifier):
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
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Not used; present for API consistency.
    verbose : int, default=0
        If positive, print the number of neighbours.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    prior_log_odds_ : (L,) array
        Prior log-odds of each label.
    evidence_ : (L, n_neighbors_ + 1) array
        ``log P(c | y_j = 1) - log P(c | y_j = 0)`` for c neighbours with label j.

    Examples
    --------
    >>> from labelweave import MLkNN
    >>> from labelweave import load
    >>> data = load("emotions")
    >>> model = MLkNN().fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.14, 0.26, 0.45, 0.74, 0.44, 0.07],
           [0.3 , 0.27, 0.64, 0.28, 0.44, 0.21]])
    """

    presets: ClassVar[Presets] = published(n_neighbors=10)

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        smoothing = check_number(self.smoothing, "smoothing", above=0)
        self._seed()  # not used, but an invalid seed is an error here too
        counts = self._remember(X, labels)
        self._tell(f"{self.n_neighbors_} neighbours in {len(labels)} rows")
        positive = labels.sum(axis=0, dtype=np.float64)
        negative = len(labels) - positive
        self.prior_log_odds_ = np.log(positive + smoothing) - np.log(negative + smoothing)
        with_label = _histograms(counts, labels == 1, self.n_neighbors_)
        without = _histograms(counts, labels == 0, self.n_neighbors_)
        self.evidence_ = _smoothed(with_label, smoothing) - _smoothed(without, smoothing)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "evidence_"):
            check_shape(self.prior_log_odds_, (self.n_labels_,), "prior_log_odds_")
            check_shape(self.evidence_, (self.n_labels_, self.n_neighbors_ + 1), "evidence_")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        counts = self._neighbour_counts(X)
        evidence = self.evidence_[np.arange(self.n_labels_), counts]
        return IndependentJoint(
            self.prior_log_odds_ + evidence,
            **rows,
        )


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
