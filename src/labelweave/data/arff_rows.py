"""Parse ARFF rows with text, dates or missing values, which the compiled reader cannot read."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.data.arff_header import QUOTED, Attribute, Header, unquote
from labelweave.data.columns import parse_number

_BLANKS = re.compile(r"[ \t\r]*")
_END = re.compile(r"[ \t\r]*(?:%.*)?$")
_CELL = re.compile(rf"""{QUOTED}|[^\s,{{}}%'"][^\s,{{}}%]*""")
_INDEX = re.compile(r"\d{1,9}(?=[ \t\r,}]|$)", re.ASCII)
_MISSING = re.compile(rb"^[^%\n]*\?", re.MULTILINE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Java's date format letters and their equivalents in Python.
_DATE_PARTS = {
    **{"yyyy": "%Y", "yy": "%y", "MMM": "%b", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M"},
    **{"ss": "%S", "SSS": "%f", "Z": "%z", "EEE": "%a", "a": "%p", "hh": "%I", "''": "'"},
}
_DATE_WORD = re.compile(r"'[^']+'|''|([A-Za-z])\1*|[^A-Za-z']")

#: Maps the text of a value to a number; None if the attribute has no such value.
Reader = Callable[[str], float | None]


@dataclass(frozen=True)
class ArffRows:
    """The parsed rows: `values` (n, attributes), and the levels of string attributes by position.

    Strings are coded by the index of their level; missing values are NaN.
    """

    values: Floats
    levels: dict[int, tuple[str, ...]]
    is_sparse: bool


def needs_python(text: bytes, header: Header) -> bool:
    """Whether the rows may hold text, dates or missing values."""
    kinds = {attribute.kind for attribute in header.attributes}
    return not kinds <= {"numeric", "nominal"} or bool(_MISSING.search(text, header.offset))


def read_rows(
    text: bytes,
    header: Header,
    meanings: Sequence[Sequence[float] | None],
    labels: Collection[int],
    source: str,
) -> ArffRows:
    r"""Parse the rows that follow ``@data``."""
    levels: dict[int, dict[str, float]] = {
        c: {} for c, attribute in enumerate(header.attributes) if attribute.kind == "string"
    }
    readers = [
        _reader(attribute, meanings[c], levels.get(c), source)
        for c, attribute in enumerate(header.attributes)
    ]
    # A sparse row omits zeros and, for a nominal attribute, its first value.
    omitted = [0.0 if meaning is None else meaning[0] for meaning in meanings]
    columns = _Columns(header.attributes, readers, omitted, frozenset(labels))
    values, is_sparse = array("d"), None
    lines = text[header.offset :].decode().split("\n")
    for number, line in enumerate(lines, header.line):
        if _END.match(line):
            continue
        row = _Row(line, number, source, columns)
        is_sparse = line.lstrip().startswith("{") if is_sparse is None else is_sparse
        values.extend(row.sparse() if is_sparse else row.dense())
    table = np.frombuffer(values, dtype=np.float64) if values else np.empty(0)
    found = {c: tuple(known) for c, known in levels.items()}
    return ArffRows(table.reshape(-1, len(header.attributes)), found, bool(is_sparse))


@dataclass(frozen=True)
class _Columns:
    """The attributes, their readers, the values that sparse rows omit, and the label columns."""

    attributes: Sequence[Attribute]
    readers: Sequence[Reader]
    omitted: Sequence[float]
    labels: frozenset[int]


class _Row:
    def __init__(self, text: str, number: int, source: str, columns: _Columns) -> None:
        self.text, self.number, self.source, self.columns = text, number, source, columns
        self.at = 0

    def dense(self) -> list[float]:
        """Parse one value per column; values are separated by a comma, by blanks, or by both."""
        values = []
        for column in range(len(self.columns.attributes)):
            self._skip_blanks()
            if column and self._sees(","):
                self.at += 1
                self._skip_blanks()
            values.append(self._value(column))
        self._finish(f"the end of the row after {len(values)} values")
        return values

    def sparse(self) -> list[float]:
        """Parse pairs of index and value in braces."""
        values, seen = list(self.columns.omitted), set[int]()
        self._take("{", "'{', as in the rows before")
        more = not self._sees("}")
        while more:
            column, value = self._entry(seen)
            seen.add(column)
            values[column] = value
            self._skip_blanks()
            more = self._sees(",")
            self.at += more
        self._take("}", "',' or '}'")
        self._finish("the end of the row")
        return values

    def _entry(self, seen: set[int]) -> tuple[int, float]:
        self._skip_blanks()
        count = len(self.columns.attributes)
        found = _INDEX.match(self.text, self.at)
        if not found or int(found[0]) >= count:
            self.fail(f"a column index from 0 to {count - 1}")
        if int(found[0]) in seen:
            self.fail("a column index that is not yet in this row")
        self.at = found.end()
        self._skip_blanks()
        return int(found[0]), self._value(int(found[0]))

    def _value(self, column: int) -> float:
        """Parse the value at the cursor; NaN if it is missing."""
        cell = _CELL.match(self.text, self.at)
        name, is_label = self.columns.attributes[column].name, column in self.columns.labels
        if not cell:
            self.fail(f"a value for column {column + 1} ({name!r})")
        if cell[0] == "?" and not is_label:
            value: float | None = math.nan
        else:
            value = self.columns.readers[column](unquote(cell[0]))
        if is_label and value not in (0.0, 1.0):
            self.fail(f"0 or 1 for label {name!r}")
        if value is None:
            expected = _expected(self.columns.attributes[column])
            self.fail(f"{expected} for column {column + 1} ({name!r})")
        self.at = cell.end()
        return value

    def _sees(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def _take(self, sign: str, expected: str) -> None:
        self._skip_blanks()
        if not self._sees(sign):
            self.fail(expected)
        self.at += 1
        self._skip_blanks()

    def _skip_blanks(self) -> None:
        blanks = _BLANKS.match(self.text, self.at)
        self.at = blanks.end() if blanks else self.at

    def _finish(self, expected: str) -> None:
        if not _END.match(self.text, self.at):
            self._skip_blanks()
            self.fail(expected)

    def fail(self, expected: str) -> NoReturn:
        """Raise ValueError that names the expected and the found text at the cursor."""
        rest = self.text[self.at :].strip()
        word = _CELL.match(rest)
        found = repr((word[0] if word else rest[0])[:40]) if rest else "the end of the line"
        raise ValueError(
            f"{self.source}:{self.number}:{self.at + 1}: expected {expected}, found {found}"
        )


def _reader(
    attribute: Attribute,
    meaning: Sequence[float] | None,
    levels: dict[str, float] | None,
    source: str,
) -> Reader:
    if levels is not None:
        known = levels  # grows with every new level
        return lambda text: known.setdefault(text, float(len(known)))
    if attribute.kind == "date":
        pattern = _date_pattern(attribute, source)
        return lambda text: _days(text, pattern)
    if attribute.values is not None and meaning is not None:
        return dict(zip(attribute.values, meaning, strict=True)).get
    return _finite


def _finite(text: str) -> float | None:
    number = parse_number(text)
    return number if number is not None and math.isfinite(number) else None


def _days(text: str, pattern: str) -> float | None:
    """Return a date as days since 1970."""
    try:
        date = datetime.strptime(text, pattern)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return (date - _EPOCH).total_seconds() / 86400


def _date_pattern(attribute: Attribute, source: str) -> str:
    """Translate the pattern of a date into Python's notation."""
    parts = []
    for word in (found[0] for found in _DATE_WORD.finditer(attribute.date_pattern)):
        part = _DATE_PARTS.get(word, word.strip("'") if not word[0].isalpha() else None)
        if part is None:
            raise ValueError(
                f"{source}:{attribute.line}:1: expected a date such as 'yyyy-MM-dd HH:mm:ss' for "
                f"{attribute.name!r}, found {word!r} in its pattern"
            )
        parts.append(part if part in _DATE_PARTS.values() else part.replace("%", "%%"))
    return "".join(parts)


def _expected(attribute: Attribute) -> str:
    if attribute.values is not None:
        return "one of {" + ",".join(attribute.values)[:60] + "}"
    return "a finite number" if attribute.kind == "numeric" else "a date"
