"""The transformer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.checks import check_choice, check_n_jobs, check_number, check_whole_number
from labelweave._common.features import validated_features
from labelweave._common.progress import progress_shown
from labelweave._common.row_keys import number_rows
from labelweave._common.seeds import derive_seed, resolve_seed
from labelweave.features.distances import median_distance
from labelweave.features.feature_maps import FeatureMap
from labelweave.features.fourier import draw_frequencies
from labelweave.features.nystroem import choose_landmarks
from labelweave.features.width_selection import HeldOutLoss, choose_number, choose_width
from labelweave.models.label_encoding import read_labels

# Numbers of features that "cv" chooses from; the width is chosen at the last.
_NUMBERS = (75, 150, 300, 600)
# Landmarks are drawn from this many distinct rows for each of them, at most.
_ROWS_PER_LANDMARK = 10
# Rows that the median of distances, and the choice by held-out likelihood, take into account.
_ROWS_FOR_MEDIAN, _ROWS_FOR_CHOICE = 500, 1000
# Rows that are transformed at a time, so that kernel values take little memory.
_ROWS_AT_A_TIME = 2048
_LANDMARKS = ("uniform", "kmeans++", "cholesky")


class KernelFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features whose inner products approximate the RBF kernel, for linear models to learn from.

    A linear model on these features is a kernel machine: it can learn any smooth function of the
    original ones. Put them in front of any estimator, in a pipeline. The kernel's width
    and the number of features are chosen by the held-out log-likelihood of the labels.

    The kernel exp(−γ|x − z|²) compares whole rows, so features must be on comparable scales:
    standardise dense ones, and bring rows of counts to equal length (``Normalizer``) if their
    length means nothing.

    Parameters
    ----------
    gamma : float, "median" or "cv", default="cv"
        The γ of the kernel: large for a narrow one. "median" is one over the median squared
        distance of two rows; "cv" tries multiples of it, from 1/64 to 64, and keeps the one with
        the least held-out loss.
    n_components : int or "cv", default=600
        Number of features. There are fewer if there are fewer distinct rows, or if fewer represent
        the kernel of all of them. "cv" takes the smallest of 75, 150, 300 and 600 that is as good
        as the best, up to a standard error of the held-out loss.
    approximation : {"nystroem", "fourier"}, default="nystroem"
        "nystroem": the kernel of a row and landmarks, which are rows of the training data, made
        orthogonal. "fourier": cosines and sines of random projections, which are drawn without
        looking at the rows; more of them are needed for the same quality.
    landmarks : {"uniform", "kmeans++", "cholesky"}, default="uniform"
        How landmarks are drawn among the distinct rows. "uniform": all rows are equally probable.
        "kmeans++": by the squared distance from the nearest landmark so far. "cholesky": by the
        error of the kernel so far (randomly pivoted Cholesky), which approximates the kernel
        best, though not always the labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seeds landmarks, frequencies and folds. None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, show progress and print what was chosen.

    Attributes
    ----------
    gamma_ : float
    n_components_ : int
        Number of features; that of "fourier" features is rounded up to an even one.
    feature_map_ : NystroemMap or FourierMap
        What `transform` computes; a `NystroemMap` has the `landmarks`.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The squared length of a transformed row is about `n_components_`, not 1, so that penalties that
    suit standardised features suit these; divide inner products by it to compare them with the
    kernel.

    "cv" fits logistic regressions of all labels to at most 1000 rows, some five widths times three
    folds, each along a path of penalties. On data of that size this takes about as long as
    fitting a `ClassifierChain` to the features; on larger data less.

    Landmarks depend on the rows' content and the seed, not on their order, and a row of weight two
    counts as two rows. Beside the result, `transform` needs memory for 2048 rows; Fourier features
    keep D × m / 2 frequencies, Nyström features m landmarks (sparse if X is) and m² numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from labelweave.features import KernelFeatures
    >>> from labelweave.models import ClassifierChain
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> Y = np.stack([np.hypot(*X.T) < 1, X[:, 0] * X[:, 1] > 0], axis=1).astype(int)
    >>> chain = ClassifierChain(C=1.0, label_penalty=1.0)
    >>> chain.fit(X[:200], Y[:200]).score(X[200:], Y[200:])
    0.35
    >>> model = make_pipeline(KernelFeatures(n_components=50), chain).fit(X[:200], Y[:200])
    >>> model.score(X[200:], Y[200:])
    0.96
    """

    def __init__(
        self,
        *,
        gamma: float | str = "cv",
        n_components: int | str = 600,
        approximation: str = "nystroem",
        landmarks: str = "uniform",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.approximation = approximation
        self.landmarks = landmarks
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the width, the number of features, and landmarks or frequencies.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1, or (n,) array of classes
            The labels; only needed if `gamma` or `n_components` is "cv".
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validated_features(self, X, reset=True)
        labels = _indicators(y, X.shape[0]) if self._is_supervised() else None
        weight = _weights(sample_weight, X)
        rows = np.flatnonzero(weight)
        if len(rows) < len(weight):
            X, weight = X[rows], weight[rows]
            labels = None if labels is None else labels[rows]
        with self._watched():
            self.feature_map_ = self._choose(X, labels, weight)
        self.gamma_ = self.feature_map_.gamma
        self.n_components_ = self.feature_map_.n_features
        self._n_features_out = self.n_components_
        if self.verbose > 0:
            print(f"KernelFeatures: gamma = {self.gamma_:.4g}, {self.n_components_} features")
        return self

    def transform(self, X: Any) -> Floats:
        """Return the features of the rows of X, (n, n_components_).

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame

        Returns
        -------
        (n, n_components_) array
        """
        check_is_fitted(self)
        X = validated_features(self, X, reset=False)
        n_threads = check_n_jobs(self.n_jobs)
        features: Floats = np.empty((X.shape[0], self.n_components_))
        for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
            block = slice(first, first + _ROWS_AT_A_TIME)
            features[block] = self.feature_map_(X[block], n_threads)
        return features

    def _choose(self, X: Any, labels: Labels | None, weight: Floats) -> FeatureMap:
        """Return the feature map; labels are None if nothing is to be chosen by them."""
        seed = resolve_seed(self.random_state)
        number = number_rows(X, weight, seed)
        distinct = np.unique(number, return_index=True)[1]
        draw = partial(self._draw, X, distinct, derive_seed(seed, 1))
        if isinstance(self.gamma, str):
            gamma = 1 / median_distance(X[distinct[:_ROWS_FOR_MEDIAN]])
        else:
            gamma = float(self.gamma)
        if labels is None or len(distinct) < 2:
            return draw(gamma)
        rows = np.flatnonzero(number < _ROWS_FOR_CHOICE)
        X, labels, weight = X[rows], labels[rows], weight[rows]
        loss = HeldOutLoss.of(X, labels, weight, seed, check_n_jobs(self.n_jobs))
        chosen = choose_width(loss, X, draw, gamma) if _is_cv(self.gamma) else draw(gamma)
        if _is_cv(self.n_components):
            chosen = choose_number(loss, X, chosen, _NUMBERS)
        return chosen

    def _draw(self, X: Any, distinct: Positions, seed: int, gamma: float) -> FeatureMap:
        """Return the map of a width, from distinct rows of X in random order."""
        size = _NUMBERS[-1] if _is_cv(self.n_components) else int(self.n_components)
        if self.approximation == "fourier":
            return draw_frequencies(X.shape[1], gamma, size, seed)
        n_candidates = size * (1 if self.landmarks == "uniform" else _ROWS_PER_LANDMARK)
        return choose_landmarks(X[distinct[:n_candidates]], gamma, size, self.landmarks, seed)

    def _is_supervised(self) -> bool:
        return _is_cv(self.gamma) or _is_cv(self.n_components)

    def _check_parameters(self) -> None:
        if not (isinstance(self.gamma, str) and self.gamma in ("cv", "median")):
            check_number(self.gamma, "gamma", above=0, otherwise="'cv', 'median'")
        if not _is_cv(self.n_components):
            check_whole_number(self.n_components, "n_components", otherwise="'cv'")
        check_choice(self.approximation, "approximation", ("nystroem", "fourier"))
        check_choice(self.landmarks, "landmarks", _LANDMARKS)
        check_n_jobs(self.n_jobs)

    def _watched(self) -> AbstractContextManager[None]:
        return progress_shown("fitting KernelFeatures") if self.verbose > 0 else nullcontext()

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what the transformer accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = self._is_supervised()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _is_cv(value: Any) -> bool:
    return isinstance(value, str) and value == "cv"


def _weights(sample_weight: Any, X: Any) -> Floats:
    if sample_weight is not None and not np.asarray(sample_weight).any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    weight: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weight


def _indicators(y: Any, n_rows: int) -> Labels:
    """Return labels as a matrix of 0/1; several classes have a column each."""
    if y is not None and type_of_target(y, input_name="y") == "multiclass":
        y = LabelBinarizer().fit_transform(np.asarray(y))
    return read_labels(y, n_rows)[0]
