"""Determine which columns of a table are labels."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

LabelSpec: TypeAlias = "str | Sequence[str]"

_COUNT = re.compile(r"(first|last):(\d{1,9})")


def choose_labels(
    labels: LabelSpec, columns: Sequence[str], source: str, ignore: Sequence[str] = ()
) -> list[int]:
    """Return the positions of the label columns.

    Parameters
    ----------
    labels : str or sequence of str
        ``"first:6"`` or ``"last:14"``: that many columns at that end. ``"a,b,c"`` or
        ``["a", "b", "c"]``: the columns with these names, in this order; a name that contains a
        comma is enclosed in double quotes.
    columns : sequence of str
        The names of all columns.
    source : str
        The name of the file, for error messages.
    ignore : sequence of str
        Columns that are not counted.

    Examples
    --------
    >>> choose_labels("last:2", ["x", "y", "z"], "file.csv")
    [1, 2]
    >>> choose_labels('z,"x, too"', ["x, too", "y", "z"], "file.csv")
    [2, 0]
    >>> choose_labels("first:1", ["id", "y", "z"], "file.csv", ignore=["id"])
    [1]
    """
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
    """Raise ValueError, with a hint, for the first name that is no column."""
    known = set(columns)
    for name in names:
        if name not in known:
            raise ValueError(
                f"{source}: there is no column {name!r} {purpose}{_hint(name, columns)}"
            )


def split_names(names: str) -> list[str]:
    """Return the names in a list such as ``a,b,"c, d"``.

    Examples
    --------
    >>> split_names('rock, "rhythm, blues"')
    ['rock', 'rhythm, blues']
    """
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
