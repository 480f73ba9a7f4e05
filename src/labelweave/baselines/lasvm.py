"""LaSVM: support vector machines that learn online, in the dual."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.checks import check_choice, check_number
from labelweave._common.features import native_matrix
from labelweave._common.row_keys import presentation_order
from labelweave._core import native
from labelweave.baselines._decision_functions import KernelScorer, LinearScorer, Scorer, varying
from labelweave.baselines._duplicate_rows import merge_equal_rows
from labelweave.baselines.threshold_classifier import ThresholdClassifier
from labelweave.decision.rules import ThresholdRule


class LaSVM(ThresholdClassifier):
    """One online SVM per label (Bordes, Ertekin, Weston and Bottou, 2005).

    Rows are presented one after another. Each enters a working set and the dual takes a step along
    the best pair that the row belongs to; another step, along the best pair of all, then drops rows
    that are of no use any more. A finishing run of such steps solves the dual on the working set.
    One pass comes close to the batch solution, more passes come to it. Thresholds are tuned on
    held-out rows, which moves the bias. There are no probabilities, only `predict` and
    `decision_function`.

    Time grows with the square of the rows: some ten thousand are the limit.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
        ``a·b``, or ``exp(-gamma |a - b|²)``.
    gamma : float or "scale", default="scale"
        Of the RBF kernel; "scale" is one over the number of features times their variance.
    C : float, "scale" or "cv", default="scale"
        Weight of the hinge losses against the penalty, common to all labels; "scale" is one over
        the mean of K(x, x), "cv" chooses from 0.1 to 10 times that by the macro F1 of held-out
        rows, at 25 times the cost.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows (see `ThresholdedSVM`),
        "micro_f1" one for all labels. "cmn" predicts each label on the share of rows that had it in
        training, "lcard" as many labels a row, on average, as in training, "fixed" cuts at 0.
    n_folds : int, default=5
        Parts of the training rows that are held out in turn.
    passes : int, default=1
        How often the rows are presented.
    shuffle : bool, default=True
        Whether they are presented in random order: one that depends on their content and
        `random_state`, not on the order they come in. Equal rows are then presented as one row
        with the sum of their weights.
    tol : float, default=1e-3
        Pairs whose gradients differ by less are left alone.
    max_steps : int, default=1000000
        Steps of a label's finishing at most.
    cache_mb : float, default=256
        Memory for kernel values, in megabytes. Results do not depend on it.
    n_jobs : int, optional
        Threads that share the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the folds. None counts as 0.
    verbose : int, default=0
        If positive, print what `fit` chose.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights; linear kernel only.
    intercept_ : (L,) array
        Before the thresholds are subtracted.
    n_support_ : (L,) array of int
        Support vectors of each label.
    objective_ : (L,) array
        The dual objective reached, ``Σ α_i y_i - ½ Σ α_i α_j K_ij``.
    thresholds_ : (L,) array
        If `decision` tunes them.
    C_, fbr_, gamma_ : float
        The values used, given or chosen.
    seed_ : int
        What was drawn from `random_state`.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave.baselines import LaSVM
    >>> from labelweave.datasets import load_emotions
    >>> data = load_emotions()
    >>> X = scale(data.X)
    >>> model = LaSVM(kernel="rbf").fit(X[:400], data.Y[:400])
    >>> model.predict(X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 1, 0, 0, 1]])
    """

    def __init__(
        self,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        C: float | str = "scale",
        decision: str | ThresholdRule = "macro_f1",
        n_folds: int = 5,
        passes: int = 1,
        shuffle: bool = True,
        tol: float = 1e-3,
        max_steps: int = 1_000_000,
        cache_mb: float = 256,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.C = C
        self.decision = decision
        self.n_folds = n_folds
        self.passes = passes
        self.shuffle = shuffle
        self.tol = tol
        self.max_steps = max_steps
        self.cache_mb = cache_mb
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def coef_(self) -> Floats:
        """Weights of the linear kernel, (L, D)."""
        if not isinstance(self.scorer_, LinearScorer):
            raise AttributeError("coef_ is for the linear kernel")
        return self.scorer_.weights

    @property
    def intercept_(self) -> Floats:
        """Intercepts, (L,)."""
        return self.scorer_.intercept

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.kernel, "kernel", ("linear", "rbf"))
        if not isinstance(self.gamma, str) or self.gamma != "scale":
            check_number(self.gamma, "gamma", above=0, otherwise="'scale'")
        self._count("passes")
        self._count("max_steps")
        check_number(self.tol, "tol", above=0)
        check_number(self.cache_mb, "cache_mb", above=0)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        if self.shuffle:
            X, labels, weight = merge_equal_rows(X, labels, weight)
        if self.kernel == "rbf":
            self.gamma_ = self._gamma(X, weight)
        super()._fit(X, labels, weight)

    def _gamma(self, X: Any, weight: Floats) -> float:
        if self.gamma != "scale":
            return float(self.gamma)
        share = weight / weight.sum()
        squares = X.multiply(X) if hasattr(X, "multiply") else X**2
        variance = np.mean(share @ squares) - np.mean(share @ X) ** 2
        return float(1.0 / (X.shape[1] * variance)) if 0 < variance < np.inf else 1.0

    def _mean_square(self, X: Any, weight: Floats) -> float:
        return 1.0 if self.kernel == "rbf" else super()._mean_square(X, weight)

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> Scorer:
        n_labels, linear = labels.shape[1], self.kernel == "linear"
        trained = varying(labels)
        weights = np.zeros((len(trained), X.shape[1])) if linear else None
        solved = native.lasvm(
            native_matrix(X),
            np.ascontiguousarray(labels[:, trained]),
            C * weight,
            self._orders(X, labels),
            None if linear else self.gamma_,
            float(self.tol),
            int(self.max_steps),
            int(self.cache_mb * 1e6),
            weights,
            self._n_threads(),
        )
        intercept = np.zeros(n_labels)
        intercept[trained] = [b for _, _, b, _, _ in solved]
        if final:
            self._describe(trained, solved)
        if weights is not None:
            all_weights = np.zeros((n_labels, X.shape[1]))
            all_weights[trained] = weights
            return LinearScorer(all_weights, intercept)
        alpha = np.zeros((n_labels, X.shape[0]))
        for label, (support, values, *_) in zip(trained, solved, strict=True):
            alpha[label, support] = values
        used = np.flatnonzero(alpha.any(axis=0))
        return KernelScorer(X[used], np.ascontiguousarray(alpha[:, used]), intercept, self.gamma_)

    def _orders(self, X: Any, labels: Labels) -> Indices:
        if not self.shuffle:
            return np.tile(np.arange(len(labels), dtype=np.int64), (self.passes, 1))
        seeds = range(self.seed_, self.seed_ + self.passes)
        return np.stack([presentation_order(X, labels, seed) for seed in seeds])

    def _describe(self, trained: Positions, solved: list[Any]) -> None:
        self.n_support_ = np.zeros(self.n_labels_, dtype=np.int64)
        self.objective_ = np.zeros(self.n_labels_)
        self.n_support_[trained] = [len(support) for support, *_ in solved]
        self.objective_[trained] = [objective for *_, objective, _ in solved]
        n_failed = sum(not converged for *_, converged in solved)
        if n_failed:
            warnings.warn(
                f"{n_failed} of {len(trained)} support vector machines did not converge: scale "
                "the features (for example with sklearn's StandardScaler), lower C or raise "
                "max_steps",
                ConvergenceWarning,
                stacklevel=6,
            )
