"""Read CSV and Parquet files in which some columns are labels."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave.data.columns import (
    LabelSpec,
    choose_labels,
    label_column,
    parse_number,
    require_columns,
)
from labelweave.data.dataset import Dataset, as_features
from labelweave.data.files import (
    FilePath,
    Limits,
    dataset_name,
    display_path,
    read_bytes,
    read_text,
    uncompressed_name,
)

if TYPE_CHECKING:
    import pandas as pd


def read_labelled_table(
    path: FilePath,
    labels: LabelSpec,
    *,
    ignore: Sequence[str] = (),
    nominal: Collection[str] = (),
    header: bool | None = None,
    limits: Limits | None = None,
) -> Dataset:
    """Read a CSV or Parquet file, some of whose columns are labels."""
    source = display_path(path)
    table = read_table(path, nominal=nominal, header=header, limits=limits)
    columns = list(table.columns)
    label_columns = choose_labels(labels, columns, source, ignore)
    require_columns(nominal, columns, source, "to read as categories")
    unused = {*label_columns, *(c for c, column in enumerate(columns) if column in set(ignore))}
    feature_columns = [c for c in range(len(columns)) if c not in unused]
    Y = [label_column(table.iloc[:, c], columns[c], source) for c in label_columns]
    label_names = tuple(columns[c] for c in label_columns)
    X = as_features(table.iloc[:, feature_columns], nominal=nominal, source=source)
    if header is None and not _is_parquet(path) and label_names in (("0",), ("1",)):
        raise ValueError(f"{source}: {_NO_NAMES.format(', '.join(columns[-3:]))}")
    names = tuple(columns[c] for c in feature_columns)
    return Dataset(X, np.column_stack(Y), names, label_names, dataset_name(path))


def read_table(
    path: FilePath,
    *,
    nominal: Collection[str] = (),
    header: bool | None = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Return all columns of a CSV or Parquet file unchanged, with distinct strings as names.

    A ``.tsv`` file has tabs as separators. Parquet requires pyarrow.
    """
    limits = limits or Limits()
    if _is_parquet(path):
        table = _parquet_table(path, limits)
    else:
        table = _csv_table(path, nominal, header, limits)
    table.columns = table.columns.map(str)
    if len(table) == 0:
        raise ValueError(f"{display_path(path)}: expected rows below the column names, found none")
    return table


def _is_parquet(path: FilePath) -> bool:
    return uncompressed_name(path).lower().endswith((".parquet", ".pq"))


