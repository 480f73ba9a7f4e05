"""ConformalClassifier: sets of label vectors that contain the true one as often as asked.

A set holds the vectors whose score is at most the conformal quantile of the scores of held-out
rows; with several folds (CV+) each fold's model compares a vector with the rows that it has not
seen (docs/design/math.md, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Counts, Floats, Indices, Labels, Mask, Positions
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave._common.folds import Fold, check_folds, deal
from labelweave._common.labels import read_batch_labels
from labelweave._common.pipelines import inside
from labelweave.decision import VectorSets
from labelweave.decision.sets import probable_vectors, reachable_values, vector_sets
from labelweave.inference import Auto
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.joint.enumeration import row_blocks
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ClassifierChain
from labelweave.models.conditionals import seeded_clone
from labelweave.models.cross_fitting import (
    TrainingData,
    check_frozen,
    check_wrapped,
    cross_fit,
    joint_of,
)

#: The quantity that each score subtracts from -log P(y|x).
NONCONFORMITY: dict[str, Callable[[JointDistribution], Floats]] = {
    "ratio": lambda joint: -joint.mode(Auto()).log_prob,
    "probability": lambda joint: np.zeros(joint.n_rows),
}
# Log-probabilities that are computed in two ways differ by less than this, relatively: a vector
# exactly at the quantile belongs to the set.
_ROUNDING = 1e-9


def nonconformity(joint: JointDistribution, Y: npt.ArrayLike, score: str = "ratio") -> Floats:
    """Return how strange one label vector of each row is, (n,)."""
    return -joint.log_prob(Y) - NONCONFORMITY[score](joint)


def _rank(n: int, confidence: float) -> int:
    """Return which of n held-out scores is the conformal quantile, counted from 1."""
    # Of n + 1 exchangeable scores, any one is among the m smallest with probability m / (n + 1).
    # 0.07 * 100 is slightly above 7: such rounding must not cost a whole rank.
    return math.ceil(confidence * (n + 1) - _ROUNDING)


def conformal_quantile(scores: npt.ArrayLike, confidence: float) -> float:
    """Return a number that a new exchangeable score exceeds with probability ≤ 1 - confidence."""
    check_number(confidence, "confidence", above=0, below=1)
    values = np.sort(np.asarray(scores, dtype=np.float64).ravel())
    if np.isnan(values).any():
        raise ValueError("scores must be numbers; they contain NaN")
    rank = _rank(len(values), confidence)
    return float(values[rank - 1]) if rank <= len(values) else math.inf


@dataclass(frozen=True)
class ConformalScores:
    """Scores of held-out rows, and the numbers of their folds and of their groups, (m,) each."""

    scores: Floats
    folds: Indices
    groups: Indices

    def quantiles(self, groups: Indices, confidence: float) -> Floats:
        """Return the conformal quantile of each new row's group, (n,), slightly rounded up."""
        out = np.empty(len(groups))
        for group in np.unique(groups):
            quantile = conformal_quantile(self.scores[self.groups == group], confidence)
            out[groups == group] = quantile + _ROUNDING * (1 + abs(quantile))
        return out

    def conforms(self, scores: Floats, groups: Indices, confidence: float) -> tuple[Mask, Counts]:
        """Return which vectors belong to the sets of CV+, and how many scores are lower."""
        below = np.zeros(len(scores), dtype=np.int64)
        rank = np.empty(len(scores), dtype=np.int64)
        lowered = scores - _ROUNDING * (1 + np.abs(scores))
        for group in np.unique(groups):
            own, here = self.groups == group, groups == group
            rank[here] = _rank(int(own.sum()), confidence)
            for fold in range(scores.shape[1]):
                held_out = np.sort(self.scores[own & (self.folds == fold)])
                below[here] += np.searchsorted(held_out, lowered[here, fold])
        return below < rank, below


