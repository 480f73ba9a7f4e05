"""KernelFeatures: features from which linear models learn nonlinear functions (math.md, 1.6).

Nyström features are the values of an RBF kernel at landmarks, made orthogonal. The squared length
of a row of m features is about m, not 1: a feature then has a mean square near one, like a
standardised feature, and the same penalties suit both. The width of the kernel is
chosen by the held-out loss of binary relevance: logistic regressions of all labels on the features
of a width, fitted without one fold and scored on it, along a path of penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.checks import (
    check_n_jobs,
    check_number,
    check_whole_number,
    derive_seed,
    resolve_seed,
)
from labelweave._common.folds import assign_folds, number_rows
from labelweave._common.labels import read_labels
from labelweave._common.matrices import linear_scores, validated_features
from labelweave._common.progress import progress_shown, stage
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from labelweave.models.base import checked_weight


def squared_distances(X: Any, Z: Any, n_threads: int = 1) -> Floats:
    """Return the squared distance of each row of X from each row of Z, (n, m).

    A row's bits depend on no other row of X, nor on whether X is dense or sparse.
    """
    if isinstance(Z, np.ndarray):
        # |x|² + |z|² − 2xz loses digits far from the origin, which distances do not depend on.
        center = Z.mean(axis=0)
        X, Z = (X if isinstance(X, np.ndarray) else X.toarray()) - center, Z - center
        distances = linear_scores(X, -2 * Z, _squared_norms(Z), n_threads)
    else:
        X = sparse.csr_array(X)
        distances = (X @ (-2 * Z).T).toarray() + _squared_norms(Z)
    distances += _squared_norms(X)[:, None]
    return np.maximum(distances, 0.0, out=distances)


def median_distance(X: Any) -> float:
    """Return the median of the squared distances between distinct rows; 1 if there is only one."""
    if X.shape[0] < 2:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        median = float(np.median(squared_distances(X, X)[np.triu_indices(X.shape[0], 1)]))
    if not (np.isfinite(median) and median > 0):
        raise ValueError(
            f"X has rows whose squared distance is {median:g}: scale the features, for example "
            "with sklearn's StandardScaler"
        )
    return median


def _squared_norms(X: Any) -> Floats:
    if isinstance(X, np.ndarray):
        norms: Floats = np.einsum("ij,ij->i", X, X)
        return norms
    return np.asarray(X.power(2).sum(axis=1)).ravel()


# All rows have length 1 in the kernel's feature space. A row at a distance of less than 1e-5 from
# the span of the landmarks would add a feature that no penalised model can use, and dividing by
# that distance would magnify rounding errors.
_SMALLEST_RESIDUAL = 1e-10
# Landmarks that are added at a time: most of the work is products of matrices.
_BLOCK = 64


@dataclass(frozen=True)
class NystroemMap:
    """The features φ(x) = √m A k(Z, x) of m landmarks Z, where AᵀA is the inverse of k(Z, Z).

    A, the `whitening`, is the inverse of a Cholesky factor. The usual choice, the inverse square
    root of k(Z, Z), gives the same features up to a rotation, which does not change penalised
    models.
    """

    landmarks: Any
    whitening: Floats
    gamma: float

    @property
    def n_features(self) -> int:
        return len(self.whitening)

    def __call__(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the features of the rows of X, (n, m)."""
        kernel = squared_distances(X, self.landmarks, n_threads)
        kernel *= -self.gamma
        np.exp(kernel, out=kernel)
        features = linear_scores(kernel, self.whitening, np.zeros(self.n_features), n_threads)
        features *= np.sqrt(self.n_features)
        return features


def map_through(X: Any, gamma: float, seed: int) -> NystroemMap:
    """Return the map whose landmarks are rows of X, except rows that the others already span."""
    random = np.random.default_rng(seed)
    with threadpool_limits(limits=1, user_api="blas"):  # other threads, other bits
        factor, pivots = _partial_cholesky(X, gamma, random)
        of_pivots = factor[pivots, : len(pivots)]
        whitening = solve_triangular(of_pivots, np.eye(len(pivots)), lower=True)
    return NystroemMap(X[pivots], np.ascontiguousarray(whitening), gamma)