def _csv_table(
    path: FilePath, nominal: Collection[str], header: bool | None, limits: Limits
) -> pd.DataFrame:
    import pandas as pd

    text, source = read_text(path, limits), display_path(path)
    separator = "\t" if uncompressed_name(path).lower().endswith(".tsv") else ","
    names = _column_names(text, separator, header, source)
    n_lines = text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")
    if n_lines * len(names) > len(text):  # values missing at the end of rows take no space in it
        limits.check_matrix(n_lines, len(names), "lines × columns", source)
    troubles = (
        pd.errors.ParserError,
        pd.errors.ParserWarning,  # raised below if rows are longer than the header line
        pd.errors.EmptyDataError,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table: pd.DataFrame = pd.read_csv(
                io.BytesIO(text),
                sep=separator,
                skipinitialspace=True,
                index_col=False,
                header=None if header is False else 0,
                names=names,
                dtype={name: str for name in names if name in set(nominal)},
                na_values=["?"],
                low_memory=False,  # one type per column, even if it is long
                **_exact_numbers(pd.__version__),
            )
    except troubles as error:
        _check_lengths(text, separator, len(names), source)
        raise ValueError(f"{source}: {str(error).strip()}") from error
    return table


def _rows(text: bytes, separator: str) -> Any:
    """Return csv's reader of the rows, whose `line_num` is the last line that was read."""
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def _check_lengths(text: bytes, separator: str, n_columns: int, source: str) -> None:
    """Raise ValueError for the first row with more values than there are columns."""
    rows = _rows(text, separator)
    for row in rows:
        if len(row) > n_columns:
            raise ValueError(
                f"{source}:{rows.line_num}: {len(row)} values, but there are {n_columns} columns: "
                "enclose values that contain the separator in double quotes"
            )


def _check_separator(text: bytes, separator: str, source: str) -> None:
    """Raise ValueError if the first two lines have several values only by another separator."""
    for other, advice in _OTHERS.items():
        if other == separator:
            continue
        widths = {len(row) for row, _ in zip(_rows(text, other), range(2), strict=False)}
        if len(widths) == 1 and widths.pop() > 1:
            raise ValueError(
                f"{source}: the values are separated by {other!r}, not by {separator!r}: {advice}"
            )


def _column_names(text: bytes, separator: str, header: bool | None, source: str) -> list[str]:
    """Return the column names in the first line, or 1, 2, 3, … if it is a row."""
    try:
        first: list[str] = next((row for row in _rows(text, separator) if row), [])
    except csv.Error as error:
        raise ValueError(f"{source}: cannot parse the first line: {error}") from error
    if not first:
        raise ValueError(f"{source}: expected column names or a row, found the end of the file")
    if len(first) == 1:
        _check_separator(text, separator, source)
    if header is False:
        return [str(number) for number in range(1, len(first) + 1)]
    names = [name.strip() or f"Unnamed: {k}" for k, name in enumerate(first)]
    if header is None and _looks_like_a_row(names):
        raise ValueError(f"{source}: {_NO_NAMES.format(', '.join(names[:3]))}")
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ValueError(
            f"{source}: two columns are named {twice[0]!r}: rename one, or pass header=False "
            "(--no-header on the command line) if the first line is a row"
        )
    return names


# Separators that files use instead, with advice for each.
_OTHERS = {
    ",": "name the file .csv",
    "\t": "name the file .tsv",
    ";": "write it with commas, and with points in decimal numbers",
}
_NO_NAMES = (
    "the first line should contain the column names, but is {}…: if it is a row, pass header=False "
    "(--no-header on the command line); if these are names, header=True (--header)"
)


def _looks_like_a_row(names: Sequence[str]) -> bool:
    """Whether all names are numbers, but not the column numbers that pandas writes as names."""
    counts = ([str(k + start) for k in range(len(names))] for start in (0, 1))
    return all(parse_number(name) is not None for name in names) and list(names) not in counts


def _parquet_table(path: FilePath, limits: Limits) -> pd.DataFrame:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError as error:  # pragma: no cover - pyarrow is there when tests run
        raise ImportError(
            "reading Parquet files requires pyarrow: pip install 'labelweave[parquet]'"
        ) from error
    source = display_path(path)
    try:
        content = io.BytesIO(read_bytes(path, limits))
        schema = parquet.read_schema(content)
        texts = [field.name for field in schema if _is_text(field.type)]
        # Repeated values take no space in the file.
        file = parquet.ParquetFile(content, read_dictionary=texts)
        size = file.metadata.num_rows, file.metadata.num_columns
        limits.check_matrix(*size, "rows × columns", source)
        table = file.read()
        for name in texts:
            limits.check_memory(_text_bytes(table, name), f"the text in column {name!r}", source)
        frame: pd.DataFrame = table.cast(schema).to_pandas()
    except MemoryError:
        raise  # an ArrowException, too
    except pa.ArrowException as error:
        raise ValueError(f"{source}: not a Parquet file: {error}") from error
    return frame


def _is_text(arrow_type: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(arrow_type) or types.is_large_string(arrow_type))


def _text_bytes(table: Any, name: str) -> int:
    """Return the bytes that a column of texts takes if each row has its own copy."""
    from pyarrow import compute

    chunks = table.column(name).chunks
    lengths = (compute.binary_length(chunk.dictionary).take(chunk.indices) for chunk in chunks)
    return sum(compute.sum(of_rows).as_py() or 0 for of_rows in lengths)


def _exact_numbers(pandas_version: str) -> dict[str, Any]:
    """Return the option that makes pandas parse numbers exactly; pandas 3.1 always does."""
    major, minor = (int(part) for part in pandas_version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}
