"""What all estimators share: scikit-learn's conventions around `fit` and `predict`."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _check_sample_weight

from labelweave._common.archives import check_shape
from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_n_jobs, check_number, check_whole_number
from labelweave._common.features import mean_row, validated_features
from labelweave._common.presets import HasPresets
from labelweave._common.progress import progress_shown
from labelweave.decision.probabilities import Scores
from labelweave.decision.rules import ScoredRows, ThresholdRule, apply_thresholds
from labelweave.logistic import LinearConditionals
from labelweave.models.label_encoding import LabelEncoding, read_labels

# What `fit` learns beside the attributes that end in an underscore.
_LEARNED = ("_encoding", "_rates", "_means", "_untuned_rule", "_is_fitted")


class _Absent:
    """A method that needs probabilities: `hasattr` is False, and the AttributeError says why."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(
            f"{owner.__name__} has no probabilities, hence no {self.name}: use predict, or an "
            "estimator that learns P(y|x), such as BinaryRelevance"
        )


def _settings(value: Any) -> dict[str, Any]:
    """Return the settings of a strategy or rule that is a dataclass; an empty dict otherwise."""
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return {}
    return {part.name: getattr(value, part.name) for part in dataclasses.fields(value) if part.init}


def checked_weight(X: Any, sample_weight: Any) -> Floats | None:
    """Return the sample weights of the rows of X as floats, if there are any."""
    if sample_weight is None:
        return None
    if not np.asarray(sample_weight).any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    checked: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return checked