def _partial_cholesky(
    X: Any, gamma: float, random: np.random.Generator
) -> tuple[Floats, list[int]]:
    """Return the factor F of k(X, X) ≈ F Fᵀ, and its pivots: landmarks in random order."""
    n_rows, pivots = X.shape[0], list[int]()
    factor, residual = np.zeros((n_rows, n_rows)), np.ones(n_rows)
    while len(left := np.flatnonzero(residual > _SMALLEST_RESIDUAL)):
        waiting = random.standard_exponential(n_rows)
        size, n_before = _BLOCK if pivots else 1, len(pivots)
        proposed = left[np.argsort(waiting[left], kind="stable")][:size]
        # The landmarks of a seed stay those of versions that drew a number for each proposal.
        random.random(len(proposed))
        columns = np.exp(-gamma * squared_distances(X, X[proposed]))
        columns -= factor[:, :n_before] @ factor[proposed, :n_before].T
        for row, column in zip(proposed, columns.T, strict=True):
            if residual[row] > _SMALLEST_RESIDUAL:  # others of the block may span it
                block = slice(n_before, len(pivots))
                rest = column - factor[:, block] @ factor[row, block]
                rest /= np.sqrt(rest[row])
                factor[:, len(pivots)] = rest
                residual -= rest**2
                pivots.append(int(row))
    return factor, pivots


# Candidates for C, from strong to weak: those of features with a mean square of one.
_C_PATH: Floats = 10.0 ** np.arange(-3.5, 2.1, 0.5)
# Losses must be accurate enough to be compared, and a path towards weaker penalties ends after two
# rises of the loss.
_TOLERANCE, _PATIENCE = 1e-4, 2
_N_FOLDS = 3
# The search for log2 γ: its starts, its first and its last step, and its bounds.
_START, _STEP, _LAST_STEP, _BOUND = (-2, 0), 2, 1, 6


def held_out_loss(
    features: Floats, labels: Labels, weight: Floats, folds: tuple[Positions, int], n_threads: int
) -> Floats:
    """Return the held-out loss of each fold at the best penalty, (n_folds,)."""
    fold, n_folds = folds
    n_labels = labels.shape[1]
    inside: Mask = fold[:, None] != np.arange(n_folds)
    problems = LogisticProblems(
        X=features,
        targets=labels,
        target_of=np.tile(np.arange(n_labels, dtype=np.int32), n_folds),
        C=np.tile(_C_PATH, (n_folds * n_labels, 1)),
        weights=np.where(inside, weight[:, None], 0.0),
        weight_of=np.repeat(np.arange(n_folds, dtype=np.int32), n_labels),
        total_weight=weight,
    )
    options: dict[str, Any] = {"tol": _TOLERANCE, "patience": _PATIENCE, "keep_coef": False}
    solutions = solve_problems(problems, n_threads=n_threads, **options)
    losses = solutions.held_out.copy()
    for place in range(1, losses.shape[1]):
        # After the end of a path the loss counts as constant: it would only have risen further.
        left = np.isnan(losses[:, place])
        losses[left, place] = losses[left, place - 1]
    by_fold: Floats = losses.reshape(n_folds, n_labels, -1).sum(axis=1)
    best = int(by_fold.sum(axis=0).argmin())
    return by_fold[:, best].copy()


def choose_width(
    loss: Callable[[Floats], Floats], X: Any, map_of: Callable[[float], NystroemMap], gamma: float
) -> NystroemMap:
    """Return the map of the width with the least held-out loss.

    The search starts from `gamma` and a quarter of it, and goes downhill by factors of four, then
    two.
    """
    found: dict[int, tuple[float, NystroemMap]] = {}

    def best(candidates: Sequence[int]) -> int:
        for exponent in candidates:
            if exponent not in found and abs(exponent) <= _BOUND:
                candidate = map_of(gamma * 2.0**exponent)
                found[exponent] = float(loss(candidate(X)).sum()), candidate
                advance()
        return min(found, key=lambda exponent: found[exponent][0])

    with stage("choosing the width") as advance:
        center = best(_START)
        while (moved := best((center - _STEP, center + _STEP))) != center:
            center = moved
        center = best((center - _LAST_STEP, center + _LAST_STEP))
    return found[center][1]


# Numbers of rows that determine the median distance and the choice by held-out likelihood.
_ROWS_FOR_MEDIAN, _ROWS_FOR_CHOICE = 500, 1000
# Number of rows transformed at a time, so that kernel values take little memory.
_ROWS_AT_A_TIME = 2048


