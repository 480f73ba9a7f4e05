"""Read tables, CSV or Parquet, some of whose columns are labels."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from labelweave.datasets.dataset import Dataset, as_labels
from labelweave.datasets.files import FilePath, data_name, plain_name, read_bytes, read_text, shown
from labelweave.datasets.label_columns import LabelSpec, choose_labels

if TYPE_CHECKING:
    import pandas as pd


def read_csv(path: FilePath, labels: LabelSpec) -> Dataset:
    r"""Read a CSV file with a header line; tabs separate the columns of a ``.tsv`` file.

    Parameters
    ----------
    path : path
        The file, plain or compressed (.gz, .xz, .bz2).
    labels : str or sequence of str
        The label columns: ``"first:6"``, ``"last:14"``, or names as ``"a,b,c"`` or as a list.

    Returns
    -------
    Dataset
        All other columns are features, and must be numbers.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "weather.csv")
    >>> _ = path.write_text("clouds,sun,rain\n0.25,1,0\n0.75,0,1\n")
    >>> read_csv(path, labels="sun,rain")
    Dataset 'weather': 2 rows, 1 features, 2 labels, cardinality 1.000, 2 distinct label sets
    >>> folder.cleanup()
    """
    import pandas as pd

    separator = "\t" if plain_name(path).lower().endswith(".tsv") else ","
    troubles = (
        pd.errors.ParserError,
        pd.errors.ParserWarning,  # raised below where rows are longer than the header line
        pd.errors.EmptyDataError,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.BytesIO(read_text(path)),
                sep=separator,
                skipinitialspace=True,
                index_col=False,
                **_exact_numbers(pd.__version__),
            )
    except troubles as error:
        raise ValueError(f"{shown(path)}: {str(error).strip()}") from error
    return from_table(table, labels, shown(path), data_name(path))


def read_parquet(path: FilePath, labels: LabelSpec) -> Dataset:
    """Read a Parquet file; needs pyarrow (``pip install labelweave[parquet]``).

    Parameters
    ----------
    path : path
        The file.
    labels : str or sequence of str
        The label columns: ``"first:6"``, ``"last:14"``, or names as ``"a,b,c"`` or as a list.

    Returns
    -------
    Dataset
        All other columns are features, and must be numbers.

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
    import pandas as pd

    try:
        import pyarrow as pa  # type: ignore[import-untyped]
    except ImportError as error:  # pragma: no cover - pyarrow is there when tests run
        raise ImportError(
            "reading Parquet needs pyarrow: pip install 'labelweave[parquet]'"
        ) from error
    try:
        table = pd.read_parquet(io.BytesIO(read_bytes(path)), engine="pyarrow")
    except pa.ArrowException as error:
        raise ValueError(f"{shown(path)}: not a Parquet file: {error}") from error
    return from_table(table, labels, shown(path), data_name(path))


def _exact_numbers(pandas_version: str) -> dict[str, Any]:
    """Return what makes pandas read numbers to the last bit; since 3.1 it always does."""
    major, minor = (int(part) for part in pandas_version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def from_table(table: pd.DataFrame, labels: LabelSpec, source: str, name: str) -> Dataset:
    """Return the data set of a data frame."""
    if len(table) == 0:
        raise ValueError(f"{source}: there are no rows below the header line")
    columns = [str(column) for column in table.columns]
    label_columns = choose_labels(labels, columns, source)
    feature_columns = sorted(set(range(len(columns))).difference(label_columns))
    numbers = [_numbers(table.iloc[:, c], columns[c], source) for c in range(len(columns))]
    for c in label_columns:
        _check_binary(numbers[c], columns[c], source)
    return Dataset(
        _beside(numbers, feature_columns, len(table)),
        as_labels(_beside(numbers, label_columns, len(table))),
        tuple(columns[c] for c in feature_columns),
        tuple(columns[c] for c in label_columns),
        name,
    )


def _beside(
    numbers: list[NDArray[np.float64]], chosen: list[int], n_rows: int
) -> NDArray[np.float64]:
    return np.column_stack([np.empty((n_rows, 0)), *(numbers[c] for c in chosen)])


def _numbers(column: pd.Series, name: str, source: str) -> NDArray[np.float64]:
    """Return a column as numbers, or say what in it is none."""
    import pandas as pd

    missing = np.flatnonzero(column.isna().to_numpy())
    if len(missing):
        raise ValueError(
            f"{source}: column {name!r} has no value in row {missing[0] + 1}: "
            "fill missing values in, or drop such rows, first"
        )
    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        numeric = pd.to_numeric(column, errors="coerce")
        row = int(np.flatnonzero(numeric.isna().to_numpy())[0]) if numeric.isna().any() else 0
        raise ValueError(
            f"{source}: column {name!r} is not numeric ({column.iloc[row]!r} in row {row + 1}): "
            "encode it as numbers (for example with pandas.get_dummies) or drop it first"
        )
    numbers = column.to_numpy(dtype=np.float64)
    infinite = np.flatnonzero(~np.isfinite(numbers))
    if len(infinite):
        raise ValueError(
            f"{source}: column {name!r} is infinite in row {infinite[0] + 1}: "
            "give it a finite value, or drop such rows, first"
        )
    return numbers


def _check_binary(values: NDArray[np.float64], name: str, source: str) -> None:
    wrong = np.flatnonzero((values != 0) & (values != 1))
    if len(wrong):
        raise ValueError(
            f"{source}: label column {name!r} must hold 0 and 1 only, "
            f"found {values[wrong[0]]:g} in row {wrong[0] + 1}"
        )
