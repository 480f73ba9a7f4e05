"""What all estimators share: scikit-learn's manners around one `predict_joint`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from labelweave.decision import Decision, resolve_decision
from labelweave.inference import Auto, Inference
from labelweave.joint import JointDistribution
from labelweave.models.labels import LabelEncoding, read_labels


class MultiLabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of the estimators: `fit` learns P(y|x), `predict_joint` gives it for new rows.

    A subclass implements ``_fit(X, labels, sample_weight)`` and ``_joint(X)``; X arrives validated
    (float64 array or CSR), labels as an int8 array of 0/1.

    Attributes set by `fit`
    -----------------------
    n_labels_ : int
    label_names_in_ : (L,) array of str
        The columns of y, when y is a data frame.
    classes_ : (L, 2) array
        The values of each label; the two classes when y is one-dimensional.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    What every estimator can be asked:

    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import BinaryRelevance, MultiLabelClassifier
    >>> data = load_emotions()
    >>> model: MultiLabelClassifier = BinaryRelevance(C=0.01).fit(data.X, data.Y)
    >>> model.predict(data.X[:2]).shape, model.predict_proba(data.X[:2]).shape
    ((2, 6), (2, 6))
    >>> model.predict_joint(data.X[:2])
    IndependentJoint(n_rows=2, n_labels=6)
    """

    # Parameters every estimator has; declared here for the methods below.
    decision: str | Decision
    n_jobs: int | None
    random_state: Any
    verbose: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the joint distribution of the labels given the features.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            The label matrix. A one-dimensional array of two classes counts as a single label.
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        self._forget()
        X = self._features(X, reset=True)
        labels, self._encoding = read_labels(y, X.shape[0])
        self.classes_ = self._encoding.classes
        self.n_labels_ = labels.shape[1]
        if self._encoding.names is not None:
            self.label_names_in_ = np.array(self._encoding.names, dtype=object)
        if sample_weight is not None:
            if not np.asarray(sample_weight).any():
                raise ValueError("sample_weight is zero for every row: nothing is left to learn")
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
            # Not every learner ignores rows without weight; left out, they cannot disturb any.
            kept = np.flatnonzero(sample_weight)
            if len(kept) < len(labels):
                X, labels, sample_weight = X[kept], labels[kept], sample_weight[kept]
        # What only `predict` uses is checked here too: it fails early, not after the work.
        resolve_decision(self.decision, self._inference())
        self._n_threads()
        self._fit(X, labels, sample_weight)
        self._is_fitted = True
        return self

    def predict_joint(self, X: Any) -> JointDistribution:
        """Joint distributions of the labels, one per row of X."""
        check_is_fitted(self)
        return self._joint(self._features(X, reset=False))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels that are best for `decision`, (n, L) of 0/1."""
        joint = self.predict_joint(X)
        labels = resolve_decision(self.decision, self._inference())(joint)
        return self._encoding.decode(labels)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Marginal probability of each label, (n, L).

        Chains of more than 16 labels have them from samples, with an error of about 0.01; ask
        ``predict_joint(X).estimate("marginals", samples=...)`` for more. For a log-likelihood use
        ``predict_joint(X).log_prob(Y)``, which is exact.

        For a one-dimensional y: the probabilities of its two classes, (n, 2).
        """
        marginals = self.predict_joint(X).marginals()
        return self._encoding.probabilities(marginals)

    @abstractmethod
    def _fit(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> None:
        """Learn from validated data."""

    @abstractmethod
    def _joint(self, X: Any) -> JointDistribution:
        """Joint distributions for validated rows."""

    def _features(self, X: Any, *, reset: bool) -> Any:
        """X as a C-ordered float64 array, or as CSR with one sorted entry per non-zero."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", reset=reset)
        if isinstance(X, np.ndarray):
            return X
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"X is not a valid sparse matrix: {error}") from error
        if not X.has_canonical_format:  # equal rows must be equal to the last bit
            X = X.copy()
            X.sum_duplicates()
        return X

    def _forget(self) -> None:
        """Drop what an earlier `fit` learned: a failed or different fit leaves nothing of it."""
        learned = [name for name in vars(self) if name.endswith("_")]
        for name in [*learned, "_is_fitted"]:
            self.__dict__.pop(name, None)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the last `fit` came to its end."""
        return hasattr(self, "_is_fitted")

    def _inference(self) -> Inference:
        strategy = getattr(self, "inference", None)  # not every model has a choice
        if strategy is None or isinstance(strategy, str):
            if strategy not in (None, "auto"):
                raise ValueError(
                    f"inference must be 'auto' or a strategy such as Greedy(); got {strategy!r}"
                )
            return Auto()
        if isinstance(strategy, type) or not callable(strategy):
            raise ValueError(f"inference must be a strategy such as Greedy(); got {strategy!r}")
        checked: Inference = strategy
        return checked

    def _penalty(self, name: str) -> float | str:
        """Return the penalty parameter `name`: a positive number, or "cv"."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "cv":
            return value
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 < value < np.inf:
            raise ValueError(f"{name} must be a positive number or 'cv'; got {value!r}")
        return float(value)

    def _count(self, name: str) -> int:
        """Return the parameter `name`: a whole number of 1 or more."""
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive whole number; got {value!r}")
        return int(value)

    def _tell(self, message: str) -> None:
        if self.verbose:
            print(f"{type(self).__name__}: {message}")

    def _n_threads(self) -> int:
        if not isinstance(self.n_jobs, Integral | None) or self.n_jobs == 0:
            raise ValueError(
                f"n_jobs must be None, a number of threads or -1 (all cores); got {self.n_jobs!r}"
            )
        return int(effective_n_jobs(self.n_jobs))

    def _seed(self) -> int:
        if self.random_state is None:  # reproducible unless asked otherwise
            return 0
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(
                "random_state must be None, a whole number from 0 to 2^32 - 1 or a RandomState; "
                f"got {self.random_state!r}"
            ) from error

    def _names(self) -> tuple[str, ...] | None:
        encoding: LabelEncoding = self._encoding
        return encoding.names

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what the estimator accepts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags
