"""Sets of label vectors with guaranteed coverage, from any estimator of P(y|x)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave._common.engine import processes
from labelweave._common.pipelines import innermost
from labelweave._common.row_keys import assign_folds, number_rows
from labelweave.decision import VectorSets
from labelweave.decision.losses import Decision
from labelweave.decision.sets import vector_sets
from labelweave.evaluation.conformal.cross_conformal import cross_conformal_sets
from labelweave.evaluation.conformal.nonconformity import (
    NONCONFORMITY,
    HeldOutScores,
    nonconformity,
)
from labelweave.evaluation.joint_estimators import check_frozen, checked_joint_estimator, joint_of
from labelweave.inference import Inference
from labelweave.joint import JointDistribution
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import seeded_clone
from labelweave.models.batch_labels import read_batch_labels

__all__ = ["ConformalClassifier"]


class ConformalClassifier(MultiLabelClassifier):
    """Sets of label vectors that contain the true one with a given probability.

    `predict_set` returns for each row all label vectors that are no stranger, by P(y|x), than those
    of held-out training rows. The truth is among them with probability `confidence` at least,
    however good or bad the estimator is, if the rows are exchangeable; a better estimator has
    smaller sets. Each set also says which labels are surely there, and which may be.

    Parameters
    ----------
    estimator : estimator of P(y|x), optional
        Or a pipeline or search that ends in one; by default ``ClassifierChain()``. A fitted model
        in scikit-learn's ``FrozenEstimator`` stays as it is: all rows that `fit` gets are then
        held out, and must not be those that the model has learned from.
    confidence : float, default=0.9
        The probability with which a set contains the true label vector, over the draw of training
        rows and of new ones.
    calibration : float or int, default=0.25
        A fraction is the share of rows that are held out, on which the estimator is not fitted
        (split conformal prediction). A whole number is a number of folds, each held out once (CV+):
        all rows are used for both, and coverage is about `confidence` in practice, but what is
        guaranteed is twice the error, 1 - 2 (1 - confidence), but for a term that vanishes with the
        number of rows.
    nonconformity : {"ratio", "probability"}, default="ratio"
        What makes a vector strange. "ratio": how much less probable it is than the most probable
        vector, log P(y*|x) - log P(y|x). "probability": -log P(y|x), by which rows that the model
        is unsure about have smaller sets, and are covered less often.
    max_size : int, default=1000
        Most vectors of a row's set that are written out.
    decision : {"subset", "hamming", "cmn", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of folds fitted at a time; -1 uses all cores.
    random_state : int, RandomState or None, default=None
        Seeds the choice of rows and every unset `random_state` of the estimator. None means 0.
    verbose : int, default=0
        If positive, print how many rows were held out.

    Attributes
    ----------
    estimator_ : estimator
        What `predict` and `predict_joint` ask: fitted to the rows that are not held out or, with
        folds, to all of them.
    estimators_ : list of estimators
        Those that held-out rows were scored by: one, or one per fold.
    held_out_rows_ : (m,) array of int
        Training rows that were held out.
    held_out_ : HeldOutScores
        Their scores, and the numbers of their folds and groups.
    groups_ : array or None
        The distinct groups.
    nonconformity_ : str
        What the scores are.

    Notes
    -----
    The guarantee is about all rows together, unless groups are given. A set that is not
    ``complete`` keeps the guarantee by its `outer` and `inner` labels: they are those of all of it.
    See docs/design/math.md, section 11.

    Transformers that learn from data belong into a pipeline inside, as ``estimator``: in front of
    the `ConformalClassifier` they would see held-out rows.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.evaluation import ConformalClassifier
    >>> from labelweave.models import ClassifierChain
    >>> data = load_emotions()
    >>> chain = ClassifierChain(C=0.01, label_penalty=0.03)
    >>> model = ConformalClassifier(estimator=chain, confidence=0.8)
    >>> model = model.fit(data.X[:400], data.Y[:400])
    >>> sets = model.predict_set(data.X[400:])
    >>> sets[1]
    array([[0, 0, 0, 0, 0, 1],
           [1, 0, 0, 0, 0, 1],
           [0, 0, 1, 0, 0, 0],
           [0, 1, 1, 0, 0, 0]], dtype=int8)
    >>> sets.outer[1]
    array([ True,  True,  True, False, False,  True])
    """

    held_out_: HeldOutScores
    groups_: NDArray[Any] | None

    def __init__(
        self,
        *,
        estimator: Any = None,
        confidence: float = 0.9,
        calibration: float | int = 0.25,
        nonconformity: str = "ratio",
        max_size: int = 1000,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.confidence = confidence
        self.calibration = calibration
        self.nonconformity = nonconformity
        self.max_size = max_size
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the estimator, and score rows that it has not seen.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
        groups : (n,) array, optional
            The group of each row. Coverage then holds within each group (Mondrian conformal
            prediction), and each needs held-out rows of its own.

        Returns
        -------
        self
        """
        self._reset()
        known = None if groups is None else _read_groups(groups, X)
        super().fit(X, y)
        if known is not None:
            self.groups_, codes = known
            self.held_out_ = replace(self.held_out_, groups=codes[self.held_out_rows_])
        return self

    def predict_set(self, X: Any, *, groups: Any = None) -> VectorSets:
        """Return for each row a set that contains its label vector with probability `confidence`.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        groups : (n,) array, optional
            The group of each row, if `fit` got groups. The set of a group of which no row was held
            out contains all label vectors.

        Returns
        -------
        VectorSets
        """
        check_is_fitted(self)
        confidence = check_number(self.confidence, "confidence", above=0, below=1)
        max_size = check_whole_number(self.max_size, "max_size")
        X = self._features(X, reset=False)
        codes = self._group_codes(groups, X)
        joints = [joint_of(model, X) for model in self.estimators_]
        offsets = [NONCONFORMITY[self.nonconformity_](joint) for joint in joints]
        if len(joints) > 1:
            sets = cross_conformal_sets(
                joints, offsets, self.held_out_, codes, confidence, max_size
            )
        else:
            floor = -self.held_out_.quantiles(codes, confidence) - offsets[0]
            sets = vector_sets(joints[0], floor, max_size=max_size)
        return replace(sets, confidence=confidence)

    def coverage(self, X: Any, y: Any, *, groups: Any = None) -> float:
        """Return the share of rows whose label vector is in the set that is written out.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
        groups : (n,) array, optional
        """
        sets = self.predict_set(X, groups=groups)
        labels, _ = read_batch_labels(y, len(sets), self._encoding)
        return float(sets.contains(labels).mean())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.confidence, "confidence", above=0, below=1)
        check_choice(self.nonconformity, "nonconformity", tuple(NONCONFORMITY))
        check_whole_number(self.max_size, "max_size")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        estimator = self.base_estimator()
        frozen = isinstance(estimator, FrozenEstimator)
        if frozen:
            check_frozen(estimator, self)
        held_out = self._held_out(X, seed, frozen)
        estimator = estimator if frozen else seeded_clone(estimator, seed)
        y = self._encoding.named(labels)
        self.nonconformity_ = self.nonconformity
        fitted = processes(self.n_jobs)(
            delayed(_fit_and_score)(estimator, X, y, labels, outside, self.nonconformity_)
            for outside in held_out
        )
        self.estimators_ = [model for model, _ in fitted]
        single = len(fitted) == 1
        self.estimator_ = self.estimators_[0] if single else clone(estimator).fit(X, y)
        rows = [np.flatnonzero(outside) for outside in held_out]
        folds = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        self.held_out_rows_ = np.concatenate(rows)
        scores = np.concatenate([part for _, part in fitted])
        self.held_out_ = HeldOutScores(scores, folds, np.zeros_like(folds))
        self.groups_ = None
        self._tell(f"{len(folds)} of {len(labels)} rows held out")

    def _held_out(self, X: Any, seed: int, frozen: bool) -> list[Mask]:
        """Return which rows each model is not fitted to."""
        weight = np.ones(X.shape[0])
        if frozen:
            return [weight > 0]
        if isinstance(self.calibration, float):
            share = check_number(self.calibration, "calibration", above=0, below=1)
            number = number_rows(X, weight, seed)
            n_distinct = int(number.max()) + 1
            return [number < min(max(1, round(share * n_distinct)), n_distinct - 1)]
        n_folds = check_whole_number(
            self.calibration, "calibration", 2, otherwise="a share between 0 and 1"
        )
        fold, n_folds = assign_folds(X, weight, n_folds, seed)
        # If all rows are equal, none can be held out.
        return [fold == k for k in range(n_folds)] if n_folds > 1 else [weight < 0]

    def base_estimator(self) -> Any:
        """Return `estimator`, checked, or the default."""
        return checked_joint_estimator(self.estimator)

    def _inference(self) -> Inference:
        model = self.estimator_ if hasattr(self, "estimator_") else self.base_estimator()
        strategy: Inference = innermost(model)._inference()
        return strategy

    def _joint(self, X: Any) -> JointDistribution:
        return joint_of(self.estimator_, X)

    def _group_codes(self, groups: Any, X: Any) -> Indices:
        """Return the numbers of groups; that of an unknown one is -1."""
        if (groups is None) != (self.groups_ is None):
            raise ValueError(
                "groups must be given to predict_set if fit got groups, and only then; fit got "
                f"{'none' if self.groups_ is None else 'some'}"
            )
        if self.groups_ is None:
            return np.zeros(X.shape[0], dtype=np.int64)
        names, codes = _read_groups(groups, X)
        known = {name: code for code, name in enumerate(self.groups_.tolist())}
        return np.array([known.get(name, -1) for name in names.tolist()], dtype=np.int64)[codes]


def _read_groups(groups: Any, X: Any) -> tuple[NDArray[Any], Indices]:
    """Return the distinct groups, and the number of each row's."""
    check_consistent_length(X, groups)
    names, codes = np.unique(column_or_1d(groups), return_inverse=True)
    return names, codes.astype(np.int64)


def _fit_and_score(
    estimator: Any, X: Any, y: Any, labels: Labels, outside: Mask, score: str
) -> tuple[Any, Floats]:
    """Return a model fitted to the other rows, and the scores of those outside."""
    model = clone(estimator).fit(X[~outside], y[~outside])
    if not outside.any():
        return model, np.empty(0)
    return model, nonconformity(joint_of(model, X[outside]), labels[outside], score)