def cross_conformal_sets(
    joints: Sequence[JointDistribution],
    offsets: Sequence[Floats],
    held_out: ConformalScores,
    groups: Indices,
    confidence: float,
    max_size: int,
) -> VectorSets:
    """Return the sets of CV+ (docs/design/math.md, section 11)."""
    # A vector that is stranger than the quantile to every model is in no set.
    quantiles = held_out.quantiles(groups, confidence)
    floors = [-quantiles - offset for offset in offsets]
    pairs = list(zip(joints, floors, strict=True))
    lists = [probable_vectors(joint, floor, max_size) for joint, floor in pairs]
    rows = np.concatenate([listed[0] for listed in lists])
    vectors = np.concatenate([listed[1] for listed in lists])
    first = _distinct(rows, vectors)
    rows, vectors = rows[first], vectors[first]
    scores = np.column_stack(
        [
            -_log_prob(joint, rows, vectors) - offset[rows]
            for joint, offset in zip(joints, offsets, strict=True)
        ]
    )
    conforming, below = held_out.conforms(scores, groups[rows], confidence)
    order = np.lexsort((scores.sum(axis=1), below, rows))
    # The most conforming vector of a row stays in any case: no set is empty.
    conforming[order[np.diff(rows[order], prepend=-1) > 0]] = True
    kept = order[conforming[order]]

    def reachable(cut: Mask) -> Mask:
        parts = [reachable_values(joint[cut], floor[cut]) for joint, floor in pairs]
        return np.asarray(np.any(parts, axis=0))

    complete = np.all([listed[2] for listed in lists], axis=0)
    return VectorSets.of(rows[kept], vectors[kept], complete, reachable, joints[0].label_names)


def _distinct(rows: Indices, vectors: Labels) -> Positions:
    """Return the positions of the distinct vectors of each row, where each occurs first."""
    keys = np.hstack([rows.astype("<i8")[:, None].view(np.uint8), np.packbits(vectors, axis=1)])
    packed = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1])))
    return np.unique(packed.ravel(), return_index=True)[1]


def _log_prob(joint: JointDistribution, rows: Indices, vectors: Labels) -> Floats:
    blocks = row_blocks(len(rows), joint.n_labels)
    return np.concatenate([joint[rows[block]].log_prob(vectors[block]) for block in blocks])