class LabelClassifier(HasPresets, ClassifierMixin, BaseEstimator, ABC):
    """Base of all estimators, with or without probabilities.

    A subclass implements ``_fit(X, labels, sample_weight)`` and `predict`. ``_fit`` receives X
    validated (float64 array or CSR) and the labels as an int8 array of 0/1. Estimators of P(y|x)
    derive from `MultiLabelClassifier`; others have neither ``predict_joint`` nor ``predict_proba``,
    and the AttributeError says why. If a method was published with settings other than the
    defaults, `presets` names them: ``TreeNetwork.preset("published")``.

    Attributes set by `fit`
    -----------------------
    n_labels_ : int
    label_names_in_ : (L,) array of str
        The columns of y, when y is a data frame.
    classes_ : (L, 2) array
        The values of each label; the two classes if y is one-dimensional. For estimators with a
        ``decision_function``, the indices of the labels, (L,), as scikit-learn expects.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    An estimator that predicts the most frequent label vector for every row:

    >>> import numpy as np
    >>> from labelweave.models import LabelClassifier
    >>> class MostFrequent(LabelClassifier):
    ...     n_jobs, random_state, verbose = None, None, 0
    ...     def _fit(self, X, labels, sample_weight):
    ...         vectors, counts = np.unique(labels, axis=0, return_counts=True)
    ...         self.vector_ = vectors[counts.argmax()]
    ...     def predict(self, X):
    ...         X = self._features(X, reset=False)
    ...         return self._encoding.decode(np.tile(self.vector_, (X.shape[0], 1)))
    >>> model = MostFrequent().fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 1], [0, 1]])
    >>> model.predict([[5.0]])
    array([[0, 1]])
    >>> model.predict_proba([[5.0]])
    Traceback (most recent call last):
    ...
    AttributeError: MostFrequent has no probabilities, hence no predict_proba: use predict, or ...
    """

    # Parameters every estimator has; declared here for the methods below.
    n_jobs: int | None
    random_state: Any
    verbose: int

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from features and labels.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            The label matrix. A one-dimensional array of two classes is a single label.
        sample_weight : (n,) array, optional

        Returns
        -------
        self
        """
        self._reset()
        X = self._features(X, reset=True)
        labels, encoding = read_labels(y, X.shape[0])
        self._adopt(encoding)
        X, labels, sample_weight = self._weighted(X, labels, sample_weight)
        self._rates = np.average(labels, axis=0, weights=sample_weight)
        self._means = mean_row(X, sample_weight)
        self._check_parameters()
        with self._watched():
            self._fit(X, labels, sample_weight)
            self._tune(X, labels, sample_weight)
        self._is_fitted = True
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also settings such as ``inference__width``.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, value in list(params.items()):
                params |= {f"{name}__{key}": setting for key, setting in _settings(value).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``inference__width=8`` replaces the strategy by one with that setting.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        # A strategy is a value that others may hold too: it is replaced, never changed.
        nested = {name: params.pop(name) for name in list(params) if "__" in name}
        super().set_params(**params)
        for name, setting in nested.items():
            owner, _, key = name.partition("__")
            value: Any = getattr(self, owner, None)
            if key in _settings(value):
                setattr(self, owner, dataclasses.replace(value, **{key: setting}))
            elif owner in vars(self) and not hasattr(value, "set_params"):
                raise ValueError(f"{owner}={value!r} has no setting {key!r}, so {name} is unknown")
            else:
                super().set_params(**{name: setting})
        return self

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of the rows of X, (n, L) of 0/1."""

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule by which `predict` decides for all rows of a test set together.

        It knows what it needs to know from training. None if `predict` decides row by row.
        """
        return None

    def scored(self, X: Any) -> ScoredRows:
        """Return what `threshold_rule` decides by: the scores of the rows of X, and draws."""
        raise NotImplementedError(f"{type(self).__name__} decides row by row")

    def predict_above(self, X: Any, thresholds: Scores) -> NDArray[Any]:
        """Return the labels whose scores in `scored` are above their thresholds.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        thresholds : (L,) array or Probabilities
            Those that `threshold_rule` chose for a test set, of which X may be a part.
        """
        return self._encoding.decode(apply_thresholds(self.scored(X).scores, thresholds))

    @property
    def label_encoding(self) -> LabelEncoding:
        """How label vectors of 0/1 stand for the target that the model was fitted to."""
        encoding: LabelEncoding = self._encoding
        return encoding

    if not TYPE_CHECKING:  # type checkers should see them only where they are defined
        predict_joint = _Absent()
        predict_proba = _Absent()

    @abstractmethod
    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn from validated data."""

    def _tune(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn what the decision has to know of held-out rows; most need to know nothing."""

    def _adopt(self, encoding: LabelEncoding) -> None:
        """Set the attributes that describe the labels of y."""
        self._encoding = encoding
        self.classes_ = encoding.classes
        self.n_labels_ = 1 if encoding.single else len(encoding.classes)
        # With a decision_function, scikit-learn expects classes_ to be the indices of the labels.
        if not encoding.single and hasattr(self, "decision_function"):
            self.classes_ = np.arange(self.n_labels_)
        if encoding.names is not None:
            self.label_names_in_ = np.array(encoding.names, dtype=object)

    def _check_learned(self) -> None:
        """Raise ValueError if what `fit` learned, as a file has it, has other sizes than it gives.

        Subclasses add the positions that their methods follow.
        """
        if not self.__sklearn_is_fitted__():
            return
        shown = type(self).__new__(type(self))
        shown._adopt(self._encoding)
        for name in ("n_labels_", "classes_", "label_names_in_"):
            if not np.array_equal(getattr(self, name, ()), getattr(shown, name, ())):
                raise ValueError(f"{name} contradicts the classes and names of the labels")
        for name, shape in (("_rates", self.n_labels_), ("_means", self.n_features_in_)):
            if hasattr(self, name):
                check_shape(getattr(self, name), (shape,), name)
        conditionals = getattr(self, "conditionals_", None)
        if isinstance(conditionals, LinearConditionals):
            check_shape(conditionals.intercept, (self.n_labels_,), "conditionals_.intercept")

    @staticmethod
    def _weighted(X: Any, labels: Labels, sample_weight: Any) -> tuple[Any, Labels, Floats | None]:
        """Check the sample weights; return the rows of positive weight."""
        weight = checked_weight(X, sample_weight)
        if weight is None:
            return X, labels, None
        # Not every learner ignores rows of weight zero, so they are left out.
        kept = np.flatnonzero(weight)
        if len(kept) < len(labels):
            X, labels, weight = X[kept], labels[kept], weight[kept]
        return X, labels, weight

    def _check_parameters(self) -> None:
        """Check the parameters, also those of `predict`, before any work is done."""
        self._n_threads()

    def _features(self, X: Any, *, reset: bool) -> Any:
        return validated_features(self, X, reset=reset)

    def _reset(self) -> None:
        """Drop what an earlier `fit` learned, whether it failed or not.

        That is all attributes that end in an underscore, and the private ones of this class; those
        that scikit-learn adds stay.
        """
        for name in list(vars(self)):
            if name.endswith("_") or name in _LEARNED:
                del self.__dict__[name]

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the last `fit` was completed."""
        return hasattr(self, "_is_fitted")

    def _penalty(self, name: str, otherwise: str = "'cv'") -> float | str:
        """Return the penalty parameter `name`, checked to be a positive number or "cv".

        `otherwise` is what it may be beside a number, as the message of an error lists it.
        """
        value = getattr(self, name)
        if isinstance(value, str) and value == "cv":
            return value
        return check_number(value, name, above=0, otherwise=otherwise)

    def _count(self, name: str) -> int:
        """Return the parameter `name`, checked to be a whole number of at least 1."""
        return check_whole_number(getattr(self, name), name)

    def _watched(self) -> AbstractContextManager[None]:
        """Return the context of `fit`, in which progress is shown if the user asked for it."""
        return progress_shown(f"fitting {type(self).__name__}") if self.verbose else nullcontext()

    def _tell(self, message: str) -> None:
        if self.verbose > 0:
            print(f"{type(self).__name__}: {message}")

    def _n_threads(self) -> int:
        return check_n_jobs(self.n_jobs)

    def _seed(self) -> int:
        # Reproducible by default: None means 0.
        state = 0 if self.random_state is None else self.random_state
        try:
            return int(check_random_state(state).randint(2**31 - 1))
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
