"""Read tables, CSV or Parquet, some of whose columns are labels."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave.datasets.columns import label_column, number_of
from labelweave.datasets.dataset import Dataset, as_features
from labelweave.datasets.files import FilePath, data_name, plain_name, read_bytes, read_text, shown
from labelweave.datasets.label_columns import LabelSpec, choose_labels
from labelweave.datasets.limits import Limits

if TYPE_CHECKING:
    import pandas as pd


def read_csv(
    path: FilePath,
    labels: LabelSpec,
    *,
    ignore: Sequence[str] = (),
    nominal: Collection[str] = (),
    header: bool | None = None,
    limits: Limits | None = None,
) -> Dataset:
    r"""Read a CSV file; tabs separate the columns of a ``.tsv`` file.

    Parameters
    ----------
    path : path
        The file, plain or compressed (.gz, .xz, .bz2).
    labels : str or sequence of str
        The label columns: ``"first:6"``, ``"last:14"``, or names as ``"a,b,c"`` or as a list. They
        hold 0 and 1, or words such as no and yes.
    ignore : sequence of str
        Columns to leave out, such as an identifier; they do not count among the first or last.
    nominal : collection of str
        Columns whose numbers are codes, to be read as categories.
    header : bool, optional
        Whether the first line names the columns; without, they are called 1, 2, 3, … If left out,
        it must, and a line that looks like a row is refused.
    limits : Limits, optional
        How large the file may be.

    Returns
    -------
    Dataset
        All other columns are features. Text becomes categories, and with such columns or missing
        values (an empty cell, ``NA``, ``?``) ``X`` is a data frame (see `Dataset`).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "weather.csv")
    >>> _ = path.write_text("day,clouds,sun,rain\n1,0.25,yes,no\n2,0.75,no,yes\n")
    >>> read_csv(path, labels="sun,rain", ignore=["day"])
    Dataset 'weather': 2 rows, 1 features, 2 labels, cardinality 1.000, 2 distinct label sets
    >>> folder.cleanup()
    """
    table = read_table(path, nominal=nominal, header=header, limits=limits)
    data = from_table(table, labels, shown(path), data_name(path), ignore=ignore, nominal=nominal)
    if header is None and tuple(data.label_names) in (("0",), ("1",)):
        raise ValueError(f"{shown(path)}: {_NO_NAMES.format(', '.join(table.columns[-3:]))}")
    return data


def read_parquet(
    path: FilePath,
    labels: LabelSpec,
    *,
    ignore: Sequence[str] = (),
    nominal: Collection[str] = (),
    limits: Limits | None = None,
) -> Dataset:
    """Read a Parquet file; needs pyarrow (``pip install labelweave[parquet]``).

    Parameters
    ----------
    path : path
        The file.
    labels, ignore, nominal, limits
        As of :func:`read_csv`.

    Returns
    -------
    Dataset
        As of :func:`read_csv`; columns that are categories in the file are nominal.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "weather.parquet")
    >>> table = pd.DataFrame({"clouds": [0.25, 0.75], "sun": [True, False], "rain": [False, True]})
    >>> table.to_parquet(path)
    >>> read_parquet(path, labels="last:2").Y.tolist()
    [[1, 0], [0, 1]]
    >>> folder.cleanup()
    """
    table = read_table(path, limits=limits)
    return from_table(table, labels, shown(path), data_name(path), ignore=ignore, nominal=nominal)


def read_table(
    path: FilePath,
    *,
    nominal: Collection[str] = (),
    header: bool | None = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    r"""Return all columns of a CSV or Parquet file as they are, named by distinct strings.

    Parameters
    ----------
    path, nominal, header, limits
        As of :func:`read_csv`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "weather.csv")
    >>> _ = path.write_text("1,sun\n2,rain\n")
    >>> read_table(path, header=False).to_dict("list")
    {'1': [1, 2], '2': ['sun', 'rain']}
    >>> folder.cleanup()
    """
    limits = limits or Limits()
    if plain_name(path).lower().endswith((".parquet", ".pq")):
        table = _parquet_table(path, limits)
    else:
        table = _csv_table(path, nominal, header, limits)
    table.columns = table.columns.map(str)
    if len(table) == 0:
        raise ValueError(f"{shown(path)}: expected rows below the names of the columns, found none")
    return table


def _csv_table(
    path: FilePath, nominal: Collection[str], header: bool | None, limits: Limits
) -> pd.DataFrame:
    import pandas as pd

    text, source = read_text(path, limits), shown(path)
    separator = "\t" if plain_name(path).lower().endswith(".tsv") else ","
    names = _column_names(text, separator, header, source)
    troubles = (
        pd.errors.ParserError,
        pd.errors.ParserWarning,  # raised below where rows are longer than the header line
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
                low_memory=False,  # a column has one type, whatever its length
                **_exact_numbers(pd.__version__),
            )
    except troubles as error:
        raise ValueError(f"{source}: {str(error).strip()}") from error
    return table


def _column_names(text: bytes, separator: str, header: bool | None, source: str) -> list[str]:
    """Return the names in the first line, or the numbers of its columns; refuse a row of data."""
    lines = io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="")
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    try:
        first = next((row for row in rows if row), [])
    except csv.Error as error:
        raise ValueError(f"{source}: the first line cannot be read: {error}") from error
    if not first:
        raise ValueError(f"{source}: No columns to parse from file")
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


_NO_NAMES = (
    "the first line should name the columns, but holds {}…: if it is a row, pass header=False "
    "(--no-header on the command line), if these are names, header=True (--header)"
)


def _looks_like_a_row(names: Sequence[str]) -> bool:
    """Whether there are numbers only; counts are names, as a data frame writes them."""
    counts = ([str(k + start) for k in range(len(names))] for start in (0, 1))
    return all(number_of(name) is not None for name in names) and list(names) not in counts


def _parquet_table(path: FilePath, limits: Limits) -> pd.DataFrame:
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError as error:  # pragma: no cover - pyarrow is there when tests run
        raise ImportError(
            "reading Parquet needs pyarrow: pip install 'labelweave[parquet]'"
        ) from error
    try:
        file = parquet.ParquetFile(io.BytesIO(read_bytes(path, limits)))
        # Repeated values take no room in the file.
        size = file.metadata.num_rows, file.metadata.num_columns
        limits.check_matrix(*size, "rows × columns", shown(path))
        table: pd.DataFrame = file.read().to_pandas()
    except pa.ArrowException as error:
        raise ValueError(f"{shown(path)}: not a Parquet file: {error}") from error
    return table


def _exact_numbers(pandas_version: str) -> dict[str, Any]:
    """Return what makes pandas read numbers to the last bit; since 3.1 it always does."""
    major, minor = (int(part) for part in pandas_version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def from_table(
    table: pd.DataFrame,
    labels: LabelSpec,
    source: str,
    name: str,
    *,
    ignore: Sequence[str] = (),
    nominal: Collection[str] = (),
) -> Dataset:
    """Return the data set of a data frame; the arguments are those of :func:`read_csv`."""
    columns = [str(column) for column in table.columns]
    label_columns = choose_labels(labels, columns, source, ignore)
    unused = {*label_columns, *(c for c, column in enumerate(columns) if column in set(ignore))}
    feature_columns = [c for c in range(len(columns)) if c not in unused]
    Y = [label_column(table.iloc[:, c], columns[c], source) for c in label_columns]
    return Dataset(
        as_features(table.iloc[:, feature_columns], nominal=nominal, source=source),
        np.column_stack(Y),
        tuple(columns[c] for c in feature_columns),
        tuple(columns[c] for c in label_columns),
        name,
    )
