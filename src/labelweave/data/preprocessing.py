"""Convert data frames with categories and missing values to numeric features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_number, check_whole_number
from labelweave._common.matrices import require_distinct_names

if TYPE_CHECKING:
    import pandas as pd


class LabelFrequencyEncoder(TransformerMixin, BaseEstimator):
    """Encode a category by the frequency of each label among its rows (target encoding).

    A column with any number of levels becomes L columns, one per label. A level with n_v rows, s_j
    of which have label j, is encoded as ``(s_j + m p_j) / (n_v + m)``, where p_j is the frequency
    of the label among all rows and m is `smoothing`; unseen levels are encoded as p_j. A missing
    value is a level of its own.

    As with scikit-learn's ``TargetEncoder``, `fit_transform` encodes each row by the rows of the
    other folds, because a row's own labels would leak through the frequencies of a rare level;
    `transform` uses all rows seen by `fit`. There are `cv` folds, shuffled with seed 0.

    The attribute ``frequencies_`` has an array (number of levels, L) for each column, ``overall_``
    the frequencies p_j.
    """

    def __init__(self, *, smoothing: float = 10.0, cv: int = 5) -> None:
        self.smoothing = smoothing
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the frequencies of the labels in each level."""
        check_number(self.smoothing, "smoothing", minimum=0, finite=False)
        check_whole_number(self.cv, "cv", 2)
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
            folds = KFold(min(self.cv, len(labels)), shuffle=True, random_state=0)
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


# With more levels, one-hot columns have too few rows each to learn from; see `make_preprocessor`.
_MOST_LEVELS = 40
_NUMERIC, _ONE_HOT, _FREQUENCIES = "numeric", "one_hot", "label_frequencies"


def make_preprocessor(
    X: pd.DataFrame, *, scale: bool = True, max_levels: int = _MOST_LEVELS
) -> ColumnTransformer:
    """Make a transformer from a data frame with categories and missing values to numbers.

    Missing values of numeric columns are replaced by the median and marked in an indicator column;
    then the columns are standardised. Categorical columns with up to `max_levels` levels are
    one-hot encoded; levels that occur in a single row share one column, which also stands for
    unseen levels. Categorical columns with more levels are encoded by label frequencies
    (:class:`LabelFrequencyEncoder`). A missing category is a level of its own. Everything is
    learned from the rows passed to ``fit``.

    Parameters
    ----------
    X : data frame
        The features; only their types and numbers of levels are used.
    scale : bool, default=True
        Whether to standardise numeric columns.
    max_levels : int, default=40
        Largest number of levels for one-hot encoding.

    Returns
    -------
    ColumnTransformer
        The transformer, not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> songs = pd.DataFrame({"genre": ["rock", "folk", "rock", "folk"], "bpm": [9, None, 5, 7]})
    >>> preprocessor = make_preprocessor(songs)
    >>> preprocessor.fit_transform(songs, [[1], [0], [1], [0]]).round(1)
    array([[ 1.4, -0.6,  0. ,  1. ],
           [ 0. ,  1.7,  1. ,  0. ],
           [-1.4, -0.6,  0. ,  1. ],
           [ 0. , -0.6,  1. ,  0. ]])
    >>> list(preprocessor.get_feature_names_out())
    ['numeric__bpm', 'numeric__missingindicator_bpm', 'one_hot__genre_folk', 'one_hot__genre_rock']
    """
    require_distinct_names(X)
    kinds: dict[str, list[Any]] = {_NUMERIC: [], _ONE_HOT: [], _FREQUENCIES: []}
    for name in X.columns:
        kinds[_kind(X[name], max_levels)].append(name)
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    steps = {
        _NUMERIC: make_pipeline(fill, StandardScaler()) if scale else fill,
        _ONE_HOT: OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2),
        _FREQUENCIES: LabelFrequencyEncoder(),
    }
    parts = [(kind, steps[kind], names) for kind, names in kinds.items() if names]
    # Always dense: whether the result is sparse must not depend on the fold.
    return ColumnTransformer(parts, sparse_threshold=0)


def needs_preprocessing(X: Any) -> bool:
    """Whether X is a data frame with non-numeric columns or missing values."""
    if not hasattr(X, "iloc"):
        return False
    from pandas.api.types import is_numeric_dtype

    return any(not is_numeric_dtype(dtype) for dtype in X.dtypes) or bool(X.isna().any(axis=None))


def preprocessor_of(model: Any) -> ColumnTransformer | None:
    """Return the first step of a pipeline if it was made by :func:`make_preprocessor`."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    made = isinstance(first, ColumnTransformer) and {_NUMERIC, _ONE_HOT, _FREQUENCIES}.issuperset(
        name for name, *_ in first.transformers
    )
    return first if made else None


def nominal_columns_of(model: Any) -> list[str]:
    """Return the columns that the preprocessor of a model, if it has one, treats as categorical."""
    preprocessor = preprocessor_of(model)
    return [
        str(column)
        for kind, _, columns in (() if preprocessor is None else preprocessor.transformers)
        if kind != _NUMERIC
        for column in columns
    ]


def describe_preprocessor(preprocessor: ColumnTransformer) -> str:
    """Describe a preprocessor in one line."""
    return "; ".join(
        _described(kind, step, columns) for kind, step, columns in preprocessor.transformers
    )


def _described(kind: str, step: Any, columns: list[Any]) -> str:
    few = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
    plural = "s" if len(columns) > 1 else ""
    if kind == _NUMERIC:
        scaled = ", standardised" if isinstance(step, Pipeline) else ""
        return f"{len(columns)} numeric column{plural}: imputed{scaled}"
    how = "one-hot" if kind == _ONE_HOT else "by label frequencies"
    return f"{len(columns)} nominal column{plural}, {how}: {few}"


def _kind(column: pd.Series, max_levels: int) -> str:
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_datetime64_any_dtype(column):
        raise ValueError(
            f"column {column.name!r} of X holds dates: convert them to numbers first, as "
            "labelweave.Dataset does"
        )
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return _NUMERIC
    return _ONE_HOT if column.nunique() <= max_levels else _FREQUENCIES
