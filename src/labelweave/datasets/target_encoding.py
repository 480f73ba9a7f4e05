"""Encode categorical features with many levels by the frequencies of the labels in each level."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number, check_whole_number


class LabelFrequencyEncoder(TransformerMixin, BaseEstimator):
    """Encode a category by the frequency of each label among its rows (target encoding).

    A column with any number of levels becomes L columns, one per label. A level with n_v rows, s_j
    of which have label j, is encoded as ``(s_j + m p_j) / (n_v + m)``, where p_j is the frequency
    of the label among all rows and m the smoothing; unseen levels are encoded as p_j. A missing
    value is a level of its own.

    As with scikit-learn's ``TargetEncoder``, `fit_transform` encodes each row by the rows of the
    other folds, because a row's own labels would leak through the frequencies of a rare level;
    `transform` uses all rows seen by `fit`.

    Parameters
    ----------
    smoothing : float, default=10
        The m above: the number of rows that the overall frequency counts for.
    n_folds : int, default=5
        Number of folds in `fit_transform`, shuffled with seed 0.

    Attributes
    ----------
    frequencies_ : list of (number of levels, L) arrays
        The encoding of the levels of each column.
    overall_ : (L,) array
        The frequency of each label among all rows.

    Examples
    --------
    >>> encoder = LabelFrequencyEncoder(smoothing=0.0)
    >>> X, Y = [["a"], ["a"], ["b"]], np.array([[1, 0], [0, 0], [1, 1]])
    >>> encoder.fit(X, Y).transform([["a"], ["b"], ["c"]]).round(2)
    array([[0.5 , 0.  ],
           [1.  , 1.  ],
           [0.67, 0.33]])
    """

    def __init__(self, *, smoothing: float = 10.0, n_folds: int = 5) -> None:
        self.smoothing = smoothing
        self.n_folds = n_folds

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the frequencies of the labels in each level.

        Parameters
        ----------
        X : (n, k) array or data frame
            Categorical features.
        y : (n, L) array or data frame of 0/1
            Labels.
        """
        check_number(self.smoothing, "smoothing", minimum=0, finite=False)
        check_whole_number(self.n_folds, "n_folds", 2)
        self._levels = OneHotEncoder(handle_unknown="ignore").fit(X)
        self._learn(self._levels.transform(X), _labels(y))
        self._label_names = [str(name) for name in getattr(y, "columns", range(len(self.overall_)))]
        self.n_features_in_ = len(self.frequencies_)
        if hasattr(self._levels, "feature_names_in_"):
            self.feature_names_in_ = self._levels.feature_names_in_
        return self

    def transform(self, X: Any) -> Floats:
        """Return the encoding of each row, an array of shape (n, k L)."""
        check_is_fitted(self)
        return self._encode(self._levels.transform(X))

    def fit_transform(self, X: Any, y: Any) -> Floats:
        """Fit to all rows, and return each row encoded by the rows of the other folds."""
        self.fit(X, y)
        member, labels = self._levels.transform(X), _labels(y)
        encoded = np.tile(self.overall_, (len(labels), self.n_features_in_))
        if len(labels) >= 2:
            folds = KFold(min(self.n_folds, len(labels)), shuffle=True, random_state=0)
            for inside, outside in folds.split(labels):
                part = LabelFrequencyEncoder(smoothing=self.smoothing)
                part._levels = self._levels
                part._learn(member[inside], labels[inside])
                encoded[outside] = part._encode(member[outside])
        return encoded

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded columns, ``column_label``."""
        columns = self._levels.feature_names_in_ if input_features is None else input_features
        names = [f"{column}_{label}" for column in columns for label in self._label_names]
        return np.array(names, dtype=object)

    def _learn(self, member: Any, labels: Floats) -> None:
        self.overall_ = labels.mean(axis=0)
        rows = np.asarray(member.sum(axis=0)).reshape(-1, 1)
        total = rows + self.smoothing
        carriers = member.T @ labels + self.smoothing * self.overall_
        # Without smoothing, a level without rows is encoded like an unseen one.
        rates = np.where(total > 0, carriers / np.where(total > 0, total, 1.0), self.overall_)
        ends = np.cumsum([len(levels) for levels in self._levels.categories_])
        self.frequencies_ = np.split(rates, ends[:-1])

    def _encode(self, member: Any) -> Floats:
        ends = np.cumsum([0, *(len(rates) for rates in self.frequencies_)])
        parts = []
        for start, stop, rates in zip(ends, ends[1:], self.frequencies_, strict=False):
            levels = member[:, start:stop]
            unknown = np.asarray(levels.sum(axis=1)).reshape(-1, 1) == 0
            parts.append(levels @ rates + unknown * self.overall_)
        return np.hstack(parts)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: categorical input, missing values, required target."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _labels(y: Any) -> Floats:
    labels = np.asarray(y.toarray() if hasattr(y, "toarray") else y, dtype=np.float64)
    return labels if labels.ndim == 2 else labels.reshape(-1, 1)
