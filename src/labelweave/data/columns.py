"""Columns of a table: which of them are labels, and the values of features and labels.

Features become numbers or categories, labels become 0 and 1.
"""

from __future__ import annotations

import csv
import difflib
import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from labelweave._common.arrays import Indicators, Indices

if TYPE_CHECKING:
    import pandas as pd


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# Words that are read as 0 or 1.
_WORDS = dict.fromkeys(("false", "no", "f", "n"), 0.0)
_WORDS |= dict.fromkeys(("true", "yes", "t", "y"), 1.0)


def parse_number(value: Any) -> float | None:
    """Return the number that a value is or spells, or None; the number may be infinite."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if not isinstance(value, Real | Decimal | np.bool_):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if cast(int, value) > 0 else -math.inf


def parse_numbers(values: Sequence[Any]) -> list[float] | None:
    """Return the numbers that distinct values, including words such as no, spell, or else None."""
    numbers = [parse_number(value) for value in values]
    words = [_WORDS.get(str(value).strip().lower()) for value in values] if None in numbers else []
    known = [number for number in words or numbers if number is not None]
    return known if len(known) == len(values) else None


def feature_column(column: pd.Series, name: str, source: str, nominal: bool = False) -> pd.Series:
    """Return a column as float64, with NaN for missing values, or as categories of text.

    Columns of numbers, booleans, dates (as days since 1970) and words such as yes and no are
    converted to numbers; all others, and those declared nominal, to categories.
    """
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column) and not nominal:  # booleans are numbers too
        numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif _holds_dates(column):
        since = pd.to_datetime(column, utc=True) - pd.Timestamp(0, tz="UTC")
        numbers = (since / pd.Timedelta(days=1)).to_numpy(dtype=np.float64)
    else:
        is_nominal = column.dtype == "category"
        if is_nominal and all(isinstance(level, str) for level in column.cat.categories):
            return column.rename(name)
        codes, levels = _levels(column, name, source)
        known = None if nominal or is_nominal else parse_numbers(levels)
        if known is None:
            text = np.array([*(_text(level) for level in levels), None], dtype=object)
            return pd.Series(pd.Categorical(text[codes]), index=column.index, name=name)
        numbers = np.array([*known, np.nan])[codes]
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise ValueError(
            f"{source}: column {name!r} is infinite or too large for a float in row "
            f"{infinite[0] + 1}: replace the value or drop such rows first"
        )
    return pd.Series(numbers, index=column.index, name=name)


def label_column(column: pd.Series, name: str, source: str) -> Indicators:
    """Return a label column as 0 and 1; its values may also be yes and no, or true and false."""
    codes, levels = _levels(column, name, source)
    numbers = [(parse_numbers([level]) or [math.nan])[0] for level in levels]
    wrong = [code for code, number in enumerate(numbers) if number not in (0.0, 1.0)]
    if wrong:
        row = int(np.flatnonzero(np.isin(codes, wrong))[0])
        found = levels[codes[row]]
        is_text = isinstance(found, str) and parse_number(found) is None
        advice = ": text is no label; make one column of 0 and 1 for each" if is_text else ""
        raise ValueError(
            f"{source}: label column {name!r} must contain only 0 and 1 (or no and yes, false and "
            f"true), found {_text(found)[:40]} in row {row + 1}{advice}"
        )
    if (codes < 0).any():
        raise ValueError(
            f"{source}: label column {name!r} has no value in row {int(np.argmax(codes < 0)) + 1}: "
            "drop such rows or this label first"
        )
    return np.array([*numbers, 0.0])[codes].astype(np.int64)


def _holds_dates(column: pd.Series) -> bool:
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    is_object = column.dtype == object
    return is_object and pd.api.types.infer_dtype(column, skipna=True) in ("date", "datetime")


def _levels(column: pd.Series, name: str, source: str) -> tuple[Indices, list[Any]]:
    """Return the code of each row (-1 where the value is missing) and the distinct values."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(column)
    except TypeError as error:
        raise ValueError(
            f"{source}: column {name!r} holds neither numbers nor text ({error}): drop it"
        ) from error
    return codes, list(levels)


def _text(level: Any) -> str:
    """Return a value as text: the codes 3, 3.0 and "3" are the same."""
    if isinstance(level, Real) and not isinstance(level, bool | np.bool_):
        number = parse_number(level) or 0.0
        return f"{number:.17g}"
    return str(level).strip()


LabelSpec: TypeAlias = "str | Sequence[str]"

_COUNT = re.compile(r"(first|last):(\d{1,9})")


def choose_labels(
    labels: LabelSpec, columns: Sequence[str], source: str, ignore: Sequence[str] = ()
) -> list[int]:
    """Return the positions of the label columns."""
    require_columns(ignore, columns, source, "to ignore")
    kept = [c for c, name in enumerate(columns) if name not in set(ignore)]
    return [kept[c] for c in _chosen(labels, [columns[c] for c in kept], source)]


def _chosen(labels: LabelSpec, columns: Sequence[str], source: str) -> list[int]:
    if not isinstance(labels, str):
        return named_columns(list(labels), columns, source)
    if labels in columns:
        return named_columns([labels], columns, source)
    count = _COUNT.fullmatch(labels.strip())
    if count:
        return end_columns(count[1], int(count[2]), columns, source)
    return named_columns(split_names(labels), columns, source)


def require_columns(
    names: Iterable[str], columns: Sequence[str], source: str, purpose: str
) -> None:
    """Raise ValueError, with a hint, for the first name that is not a column."""
    known = set(columns)
    for name in names:
        if name not in known:
            raise ValueError(
                f"{source}: there is no column {name!r} {purpose}{_hint(name, columns)}"
            )


def split_names(names: str) -> list[str]:
    """Return the names in a list such as ``a,b,"c, d"``."""
    return [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]


def end_columns(end: str, count: int, columns: Sequence[str], source: str) -> list[int]:
    """Return the positions of the ``count`` columns at the ``"first"`` or ``"last"`` end."""
    if not 0 < count <= len(columns):
        raise ValueError(
            f"{source}: cannot use the {end} {count} columns as labels, there are {len(columns)}"
        )
    return list(range(count)) if end == "first" else list(range(len(columns) - count, len(columns)))


def named_columns(names: Sequence[str], columns: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns with these names."""
    if not names:
        raise ValueError(f"{source}: labels is empty: name at least one column")
    position = {column: i for i, column in enumerate(columns)}
    require_columns(names, columns, source, "for a label")
    if len(set(names)) != len(names):
        raise ValueError(f"{source}: labels contains the same column twice")
    return [position[name] for name in names]


def _hint(name: str, columns: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, columns, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    few = ", ".join(columns[:5]) + (", …" if len(columns) > 5 else "")
    return f"; the columns are: {few}"
