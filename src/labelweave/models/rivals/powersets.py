"""Label powersets: a class for each label vector, of all labels or of small sets of them.

`LabelPowerset` models P(y|x) by one classifier whose classes are the label vectors of the training
rows. `RAkEL` averages label powersets of random sets of k labels.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from scipy.special import logit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice, check_flag
from labelweave._common.engine import processes
from labelweave._common.files import check_positions, check_shape
from labelweave._common.presets import Presets, published
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution, ListedJoint, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.logistic.conditionals import fit_conditionals
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import check_base_classifier, seeded_clone


@dataclass(eq=False, repr=False, kw_only=True)
class LabelPowerset(MultiLabelClassifier):
    """One classifier whose classes are the label vectors of the training rows.

    The classifier models all dependences among labels but predicts only vectors seen in training,
    which suits data with few distinct vectors and many rows of each. To give every other vector a
    probability too, independent labels with the training frequencies get the weight 1/(n + 2), the
    probability that Laplace's rule of succession gives to an event that has not occurred.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba`` of the label vectors as classes; by default
        scikit-learn's multinomial logistic regression.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty; "cv" takes the C with which independent logistic
        regressions of the labels have the best cross-validated log-likelihood. Ignored if
        `estimator` is given.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`

    Attributes
    ----------
    vectors_ : (V, L) array
        The distinct label vectors of the training data.
    estimator_ : classifier
        Its classes are the rows of `vectors_`; None if there is only one.
    unseen_ : float
        The total probability given to independent labels.
    C_ : float
        The penalty used; only without `estimator`.

    Examples
    --------
    >>> from labelweave import LabelPowerset, load
    >>> from sklearn.preprocessing import scale
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = LabelPowerset(C=0.01).fit(X[:400], data.Y[:400])
    >>> len(model.vectors_)
    26
    >>> model.predict(X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    C: float | str = "cv"

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        if self.estimator is None:
            self.C_ = feature_penalty(self, X, labels, sample_weight)
        else:
            check_base_classifier(self.estimator, sample_weight)
        self.vectors_, target = np.unique(labels, axis=0, return_inverse=True)
        self.estimator_ = None
        if len(self.vectors_) > 1:
            self.estimator_ = self._fit_classes(X, target.ravel(), sample_weight)
        mass = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.unseen_ = float(1 / (mass.sum() + 2))
        present = mass @ labels
        self._log_odds = np.log((present + 1) / (mass.sum() - present + 1))
        self._tell(f"{len(self.vectors_)} label vectors")

    def _fit_classes(
        self, X: Any, target: Indices, sample_weight: Floats | None
    ) -> ClassifierMixin:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        with warnings.catch_warnings():
            # With few rows, nearly every row may have its own label vector.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            if self.estimator is None:
                return fit_multinomial(self.C_, X, target, **weights)
            classifier: ClassifierMixin = seeded_clone(self.estimator, self._seed())
            return classifier.fit(X, target, **weights)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "vectors_"):
            n_vectors = 1 if self.estimator_ is None else len(self.estimator_.classes_)
            check_shape(self.vectors_, (n_vectors, self.n_labels_), "vectors_")
            check_shape(self._log_odds, (self.n_labels_,), "_log_odds")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        n = X.shape[0]
        probability = (
            np.ones((n, 1)) if self.estimator_ is None else self.estimator_.predict_proba(X)
        )
        with np.errstate(divide="ignore"):
            log_weights = np.log(probability / probability.sum(axis=1, keepdims=True))
        return MixtureJoint(
            [1 - self.unseen_, self.unseen_],
            [
                ListedJoint(self.vectors_, log_weights),
                IndependentJoint(np.tile(self._log_odds, (n, 1))),
            ],
            **rows,
        )


def fit_multinomial(C: float, X: Any, target: Indices, **weights: Any) -> LogisticRegression:
    """Fit the default classifier of label vectors, multinomial logistic regression."""
    # The solver's tolerance is absolute. So that it means the same for features of any size, they
    # are scaled to size one, and the penalty with them.
    entries = X if isinstance(X, np.ndarray) else X.data
    size = float(np.linalg.norm(entries)) / math.sqrt(int(np.count_nonzero(entries)) or 1)
    # Division by a power of two is exact.
    exponent = round(math.log2(size)) if size > 0 else 0
    scale = math.ldexp(1.0, max(-100, min(exponent, 100)))
    # scikit-learn's own tolerance leaves errors in the third digit of probabilities.
    model = LogisticRegression(C=C * scale**2, tol=1e-6, max_iter=10_000)
    model.fit(X / scale, target, **weights)
    model.coef_ /= scale
    return model.set_params(C=C)


def feature_penalty(
    model: MultiLabelClassifier, X: Any, labels: Labels, sample_weight: Floats | None
) -> float:
    """Return the model's C; "cv" chooses the best for independent logistic regressions."""
    C = model._penalty("C")
    if C == "cv":
        C = fit_conditionals(
            X,
            labels,
            C="cv",
            sample_weight=sample_weight,
            seed=model._seed(),
            n_threads=model._n_threads(),
        ).C
    model._tell(f"C = {C:.4g}")
    return float(C)


@dataclass(eq=False, repr=False, kw_only=True)
class RAkEL(MultiLabelClassifier):
    """Random k-labelsets (RAkEL; Tsoumakas and Vlahavas, 2007): small label powersets, averaged.

    Each member is a `LabelPowerset` of a few random labels, so few that each of their combinations
    has many rows. The members' outputs for a label are averaged, and labels are treated as
    independent.

    Parameters
    ----------
    estimator, C : see `LabelPowerset`
        C="cv" is chosen once for all members.
    labelset_size : int, default=3
        Number of labels per member, k in the paper; all labels if there are fewer.
    n_labelsets : int, optional
        Number of members, each with a different labelset: by default 2L, or all labelsets if there
        are fewer. Further members are added for labels that are in none of them. Ignored unless
        `overlapping`.
    overlapping : bool, default=True
        Whether labelsets are drawn from all sets of their size or form a random partition of the
        labels (RAkEL-d).
    outputs : {"probability", "label"}, default="probability"
        The members' outputs for a label: its marginal probability, or a vote of 0 or 1, as in
        ``RAkEL.preset("published")``. To keep the shares of votes from being 0 or 1, one vote for
        and one against are added.
    decision : default="hamming"
        For independent labels it predicts the same labels as "subset".
    n_jobs, random_state, verbose : see `Estimator`

    Attributes
    ----------
    labelsets_ : list of (k,) arrays
        The labels of each member.
    estimators_ : list of LabelPowerset
        The members.
    C_ : see `LabelPowerset`

    Examples
    --------
    >>> from labelweave import RAkEL, load
    >>> from sklearn.preprocessing import scale
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = RAkEL(C=0.01, overlapping=False).fit(X[:400], data.Y[:400])
    >>> [labelset.tolist() for labelset in model.labelsets_]
    [[0, 1, 2], [3, 4, 5]]
    >>> model.predict(X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    labelset_size: int = 3
    n_labelsets: int | None = None
    overlapping: bool = True
    outputs: str = "probability"
    C: float | str = "cv"
    decision: str | Decision = "hamming"

    presets: ClassVar[Presets] = published(
        labelset_size=3, n_labelsets=None, overlapping=True, outputs="label"
    )

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        check_choice(self.outputs, "outputs", ("probability", "label"))
        self._votes = self.outputs == "label"
        seed, C = self._seed(), 1.0
        self.labelsets_ = self._draw_labelsets(np.random.default_rng(seed))
        if self.estimator is None:
            self.C_ = C = feature_penalty(self, X, labels, sample_weight)
        else:
            check_base_classifier(self.estimator, sample_weight)
        self.estimators_ = list(
            processes(self.n_jobs)(
                delayed(LabelPowerset(self.estimator, C=C, random_state=seed + number).fit)(
                    X, labels[:, labelset], sample_weight
                )
                for number, labelset in enumerate(self.labelsets_)
            )
        )
        self._tell(f"{len(self.labelsets_)} labelsets")

    def _draw_labelsets(self, random: np.random.Generator) -> list[Indices]:
        n_labels, size = self.n_labels_, min(self._count("labelset_size"), self.n_labels_)
        check_flag(self.overlapping, "overlapping")
        wanted = 2 * n_labels if self.n_labelsets is None else self._count("n_labelsets")
        drawn: set[tuple[int, ...]] = set()
        if self.overlapping and comb(n_labels, size) <= wanted:
            drawn.update(combinations(range(n_labels), size))
        while self.overlapping and len(drawn) < wanted and len(drawn) < comb(n_labels, size):
            drawn.add(tuple(sorted(random.choice(n_labels, size, replace=False).tolist())))
        left = random.permutation(sorted(set(range(n_labels)) - set(chain(*drawn))))
        drawn.update(tuple(sorted(left[i : i + size])) for i in range(0, len(left), size))
        return [np.array(labelset) for labelset in sorted(drawn)]

    def _check_learned(self) -> None:
        super()._check_learned()
        members = zip(
            getattr(self, "labelsets_", ()), getattr(self, "estimators_", ()), strict=True
        )
        for labelset, member in members:
            check_positions(labelset, self.n_labels_, "labelsets_")
            check_shape(labelset, (member.n_labels_,), "labelsets_")

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        total = np.zeros((X.shape[0], self.n_labels_))
        count = np.zeros(self.n_labels_)
        for labelset, member in zip(self.labelsets_, self.estimators_, strict=True):
            total[:, labelset] += member.predict(X) if self._votes else member.predict_proba(X)
            count[labelset] += 1
        mean = (total + 1) / (count + 2) if self._votes else total / count
        return IndependentJoint(logit(mean), **rows)