@dataclass(eq=False, repr=False, kw_only=True)
class ConformalClassifier(MultiLabelClassifier):
    """Sets of label vectors that contain the true one with a given probability.

    For each row, `predict_set` returns all label vectors that are no stranger, by P(y|x), than the
    labels of held-out training rows. If the rows are exchangeable, a set contains the true vector
    with at least the probability `confidence`, however good or bad the estimator is; a better
    estimator has smaller sets. Each set also tells which labels all of its vectors have, and which
    labels some have.

    Parameters
    ----------
    estimator : estimator of P(y|x), optional
        As in `CalibratedJointCV`; all rows that `fit` gets are held out of a frozen model.
    confidence : float, default=0.9
        The probability with which a set contains the true label vector, over the draw of training
        rows and of new ones.
    cv : float or int, default=0.25
        A fraction is the share of rows that are held out, on which the estimator is not fitted
        (split conformal prediction). A whole number is a number of folds, each held out once (CV+):
        all rows are used for both, and coverage is about `confidence` in practice; the guarantee
        allows twice the error, 1 - 2 (1 - confidence), up to a term that vanishes with the number
        of rows.
    nonconformity : {"ratio", "probability"}, default="ratio"
        The strangeness of a vector. "ratio": how much less probable it is than the most probable
        vector, log P(y*|x) - log P(y|x). "probability": -log P(y|x), by which rows that the model
        is unsure about have smaller sets, and are covered less often.
    max_size : int, default=1000
        Largest number of vectors of a row's set that are listed.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`
        `n_jobs` is the number of folds fitted at a time.

    Attributes
    ----------
    estimator_ : estimator
        The model of `predict` and `predict_joint`: fitted to the rows that are not held out or,
        with folds, to all of them.
    estimators_ : list of estimators
        The models that scored the held-out rows: one, or one per fold.
    held_out_rows_ : (m,) array of int
        Training rows that were held out.
    held_out_ : ConformalScores
        Their scores, and the numbers of their folds and groups.
    groups_ : array or None
        The distinct groups.
    nonconformity_ : str
        The kind of the scores.

    Notes
    -----
    A set that is not ``complete`` keeps the guarantee by its `outer` and `inner` labels, which are
    exact. See docs/design/math.md, section 11. Transformers that learn from data belong into a
    pipeline inside, as ``estimator``: in front they would see held-out rows.

    Examples
    --------
    >>> from labelweave import ClassifierChain, ConformalClassifier, load
    >>> data = load("emotions")
    >>> chain = ClassifierChain(C=0.01, label_penalty=0.03)
    >>> model = ConformalClassifier(chain, confidence=0.8).fit(data.X[:400], data.Y[:400])
    >>> sets = model.predict_set(data.X[400:])
    >>> sets[1]
    array([[0, 0, 0, 0, 0, 1],
           [1, 0, 0, 0, 0, 1],
           [0, 0, 1, 0, 0, 0],
           [0, 1, 1, 0, 0, 0]], dtype=int8)
    >>> sets.outer[1]
    array([ True,  True,  True, False, False,  True])
    """

    estimator: Any = field(default=None, kw_only=False)
    confidence: float = 0.9
    cv: float | int = 0.25
    nonconformity: str = "ratio"
    max_size: int = 1000

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the estimator, and score rows that it has not seen.

        With `groups`, (n,), coverage holds within each group of rows (Mondrian conformal
        prediction), and each needs held-out rows of its own.
        """
        self._reset()
        known = None if groups is None else _read_groups(groups, X)
        super().fit(X, y)
        if known is not None:
            self.groups_: NDArray[Any] | None = known[0]
            own = known[1][self.held_out_rows_]
            self.held_out_: ConformalScores = replace(self.held_out_, groups=own)
        return self

    def predict_set(self, X: Any, *, groups: Any = None) -> VectorSets:
        """Return for each row a set that contains its label vector with probability `confidence`.

        `groups`, (n,), are needed if `fit` got groups. The set of a group without held-out rows
        contains all label vectors.
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
        """Return the share of rows whose label vector is in the set that is written out."""
        sets = self.predict_set(X, groups=groups)
        labels, _ = read_batch_labels(y, len(sets), self._encoding)
        return float(sets.contains(labels).mean())

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self.confidence, "confidence", above=0, below=1)
        check_choice(self.nonconformity, "nonconformity", tuple(NONCONFORMITY))
        check_whole_number(self.max_size, "max_size")
        check_folds(self.cv, share=True)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed, rows = self._seed(), np.arange(len(labels))
        estimator = self.base_estimator()
        self.nonconformity_ = self.nonconformity
        if isinstance(estimator, FrozenEstimator):
            check_frozen(estimator, self)
            folds = [Fold(rows[:0], rows)]
        else:
            estimator = seeded_clone(estimator, seed)
            # If all rows are equal, none can be held out.
            folds = deal(self.cv, X, labels, None, seed) or [Fold(rows, rows[:0])]
        fit = partial(TrainingData(X, labels, None, self._encoding.named).fitted, estimator)
        score = partial(_with_scores, X=X, labels=labels, score=self.nonconformity_)
        held_out = cross_fit(fit, folds, score, n_jobs=self.n_jobs)
        self.estimators_ = [model for model, _ in held_out.parts]
        self.estimator_ = self.estimators_[0] if len(folds) == 1 else fit(rows)
        self.held_out_rows_ = held_out.rows
        numbers = np.repeat(np.arange(len(folds)), [len(fold.held_out) for fold in folds])
        scores = np.concatenate([part for _, part in held_out.parts])
        self.held_out_ = ConformalScores(scores, numbers, np.zeros_like(numbers))
        self.groups_ = None
        self._tell(f"{len(numbers)} of {len(labels)} rows held out")

    def base_estimator(self) -> Any:
        """Return `estimator`, checked, or the default."""
        return check_wrapped(ClassifierChain() if self.estimator is None else self.estimator)

    def _inference(self) -> Inference:
        model = self.estimator_ if hasattr(self, "estimator_") else self.base_estimator()
        strategy: Inference = inside(model).model._inference()
        return strategy

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        return joint_of(self.estimator_, X)

    def _group_codes(self, groups: Any, X: Any) -> Indices:
        """Return the numbers of groups; that of an unknown one is -1."""
        if (groups is None) != (self.groups_ is None):
            got = "none" if self.groups_ is None else "some"
            raise ValueError(f"groups must be given if fit got groups, and only then; it got {got}")
        if self.groups_ is None:
            return np.zeros(X.shape[0], dtype=np.int64)
        names, codes = _read_groups(groups, X)
        known = {name: code for code, name in enumerate(self.groups_.tolist())}
        return np.array([known.get(name, -1) for name in names.tolist()], dtype=np.int64)[codes]


def _read_groups(groups: Any, X: Any) -> tuple[NDArray[Any], Indices]:
    check_consistent_length(X, groups)
    names, codes = np.unique(column_or_1d(groups), return_inverse=True)
    return names, codes.astype(np.int64)


def _with_scores(
    model: Any, rows: Positions, *, X: Any, labels: Labels, score: str
) -> tuple[Any, Floats]:
    """Return the model and the scores of rows that it has not seen."""
    if len(rows) == 0:
        return model, np.empty(0)
    return model, nonconformity(joint_of(model, X[rows]), labels[rows], score)