@dataclass(eq=False, repr=False, kw_only=True)
class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features whose inner products approximate the RBF kernel, for linear models to learn from.

    In a pipeline in front of any estimator, they make a kernel machine of a linear model: it can
    learn any smooth function. The kernel exp(−γ|x − z|²) compares whole rows, so features must be
    on comparable scales: standardise dense ones, and bring rows of counts to equal length
    (``Normalizer``) if their length means nothing.

    Parameters
    ----------
    gamma : float, "median" or "cv", default="cv"
        The γ of the kernel: large for a narrow one. "median" is one over the median squared
        distance of two rows; "cv" tries multiples of it, from 1/64 to 64, and keeps the one with
        the least held-out loss of the labels.
    n_components : int, default=600
        Number of features, one for each landmark; landmarks are drawn among the distinct rows.
        There are fewer if there are fewer distinct rows, or if fewer represent the kernel of all
        rows.
    n_jobs, random_state, verbose : see `Estimator`
        `random_state` seeds landmarks and folds; it may also be a Generator.

    Attributes
    ----------
    gamma_ : float
    n_components_ : int
        Number of features.
    feature_map_ : NystroemMap
        The map that `transform` computes, with its `landmarks`.

    Notes
    -----
    The squared length of a transformed row is about `n_components_`, not 1: divide inner products
    by it to compare them with the kernel.

    "cv" fits logistic regressions of all labels to at most 1000 rows, for about five widths and
    three folds, which takes at most about as long as fitting a `ClassifierChain` to the features.

    Landmarks depend on the rows' content and the seed, not on their order, and a row of weight two
    counts as two rows. The transformer keeps m landmarks (sparse if X is) and m² numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from labelweave import ClassifierChain, KernelFeatures
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> Y = np.stack([np.hypot(*X.T) < 1, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)
    >>> chain = ClassifierChain(C=1.0, label_penalty=1.0)
    >>> chain.fit(X[:200], Y[:200]).score(X[200:], Y[200:])
    0.35
    >>> model = make_pipeline(KernelFeatures(n_components=50), chain).fit(X[:200], Y[:200])
    >>> model.score(X[200:], Y[200:])
    0.96
    """

    gamma: float | str = "cv"
    n_components: int = 600
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the width and the landmarks; the labels y are only needed if `gamma` is "cv".

        They may be a matrix of 0/1, or an array of classes.
        """
        self._check_parameters()
        X = validated_features(self, X, reset=True)
        labels = _indicators(y, X.shape[0]) if self._is_supervised() else None
        weight = checked_weight(X, sample_weight)
        weight = np.ones(X.shape[0]) if weight is None else weight
        rows = np.flatnonzero(weight)
        if len(rows) < len(weight):
            X, weight = X[rows], weight[rows]
            labels = None if labels is None else labels[rows]
        shown = progress_shown("fitting KernelFeatures") if self.verbose > 0 else nullcontext()
        with shown:
            self.feature_map_ = self._choose(X, labels, weight)
        self.gamma_ = self.feature_map_.gamma
        self.n_components_ = self.feature_map_.n_features
        self._n_features_out = self.n_components_
        if self.verbose > 0:
            print(f"KernelFeatures: gamma = {self.gamma_:.4g}, {self.n_components_} features")
        return self

    def transform(self, X: Any) -> Floats:
        """Return the features of the rows of X, (n, n_components_)."""
        check_is_fitted(self)
        X = validated_features(self, X, reset=False)
        n_threads = check_n_jobs(self.n_jobs)
        features: Floats = np.empty((X.shape[0], self.n_components_))
        for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
            block = slice(first, first + _ROWS_AT_A_TIME)
            features[block] = self.feature_map_(X[block], n_threads)
        return features

    def _choose(self, X: Any, labels: Labels | None, weight: Floats) -> NystroemMap:
        """Return the feature map; labels are None if the width is not chosen by them."""
        seed = resolve_seed(self.random_state)
        number = number_rows(X, weight, seed)
        distinct = np.unique(number, return_index=True)[1]
        candidates, landmark_seed = X[distinct[: self.n_components]], derive_seed(seed, 1)

        def of_width(gamma: float) -> NystroemMap:
            return map_through(candidates, gamma, landmark_seed)

        if isinstance(self.gamma, str):
            gamma = 1 / median_distance(X[distinct[:_ROWS_FOR_MEDIAN]])
        else:
            gamma = float(self.gamma)
        if labels is None or len(distinct) < 2:
            return of_width(gamma)
        rows = np.flatnonzero(number < _ROWS_FOR_CHOICE)
        X, labels, weight = X[rows], labels[rows], weight[rows]
        # All widths are compared by the same rows in the same folds.
        folds, n_threads = assign_folds(X, weight, _N_FOLDS, seed), check_n_jobs(self.n_jobs)

        def loss(features: Floats) -> Floats:
            return held_out_loss(features, labels, weight, folds, n_threads)

        return choose_width(loss, X, of_width, gamma)

    def _is_supervised(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "cv"

    def _check_parameters(self) -> None:
        if not (isinstance(self.gamma, str) and self.gamma in ("cv", "median")):
            check_number(self.gamma, "gamma", above=0, otherwise="'cv', 'median'")
        check_whole_number(self.n_components, "n_components")
        check_n_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn which input the transformer accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._is_supervised()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _indicators(y: Any, n_rows: int) -> Labels:
    """Return labels as a matrix of 0/1; several classes have a column each."""
    if y is not None and type_of_target(y, input_name="y") == "multiclass":
        y = LabelBinarizer().fit_transform(np.asarray(y))
    return read_labels(y, n_rows)[0]
