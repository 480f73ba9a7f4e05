"""Preprocess data frames with categories and missing values into numeric features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from labelweave._common.features import require_distinct_names
from labelweave.datasets.target_encoding import LabelFrequencyEncoder

if TYPE_CHECKING:
    import pandas as pd

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


def nominal_columns_of(preprocessor: ColumnTransformer) -> list[str]:
    """Return the columns that a preprocessor treats as categorical."""
    return [
        str(column)
        for kind, _, columns in preprocessor.transformers
        if kind != _NUMERIC
        for column in columns
    ]


def describe_preprocessor(preprocessor: ColumnTransformer) -> str:
    """Describe in one line what a preprocessor does.

    Examples
    --------
    >>> import pandas as pd
    >>> songs = pd.DataFrame({"genre": ["rock", "folk"], "bpm": [120, 80]})
    >>> describe_preprocessor(make_preprocessor(songs))
    '1 numeric column: imputed, standardised; 1 nominal column, one-hot: genre'
    """
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
