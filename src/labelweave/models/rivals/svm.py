"""ThresholdedSVM, LaSVM.

LaSVM: support vector machines that learn online, in the dual.

SVM_Batch: one linear support vector machine and one tuned threshold per label.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from labelweave._common.arrays import Counts, Floats, Indices, Labels, Positions
from labelweave._common.checks import check_choice, check_number
from labelweave._common.engine import processes
from labelweave._common.folds import presentation_order
from labelweave._common.matrices import native_matrix
from labelweave._common.row_keys import merge_equal_rows
from labelweave._core import native
from labelweave.decision import FixedThreshold
from labelweave.decision.rules import ThresholdRule
from labelweave.logistic.problem import ClassWeight, check_class_weight, weights_of_classes
from labelweave.models.rivals.margins import (
    KernelScorer,
    LinearScorer,
    Scorer,
    ThresholdClassifier,
    row_squares,
    varying,
)


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
        Number of folds of the training rows that are held out in turn.
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
    >>> from labelweave import LaSVM
    >>> from labelweave import load
    >>> data = load("emotions")
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


# What |x|² of the longest row may be at least and at most, and C|x|² at most.
_LEAST_SQUARE = 1e-40
_MOST_SQUARE, _MOST_CURVATURE = 1e300, 1e100


class ThresholdedSVM(ThresholdClassifier):
    """One linear SVM per label, by liblinear; thresholds tuned on held-out rows.

    Each label has the machine that minimises ``|w|²/2 + C Σ max(0, 1 - y (wx + b))²``. On skewed
    labels its sign is a poor guide, so the hyperplane is moved to where held-out rows have the
    best F1 (Yang's SCut). A label that comes to less than `fbr_` there has a threshold that few
    rows reach, its highest held-out score (the rule FBR.1 of Lewis et al.). There are
    no probabilities, only `predict` and `decision_function`.

    Parameters
    ----------
    C : float, "scale" or "cv", default="cv"
        Weight of the losses against the penalty, common to all labels; "scale" is one over the
        mean square of a row, "cv" chooses from 0.1 to 10 times that by the macro F1 of held-out
        rows.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows, and chooses the FBR
        value by the macro F1 of each fold under thresholds tuned on the others; "micro_f1" tunes
        one threshold for all labels. "cmn" predicts each label on the share of rows that had it in
        training, "lcard" as many labels a row, on average, as in training, "fixed" cuts at 0. A
        rule such as ``TunedThresholds(fbr=0.3)`` has settings of its own.
    class_weight : dict {0: float, 1: float} or "balanced", optional
        Weights of the losses of the classes 0 and 1 of each label; "balanced" gives both the same
        total weight, label by label. They take the place of tuned thresholds: decisions that tune
        cut at 0 then.
    n_folds : int, default=5
        Number of folds of the training rows that are held out in turn.
    tol : float, default=1e-4
        Where liblinear stops.
    max_iter : int, default=1000
        How many iterations it has at most.
    n_jobs : int, optional
        Processes that share the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds and liblinear. None counts as 0.
    verbose : int, default=0
        If positive, print what `fit` chose.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights; 0 for a label that was constant in training.
    intercept_ : (L,) array
        Before the thresholds are subtracted.
    thresholds_ : (L,) array
        If `decision` tunes them.
    C_, fbr_ : float
        The values used, given or chosen.
    seed_ : int
        What was drawn from `random_state`.
    n_iter_ : int
        The most iterations that a label took.

    Notes
    -----
    Equal rows become one row with the sum of their weights, and rows are put in an order of their
    own: liblinear stops short of the optimum, and so it stops at the same place however the rows
    come.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave import ThresholdedSVM
    >>> from labelweave import load
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = ThresholdedSVM(C=0.01).fit(X[:400], data.Y[:400])
    >>> model.predict(X[400:402])
    array([[0, 1, 1, 1, 1, 0],
           [0, 0, 1, 0, 0, 1]])
    >>> bool(((model.decision_function(X) > 0) == model.predict(X)).all())
    True
    """

    def __init__(
        self,
        *,
        C: float | str = "cv",
        decision: str | ThresholdRule = "macro_f1",
        class_weight: Mapping[int, float] | str | None = None,
        n_folds: int = 5,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.decision = decision
        self.class_weight = class_weight
        self.n_folds = n_folds
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    scorer_: LinearScorer

    @property
    def coef_(self) -> Floats:
        """Weights, (L, D)."""
        return self.scorer_.weights

    @property
    def intercept_(self) -> Floats:
        """Intercepts, (L,)."""
        return self.scorer_.intercept

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        self._count("max_iter")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        super()._fit(*merge_equal_rows(X, labels, weight))

    def _resolved_rule(self) -> ThresholdRule:
        rule = super()._resolved_rule()
        is_weighted = self.class_weight is not None and "held_out" in rule.needs
        return FixedThreshold(0.0) if is_weighted else rule

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> LinearScorer:
        trained = train_svms(
            X,
            labels,
            weight,
            C,
            class_weight=check_class_weight(self.class_weight),
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self.seed_,
            n_jobs=self.n_jobs,
        )
        if final:
            self._describe(trained.n_iter)
        return trained.scorer

    def _describe(self, n_iter: Counts) -> None:
        self.n_iter_ = max(1, int(n_iter.max(initial=0)))
        n_failed = int((n_iter >= self.max_iter).sum())
        if n_failed:
            warnings.warn(
                f"{n_failed} of {len(n_iter)} support vector machines did not converge: scale the "
                "features (for example with sklearn's StandardScaler), lower C or raise max_iter",
                ConvergenceWarning,
                stacklevel=6,
            )


class TrainedSVMs(NamedTuple):
    """Machines of all labels, and the iterations of those that were not constant."""

    scorer: LinearScorer
    n_iter: Counts


def train_svms(
    X: Any,
    labels: Labels,
    weight: Floats,
    C: float,
    *,
    class_weight: ClassWeight = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    seed: int = 0,
    n_jobs: int | None = None,
) -> TrainedSVMs:
    """Train the linear SVMs of all labels; constant ones score 0."""
    _require_moderate(X, C)
    weights, intercept = np.zeros((labels.shape[1], X.shape[1])), np.zeros(labels.shape[1])
    svm = LinearSVC(C=C, tol=tol, max_iter=max_iter, random_state=seed)
    trained = varying(labels)
    by_class = weights_of_classes(labels, weight, class_weight)
    # Threads would share liblinear's one generator of random numbers: processes do not.
    machines = processes(n_jobs)(
        delayed(_train_one)(svm, X, labels[:, j], weight * by_class[labels[:, j], j])
        for j in trained
    )
    for label, (w, b, _) in zip(trained, machines, strict=True):
        weights[label], intercept[label] = w, b
    n_iter = np.array([n for _, _, n in machines], dtype=np.int64)
    return TrainedSVMs(LinearScorer(weights, intercept), n_iter)


def _require_moderate(X: Any, C: float) -> None:
    """Liblinear does not return once its products, up to C³|x|⁴, overflow or vanish."""
    largest = float(row_squares(X).max(initial=0.0))
    if largest < _LEAST_SQUARE and (X.data if hasattr(X, "tocsr") else X).any():
        raise ValueError(
            f"X has no row longer than {np.sqrt(largest):.3g}, too small for an SVM: scale the "
            "features, for example with sklearn's StandardScaler"
        )
    if not (largest <= _MOST_SQUARE and C * largest <= _MOST_CURVATURE):
        raise ValueError(
            f"X has rows of length {np.sqrt(largest):.3g}, too large for an SVM with C={C:.3g}: "
            "scale the features, for example with sklearn's StandardScaler"
        )


def _train_one(svm: LinearSVC, X: Any, target: Labels, weight: Floats) -> tuple[Floats, float, int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        svm.fit(X, target, sample_weight=weight)
    return svm.coef_[0].copy(), float(svm.intercept_[0]), int(svm.n_iter_)
