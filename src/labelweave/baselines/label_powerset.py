"""Label powerset: every label vector of the training data is a class."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression

from labelweave._common.archives import check_shape
from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.row_keys import row_keys
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution, ListedJoint, MixtureJoint
from labelweave.logistic import fit_conditionals
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import check_base_classifier, seeded_clone


class LabelPowerset(MultiLabelClassifier):
    """One classifier whose classes are the label vectors of the training rows.

    It models all dependences among labels but predicts only vectors seen in training, which suits
    data with few distinct vectors and many rows of each. So that no other vector is impossible,
    independent labels with the training frequencies get the probability 1/(n + 2) that Laplace's
    rule of succession gives to an event that has not occurred.

    Parameters
    ----------
    estimator : scikit-learn classifier, optional
        A classifier with ``predict_proba``, fitted to the label vectors as classes. By default
        scikit-learn's multinomial logistic regression.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty; "cv" takes the best for independent logistic
        regressions of the labels, by cross-validated log-likelihood. Ignored if `estimator` is
        given.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of threads for choosing C; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds of ``C="cv"`` and every unset `random_state` of `estimator`. None means 0.
    verbose : int, default=0
        If positive, print the chosen penalty and the number of label vectors.

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
    >>> from labelweave.baselines import LabelPowerset
    >>> from labelweave.datasets import load_emotions
    >>> from sklearn.preprocessing import scale
    >>> data = load_emotions()
    >>> X = scale(data.X)
    >>> model = LabelPowerset(C=0.01).fit(X[:400], data.Y[:400])
    >>> len(model.vectors_)
    26
    >>> model.predict(X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        C: float | str = "cv",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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

    def _joint(self, X: Any) -> JointDistribution:
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
            label_names=self._names(),
            row_ids=row_keys(X),
            n_threads=self._n_threads(),
        )


def fit_multinomial(C: float, X: Any, target: Indices, **weights: Any) -> LogisticRegression:
    """Fit the default classifier of label vectors.

    The solver's tolerance is absolute, so features are scaled to size one, and the penalty with
    them, to make it mean the same for features of any size.
    """
    entries = X if isinstance(X, np.ndarray) else X.data
    size = float(np.linalg.norm(entries)) / math.sqrt(int(np.count_nonzero(entries)) or 1)
    # A power of two, so that dividing by it is exact.
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
    """Return the model's C, where "cv" is chosen for independent logistic regressions."""
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
