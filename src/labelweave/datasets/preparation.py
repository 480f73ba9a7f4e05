"""Columns of mixed kinds as numbers: what stands between a data frame and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from labelweave.datasets.target_encoding import LabelFrequencyEncoder

if TYPE_CHECKING:
    import pandas as pd

# Beyond, one column per level is more than a few rows per level can teach; see `make_preparation`.
_MOST_LEVELS = 40
_NUMERIC, _ONE_HOT, _FREQUENCIES = "numeric", "one_hot", "label_frequencies"


def make_preparation(
    X: pd.DataFrame, *, scale: bool = True, max_levels: int = _MOST_LEVELS
) -> ColumnTransformer:
    """Make the transformer that turns a data frame with categories and gaps into numbers.

    Numeric columns have their gaps filled with the median, a column that tells where they were,
    and are standardised. Categories of up to `max_levels` levels get one column per level; levels
    of a single row share one, which also serves levels that were not seen. Categories of more
    levels are encoded by the frequency of every label (:class:`LabelFrequencyEncoder`). A missing
    category is a level of its own. All is learned from the rows given to ``fit``.

    Parameters
    ----------
    X : data frame
        The columns; what numbers and categories they hold is looked at, not learned from.
    scale : bool, default=True
        Standardise numeric columns.
    max_levels : int, default=40
        The most levels to give a column each.

    Returns
    -------
    ColumnTransformer
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> songs = pd.DataFrame({"genre": ["rock", "folk", "rock", "folk"], "bpm": [9, None, 5, 7]})
    >>> preparation = make_preparation(songs)
    >>> preparation.fit_transform(songs, [[1], [0], [1], [0]]).round(1)
    array([[ 1.4, -0.6,  0. ,  1. ],
           [ 0. ,  1.7,  1. ,  0. ],
           [-1.4, -0.6,  0. ,  1. ],
           [ 0. , -0.6,  1. ,  0. ]])
    >>> list(preparation.get_feature_names_out())
    ['numeric__bpm', 'numeric__missingindicator_bpm', 'one_hot__genre_folk', 'one_hot__genre_rock']
    """
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
    # Always dense: whether the result is sparse should not depend on the fold.
    return ColumnTransformer(parts, sparse_threshold=0)


def needs_preparation(X: Any) -> bool:
    """Whether X is a data frame with columns that are no numbers, or with missing values."""
    if not hasattr(X, "iloc"):
        return False
    from pandas.api.types import is_numeric_dtype

    return any(not is_numeric_dtype(dtype) for dtype in X.dtypes) or bool(X.isna().any(axis=None))


def preparation_of(model: Any) -> ColumnTransformer | None:
    """Return the first step of a pipeline if :func:`make_preparation` made it."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    made = isinstance(first, ColumnTransformer) and {_NUMERIC, _ONE_HOT, _FREQUENCIES}.issuperset(
        name for name, *_ in first.transformers
    )
    return first if made else None


def nominal_in(preparation: ColumnTransformer) -> list[str]:
    """Return the columns that a preparation takes for categories."""
    return [
        str(column)
        for kind, _, columns in preparation.transformers
        if kind != _NUMERIC
        for column in columns
    ]


def describe(preparation: ColumnTransformer) -> str:
    """Say in one line what a preparation does.

    Examples
    --------
    >>> import pandas as pd
    >>> describe(make_preparation(pd.DataFrame({"genre": ["rock", "folk"], "bpm": [120, 80]})))
    '1 numeric column: gaps filled, standardised; 1 nominal column one-hot: genre'
    """
    return "; ".join(
        _described(kind, step, columns) for kind, step, columns in preparation.transformers
    )


def _described(kind: str, step: Any, columns: list[Any]) -> str:
    few = ", ".join(map(str, columns[:5])) + (", …" if len(columns) > 5 else "")
    plural = "s" if len(columns) > 1 else ""
    if kind == _NUMERIC:
        scaled = ", standardised" if isinstance(step, Pipeline) else ""
        return f"{len(columns)} numeric column{plural}: gaps filled{scaled}"
    how = "one-hot" if kind == _ONE_HOT else "by the frequency of every label"
    return f"{len(columns)} nominal column{plural} {how}: {few}"


def _kind(column: pd.Series, max_levels: int) -> str:
    from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

    if is_datetime64_any_dtype(column):
        raise ValueError(
            f"column {column.name!r} of X holds dates: make numbers of them first, as "
            "labelweave.Dataset does"
        )
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return _NUMERIC
    return _ONE_HOT if column.nunique() <= max_levels else _FREQUENCIES
