"""Any classifier as a base learner: multi-label, or binary and fitted label by label."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from labelweave._common.archives import check_positions
from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.pipelines import first_step, last_step
from labelweave.models.base_classifier import seeded_clone, with_weight


def handles_all_labels(estimator: Any) -> bool:
    """Whether scikit-learn's tags say that a classifier learns a label matrix as it is.

    A pipeline learns what its last step learns.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> handles_all_labels(KNeighborsClassifier()), handles_all_labels(GaussianNB())
    (True, False)
    """
    tags = get_tags(last_step(estimator))
    is_multi_label = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(is_multi_label or tags.target_tags.multi_output)


def takes_missing_values(estimator: Any) -> bool:
    """Whether scikit-learn's tags say that a classifier, or a pipeline's first step, takes NaN.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> imputed = make_pipeline(SimpleImputer(), GaussianNB())
    >>> takes_missing_values(imputed), takes_missing_values(GaussianNB())
    (True, False)
    """
    return bool(get_tags(first_step(estimator)).input_tags.allow_nan)


def offers_out_of_bag(estimator: Any) -> bool:
    """Whether a classifier is bagged and can predict each row by the members that did not draw it.

    A pipeline cannot: its other steps have seen all rows.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    >>> offers_out_of_bag(RandomForestClassifier()), offers_out_of_bag(ExtraTreesClassifier())
    (True, False)
    """
    predicts_unseen = "oob_score" in estimator.get_params(deep=False)
    return predicts_unseen and bool(getattr(estimator, "bootstrap", False))


def apparent_votes(probabilities: Floats, weight: float) -> Floats:
    """Return how many votes each column of probabilities looks like a count of, at most `weight`.

    That is one over the smallest probability of either class: ten neighbours never predict less
    than 0.1, but 0. Nothing below ``1 / weight`` counts, the least that as many rows can show.

    Examples
    --------
    >>> apparent_votes(np.array([[0.0, 1e-9], [0.5, 0.3], [0.9, 0.6]]), 50.0).round(1)
    array([10. ,  3.3])
    """
    ends = np.concatenate([probabilities, 1.0 - probabilities])
    smallest: Floats = np.where(ends * weight >= 1.0, ends, 1.0).min(axis=0)
    return 1.0 / smallest


def smoothed_log_odds(probabilities: Floats, votes: Floats) -> Floats:
    """Return log (m p + 1) / (m (1 - p) + 1): Laplace's estimate for frequencies p of m votes.

    Examples
    --------
    >>> smoothed_log_odds(np.array([[0.0, 0.5, 1.0]]), np.array([9.0])).round(3)
    array([[-2.303,  0.   ,  2.303]])
    """
    return np.log1p(votes * probabilities) - np.log1p(votes * (1.0 - probabilities))


@dataclass(frozen=True)
class FittedBase:
    """A classifier fitted to some of the labels.

    Attributes
    ----------
    classifier : object
        The fitted classifier of the labels that vary; None if none of them does.
    varying : (V,) array of int
        Positions of these labels among the K.
    frequencies : (K,) array
        Frequency of each label in training: what is predicted for those that do not vary.
    """

    classifier: Any
    varying: Positions
    frequencies: Floats

    def probabilities(self, X: Any) -> Floats:
        """Return the probability of each label, (n, K)."""
        if self.classifier is None:
            return self._completed(np.empty((X.shape[0], 0)))
        try:
            positive = self._positive(self.classifier.predict_proba(X))
        except (TypeError, ValueError) as error:
            raise ValueError(f"estimator: {self.classifier} cannot predict: {error}") from error
        if not np.isfinite(positive).all():
            raise ValueError(
                f"estimator: {self.classifier} predicts probabilities that are not finite"
            )
        return self._completed(positive)

    def out_of_bag(self, n_rows: int) -> Floats:
        """Return out-of-bag probabilities, (n, K); NaN in rows that all members have drawn."""
        if self.classifier is None:
            return self._completed(np.empty((n_rows, 0)))
        by_class = np.asarray(self.classifier.oob_decision_function_)
        votes = by_class.reshape(n_rows, 2, -1)  # forests append an axis for several labels
        never = votes.sum(axis=1) == 0.0  # so say forests; others say NaN
        return self._completed(np.where(never, np.nan, votes[:, 1]))

    def _positive(self, probability: Any) -> Floats:
        """Return P(y_j = 1) from the forms that `predict_proba` has, (n, V)."""
        if isinstance(probability, list):  # one matrix of two classes for each label
            return np.column_stack([of_label[:, 1] for of_label in probability])
        columns = np.asarray(probability, dtype=np.float64)
        return columns[:, 1:] if columns.shape[1] > len(self.varying) else columns

    def _check_learned(self) -> None:
        """Raise ValueError if the columns that vary, as a file has them, are not there."""
        check_positions(self.varying, len(self.frequencies), "varying")

    def _completed(self, of_varying: Floats) -> Floats:
        completed = np.tile(self.frequencies, (len(of_varying), 1))
        completed[:, self.varying] = of_varying
        return completed


@dataclass(frozen=True)
class BaseLearner:
    """A classifier to be fitted to some of the labels.

    Parameters
    ----------
    estimator : scikit-learn classifier
    columns : (K,) array of int
        The labels: all of them, or one if the classifier is binary.
    seed : int
        Seeds every unset `random_state`.
    out_of_bag : bool
        Whether its held-out predictions are those of the members that did not draw a row.
    """

    estimator: Any
    columns: Positions
    seed: int
    out_of_bag: bool

    def fit(self, X: Any, labels: Labels, weight: Floats | None) -> FittedBase:
        """Fit a clone to the labels that vary; constant ones need no classifier."""
        chosen = labels[:, self.columns]
        frequencies = np.average(chosen, axis=0, weights=weight)
        varying = np.flatnonzero((chosen != chosen[0]).any(axis=0))
        untrained = FittedBase(None, varying, frequencies)
        if len(varying) == 0:
            return untrained
        classifier = seeded_clone(self.estimator, self.seed)
        if self.out_of_bag:
            # Bagged classifiers that could grow further refuse to predict out of bag.
            is_warm = "warm_start" in classifier.get_params(deep=False)
            classifier.set_params(oob_score=True, **({"warm_start": False} if is_warm else {}))
        # Weights of one mean nothing, but bootstrap samples drawn with them would be others.
        is_weighted = weight is not None and bool((weight != 1).any())
        arguments = with_weight(self.estimator, weight if is_weighted else None)
        with warnings.catch_warnings():
            if self.out_of_bag:  # some rows may be in every bag: `FittedBase.out_of_bag` tells
                warnings.filterwarnings("ignore", "Some inputs do not have OOB", UserWarning)
                warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
            try:
                classifier.fit(X, self._target(chosen[:, varying]), **arguments)
            except (TypeError, ValueError) as error:
                raise ValueError(f"estimator: {self._described(chosen)}: {error}") from error
        return replace(untrained, classifier=classifier)

    def _described(self, labels: Labels) -> str:
        """Return which classifier cannot be fitted to what."""
        start = f"{self.estimator} cannot be fitted to"
        if len(self.columns) > 1:
            return f"{start} the labels of {len(labels)} rows"
        return f"{start} label {self.columns[0]}, which {labels.sum()} of {len(labels)} rows have"

    def _target(self, labels: Labels) -> NDArray[np.int64]:
        """Return labels as the classifier wants them: a single one is a vector of classes."""
        wide = labels.astype(np.int64)
        flat = wide.shape[1] == 1 and get_tags(last_step(self.estimator)).target_tags.single_output
        return wide[:, 0] if flat else wide
