"""Support vector machines, one per label, with tuned thresholds.

`ThresholdedSVM` trains linear machines in batch by liblinear, which minimises, for each label with
targets t = ±1, |w|²/2 + C Σ max(0, 1 - t (w·x + b))². `LaSVM` trains online in the dual, linearly
or with an RBF kernel, and maximises Σ α_i t_i - ½ Σ α_i α_j K_ij over multipliers with Σ α_i = 0
and α_i t_i between 0 and C.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from labelweave._common.arrays import Counts, Floats, Labels, Positions
from labelweave._common.checks import check_choice, check_number
from labelweave._common.engine import processes
from labelweave._common.matrices import native_matrix
from labelweave._common.row_keys import merge_equal_rows
from labelweave._core import native
from labelweave.decision import FixedThreshold
from labelweave.decision.rules import ThresholdRule
from labelweave.logistic.problem import ClassWeight, check_class_weight, weights_of_classes
from labelweave.models.rivals.margins import (
    KernelScorer,
    LinearScorer,
    MarginClassifier,
    Rows,
    Scorer,
    presentation_orders,
    row_squares,
    varying,
)

# The final optimisation of a label's machine takes at most this many steps. Only an ill-conditioned
# problem takes more: scaling its features or lowering C helps, and further steps hardly do.
_MAX_STEPS = 1_000_000
# Memory for kernel values in bytes, for all labels together; results do not depend on it.
_CACHE = 256_000_000


@dataclass(eq=False, repr=False, kw_only=True)
class LaSVM(MarginClassifier):
    """One online SVM per label (LaSVM; Bordes, Ertekin, Weston and Bottou, 2005).

    Rows are presented one after another. Each row enters a working set, and the dual takes a step
    along the best pair of rows that contains the new one; a second step, along the best pair of
    all, then drops rows that no longer matter. After the last row, such steps solve the dual on the
    working set. One pass comes close to the batch solution, and further passes converge to it.
    Thresholds are tuned on held-out rows, which moves the bias. There are no probabilities, only
    `predict` and `decision_function`.

    Time grows with the square of the number of rows: some ten thousand rows are the limit.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
        ``a·b``, or ``exp(-gamma |a - b|²)``.
    gamma : float or "scale", default="scale"
        Parameter of the RBF kernel; "scale" is one over the number of features times their
        variance.
    C : float, "scale" or "cv", default="scale"
        Weight of the hinge losses relative to the penalty, shared by all labels; "scale" is one
        over the mean of K(x, x). "cv" chooses from 0.1 to 10 times that by the macro F1 of held-out
        rows, at 25 times the cost.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows (see `ThresholdedSVM`), and
        "micro_f1" one for all labels. "cmn" gives each label to the share of rows that had it in
        training, "lcard" gives rows as many labels on average as in training, and "fixed" cuts at
        0.
    cv : int, splitter or list of (train, test), default=5
        Folds of the training rows, which are held out in turn: their number, or splits as in
        scikit-learn.
    passes : int, default=1
        Number of times the rows are presented.
    shuffle : bool, default=True
        Whether to present the rows in random order. The order depends on the content of the rows
        and `random_state`, not on the order in which rows are given. Equal rows are then presented
        as one row with the sum of their weights.
    tol : float, default=1e-3
        Pairs of rows whose gradients differ by less take no step.
    n_jobs : int, optional
        Number of threads that share the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the folds. None means 0.
    verbose : int, default=0
        If positive, print the chosen C.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights; only for the linear kernel.
    intercept_ : (L,) array
        Intercepts, before the thresholds are subtracted.
    n_support_ : (L,) array of int
        Number of support vectors of each label.
    objective_ : (L,) array
        The dual objective reached, ``Σ α_i t_i - ½ Σ α_i α_j K_ij`` with targets t = ±1.
    thresholds_ : (L,) array
        Thresholds, if `decision` tunes them on training rows.
    C_, fbr_, gamma_ : float
        The values used, given or chosen.
    seed_ : int
        The seed drawn from `random_state`.

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

    C: float | str = "scale"
    kernel: str = "linear"
    gamma: float | str = "scale"
    passes: int = 1
    shuffle: bool = True
    tol: float = 1e-3

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.kernel, "kernel", ("linear", "rbf"))
        if not isinstance(self.gamma, str) or self.gamma != "scale":
            check_number(self.gamma, "gamma", above=0, otherwise="'scale'")
        self._count("passes")
        check_number(self.tol, "tol", above=0)

    def _training_rows(self, X: Any, labels: Labels, weight: Floats) -> Rows:
        rows = super()._training_rows(X, labels, weight)
        if self.kernel == "rbf":
            merged, _, weight = self._merged(rows.X, rows.labels, rows.weight)
            self.gamma_ = self._gamma(merged, weight)
        return rows

    def _merged(self, X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
        return merge_equal_rows(X, labels, weight) if self.shuffle else (X, labels, weight)

    def _gamma(self, X: Any, weight: Floats) -> float:
        if self.gamma != "scale":
            return float(self.gamma)
        share = weight / weight.sum()
        squares = X.multiply(X) if hasattr(X, "multiply") else X**2
        variance = np.mean(share @ squares) - np.mean(share @ X) ** 2
        return float(1.0 / (X.shape[1] * variance)) if 0 < variance < np.inf else 1.0

    def _mean_square(self, rows: Rows) -> float:
        return 1.0 if self.kernel == "rbf" else super()._mean_square(rows)

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> Scorer:
        X, labels, weight = self._merged(X, labels, weight)
        n_labels, linear = labels.shape[1], self.kernel == "linear"
        trained = varying(labels)
        weights = np.zeros((len(trained), X.shape[1])) if linear else None
        solved = native.lasvm(
            native_matrix(X),
            np.ascontiguousarray(labels[:, trained]),
            C * weight,
            presentation_orders(X, labels, self.passes, self.seed_, shuffle=self.shuffle),
            None if linear else self.gamma_,
            float(self.tol),
            _MAX_STEPS,
            _CACHE,
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

    def _describe(self, trained: Positions, solved: list[Any]) -> None:
        self.n_support_ = np.zeros(self.n_labels_, dtype=np.int64)
        self.objective_ = np.zeros(self.n_labels_)
        self.n_support_[trained] = [len(support) for support, *_ in solved]
        self.objective_[trained] = [objective for *_, objective, _ in solved]
        n_failed = sum(not converged for *_, converged in solved)
        if n_failed:
            warnings.warn(
                f"{n_failed} of {len(trained)} support vector machines did not converge: scale "
                "the features (for example with sklearn's StandardScaler) or lower C",
                ConvergenceWarning,
                stacklevel=6,
            )


# Bounds on |x|² of the longest row, and the largest C|x|².
_LEAST_SQUARE = 1e-40
_MOST_SQUARE, _MOST_CURVATURE = 1e300, 1e100


@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdedSVM(MarginClassifier):
    """One linear SVM per label, with thresholds tuned on held-out rows (SVM_Batch).

    The machine of a label minimises ``|w|²/2 + C Σ max(0, 1 - t (w·x + b))²`` with targets t = ±1,
    by liblinear. For rare labels its sign predicts too few rows, so the hyperplane is moved to
    where held-out rows have the best F1 (SCut; Yang, 2001). A label whose best F1 is below `fbr_`
    gets its highest held-out score as its threshold, which few rows exceed (FBR.1; Lewis et al.,
    2004). There are no probabilities, only `predict` and `decision_function`.

    Parameters
    ----------
    C : float, "scale" or "cv", default="cv"
        Weight of the losses relative to the penalty, shared by all labels; "scale" is one over the
        mean square of a row. "cv" chooses from 0.1 to 10 times that by the macro F1 of held-out
        rows.
    decision : {"macro_f1", "micro_f1", "cmn", ...} or ThresholdRule, default="macro_f1"
        "macro_f1" tunes one threshold per label on held-out rows; it chooses the FBR value by the
        macro F1 of each fold under thresholds tuned on the other folds. "micro_f1" tunes one
        threshold for all labels. "cmn" gives each label to the share of rows that had it in
        training, "lcard" gives rows as many labels on average as in training, and "fixed" cuts at
        0. A rule such as ``TunedThresholds(fbr=0.3)`` has settings of its own.
    class_weight : dict {0: float, 1: float} or "balanced", optional
        Weights of the losses of the classes 0 and 1 of each label; "balanced" gives both the same
        total weight, label by label. Class weights replace tuned thresholds: decisions that tune
        thresholds then cut at 0.
    cv : int, splitter or list of (train, test), default=5
        Folds of the training rows, which are held out in turn: their number, or splits as in
        scikit-learn.
    tol : float, default=1e-4
        Tolerance of liblinear's stopping criterion.
    max_iter : int, default=1000
        Maximum number of liblinear's iterations.
    n_jobs : int, optional
        Number of processes that share the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds and liblinear. None means 0.
    verbose : int, default=0
        If positive, print the chosen C.

    Attributes
    ----------
    coef_ : (L, D) array
        Weights; 0 for a label that was constant in training.
    intercept_ : (L,) array
        Intercepts, before the thresholds are subtracted.
    thresholds_ : (L,) array
        Thresholds, if `decision` tunes them on training rows.
    C_, fbr_ : float
        The values used, given or chosen.
    seed_ : int
        The seed drawn from `random_state`.
    n_iter_ : int
        The largest number of iterations of any label.

    Notes
    -----
    Equal rows are merged to one row with the sum of their weights, and the rows are sorted by their
    content. Liblinear stops before the optimum, and then stops at the same point in whatever order
    rows are given.

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

    class_weight: Mapping[int, float] | str | None = None
    tol: float = 1e-4
    max_iter: int = 1000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_class_weight(self.class_weight)
        self._count("max_iter")

    def _merged(self, X: Any, labels: Labels, weight: Floats) -> tuple[Any, Labels, Floats]:
        return merge_equal_rows(X, labels, weight)

    def _resolved_rule(self) -> ThresholdRule:
        rule = super()._resolved_rule()
        is_weighted = self.class_weight is not None and "held_out" in rule.needs
        return FixedThreshold(0.0) if is_weighted else rule

    def _scorer(
        self, X: Any, labels: Labels, weight: Floats, C: float, *, final: bool = False
    ) -> LinearScorer:
        trained = train_svms(
            *self._merged(X, labels, weight),
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
    """The machines of all labels, and the iterations of each label that varied."""

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
    """Train the linear SVMs of all labels; a constant label scores 0."""
    _require_moderate(X, C)
    weights, intercept = np.zeros((labels.shape[1], X.shape[1])), np.zeros(labels.shape[1])
    svm = LinearSVC(C=C, tol=tol, max_iter=max_iter, random_state=seed)
    trained = varying(labels)
    by_class = weights_of_classes(labels, weight, class_weight)
    # Threads would share liblinear's only random number generator; processes have one each.
    machines = processes(n_jobs)(
        delayed(_train_one)(svm, X, labels[:, j], weight * by_class[labels[:, j], j])
        for j in trained
    )
    for label, (w, b, _) in zip(trained, machines, strict=True):
        weights[label], intercept[label] = w, b
    n_iter = np.array([n for _, _, n in machines], dtype=np.int64)
    return TrainedSVMs(LinearScorer(weights, intercept), n_iter)


def _require_moderate(X: Any, C: float) -> None:
    """Refuse rows with which liblinear's products, up to C³|x|⁴, overflow or vanish.

    Liblinear would never return.
    """
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
