"""The columns of a table: numbers or categories, and labels of 0 and 1."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from labelweave._common.arrays import Indicators, Indices

if TYPE_CHECKING:
    import pandas as pd

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# Pairs of words that have an obvious number.
_WORDS = {
    "false": 0.0,
    "true": 1.0,
    "no": 0.0,
    "yes": 1.0,
    "f": 0.0,
    "t": 1.0,
    "n": 0.0,
    "y": 1.0,
}


def number_of(value: Any) -> float | None:
    """Return the number a value is or spells, None if there is none; it may be infinite.

    Examples
    --------
    >>> number_of("-1.5e3"), number_of("red"), number_of("1_000"), number_of("9" * 400)
    (-1500.0, None, None, inf)
    """
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if not isinstance(value, Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if cast(int, value) > 0 else -math.inf


def numbers_of(values: Sequence[Any]) -> list[float] | None:
    """Return what distinct values stand for, if they are numbers or words such as no and yes.

    Examples
    --------
    >>> numbers_of(["1", "2.5"]), numbers_of(["NO", "YES"]), numbers_of(["red", "2"])
    ([1.0, 2.5], [0.0, 1.0], None)
    """
    numbers = [number_of(value) for value in values]
    words = [_WORDS.get(str(value).strip().lower()) for value in values] if None in numbers else []
    known = [number for number in words or numbers if number is not None]
    return known if len(known) == len(values) else None


def feature_column(column: pd.Series, name: str, source: str, nominal: bool = False) -> pd.Series:
    """Return a column as float64 (NaN where a value is missing) or as categories that are text.

    Columns of numbers, booleans, dates (as days since 1970) and words such as yes and no become
    numbers; all others, and those that are declared nominal, become categories.

    Parameters
    ----------
    column : pandas.Series
        The values.
    name, source : str
        Column and file, for messages.
    nominal : bool, default=False
        Make categories of numbers too.

    Examples
    --------
    >>> import pandas as pd
    >>> feature_column(pd.Series(["yes", None, "no"]), "x", "toy.csv").tolist()
    [1.0, nan, 0.0]
    >>> feature_column(pd.Series([3, 1, 3]), "x", "toy.csv", nominal=True).tolist()
    ['3', '1', '3']
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not nominal:  # booleans are numbers too
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif _holds_dates(column):
        since = pd.to_datetime(column, utc=True) - pd.Timestamp(0, tz="UTC")
        numbers = (since / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    else:
        if _is_categories_of_text(column):
            return column.rename(name)
        codes, levels = _levels(column, name, source)
        known = None if nominal or column.dtype == "category" else numbers_of(levels)
        if known is None:
            text = np.array([*(_text(level) for level in levels), None], dtype=object)
            return pd.Series(pd.Categorical(text[codes]), index=column.index, name=name)
        numbers = np.array([*known, np.nan])[codes]
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise ValueError(
            f"{source}: column {name!r} is infinite, or too large for a number, in row "
            f"{infinite[0] + 1}: give it a finite value, or drop such rows, first"
        )
    return pd.Series(numbers, index=column.index, name=name)


def label_column(column: pd.Series, name: str, source: str) -> Indicators:
    """Return a column of labels, which may say yes and no or true and false, as 0 and 1.

    Examples
    --------
    >>> import pandas as pd
    >>> label_column(pd.Series(["Yes", "No"]), "sun", "toy.csv")
    array([1, 0])
    """
    codes, levels = _levels(column, name, source)
    if (codes < 0).any():
        raise ValueError(
            f"{source}: label column {name!r} has no value in row {int(np.argmax(codes < 0)) + 1}: "
            "drop such rows, or leave the label out, first"
        )
    numbers = [(numbers_of([level]) or [math.nan])[0] for level in levels]
    wrong = [code for code, number in enumerate(numbers) if number not in (0.0, 1.0)]
    if wrong:
        row = int(np.flatnonzero(np.isin(codes, wrong))[0])
        raise ValueError(
            f"{source}: label column {name!r} must hold 0 and 1 only (or no and yes, false and "
            f"true), found {_text(levels[codes[row]])[:40]} in row {row + 1}"
        )
    return np.array([*numbers, 0.0])[codes].astype(np.int64)


def _is_categories_of_text(column: pd.Series) -> bool:
    is_nominal = column.dtype == "category"
    return is_nominal and all(isinstance(level, str) for level in column.cat.categories)


def _holds_dates(column: pd.Series) -> bool:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    is_object = column.dtype == object
    return is_object and pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime")


def _levels(column: pd.Series, name: str, source: str) -> tuple[Indices, list[Any]]:
    """Return the distinct values, and which of them each row has: -1 where it is missing."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(column)
    except TypeError as error:
        raise ValueError(
            f"{source}: column {name!r} holds neither numbers nor text ({error}): leave it out"
        ) from error
    return codes, list(levels)


def _text(level: Any) -> str:
    """Return a value as text: a code is the same whether it came as 3, 3.0 or "3"."""
    if isinstance(level, Real) and not isinstance(level, bool | np.bool_):
        number = number_of(level) or 0.0
        return f"{number:.17g}"
    return str(level).strip()
