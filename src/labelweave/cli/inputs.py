"""Read what commands are given: data, models, features to predict from; check where to write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from labelweave.cli.errors import BadInputError, argument

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from labelweave.datasets import Dataset
    from labelweave.evaluation import Metric

__all__ = [
    "aligned_labels",
    "chosen_metrics",
    "dataset_features",
    "label_names_of",
    "load_dataset",
    "load_model",
    "read_features",
    "table_kind",
    "writable",
    "write_text",
]

_TABLES = {".csv": ",", ".tsv": "\t", ".parquet": None, ".pq": None}
_COMPRESSED = {".gz", ".xz", ".bz2"}


def load_dataset(
    source: str,
    labels: str | Iterable[str] | None,
    *,
    name: str = "DATASET",
    zero_based: bool | None = None,
) -> Dataset:
    """Load the DATASET argument, or the argument of another name."""
    from labelweave import datasets

    with argument(name):
        columns = labels if isinstance(labels, str | None) else [*labels]
        return datasets.load(source, labels=columns, zero_based=zero_based)


def load_model(path: Path, trusted: Iterable[str] | None) -> Any:
    """Load the MODEL argument."""
    from labelweave import persistence

    with argument("MODEL"):
        return persistence.load(path, trusted=trusted or ())


def chosen_metrics(names: str | None) -> tuple[Metric, ...]:
    """Look up the measures named by --metrics."""
    from labelweave.evaluation import DEFAULT_METRICS, resolve_metrics

    with argument("--metrics"):
        return resolve_metrics(DEFAULT_METRICS if names is None else names.split(","))


def writable(path: Path | None, option: str) -> None:
    """Complain before the work, not after it, when the result would have no place."""
    from labelweave._files import require_writable

    if path is not None:
        with argument(option):
            require_writable(path)


def write_text(path: Path, text: str, option: str) -> None:
    """Write the file that an option names, whole or not at all."""
    from labelweave._files import replacing

    with argument(option), replacing(path) as file:
        file.write(text.encode())


def label_names_of(model: Any, n_labels: int) -> list[str]:
    """Return the names of a model's labels, as far as it knows them."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    for part in (model, last):
        if getattr(part, "label_names_in_", None) is not None:
            return [str(name) for name in part.label_names_in_]
    return [f"y{label}" for label in range(n_labels)]


def table_kind(path: str) -> str | None:
    """Return the ending of a CSV or Parquet file, plain or compressed; None for other files."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in _TABLES else None


def read_features(model: Any, file: str, labels: str | None, zero_based: bool | None = None) -> Any:
    """Read the FILE argument: features for a model, with or without labels beside them."""
    kind = table_kind(file)
    if kind is None:
        data = load_dataset(file, labels, name="FILE", zero_based=zero_based)
        return dataset_features(model, data, "FILE")
    import pandas as pd

    with argument("FILE"):
        separator = _TABLES[kind]
        table = pd.read_parquet(file) if separator is None else pd.read_csv(file, sep=separator)
    table.columns = table.columns.map(str).str.strip()
    # Columns the model does not know may hold anything; a model without names takes them all.
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        table = table.drop(columns=label_names_of(model, 0), errors="ignore")
    else:
        table = table[[name for name in table.columns if name in set(known)]]
    return aligned_features(model, _as_numbers(table), table.columns, "FILE")


def _as_numbers(table: pd.DataFrame) -> NDArray[np.float64]:
    """Turn a table into an array, or say where there is no number in it."""
    import numpy as np
    import pandas as pd

    columns = []
    for name in table.columns:
        values = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            found = table[name].iloc[int(wrong[0])]
            raise BadInputError(
                f"FILE: column {name!r} has no finite number in row {wrong[0] + 1} ({found!r}); "
                "fill such values in first"
            )
        columns.append(values)
    return np.column_stack([np.empty((len(table), 0)), *columns])


def dataset_features(model: Any, data: Dataset, argument_name: str) -> Any:
    """Bring the features of a data set into the order the model was fitted with."""
    X, names = data.X, data.feature_names
    if _is_sparse_text(data) and hasattr(model, "n_features_in_"):
        # Such text says what is not zero: the last features of the model may occur in no row.
        X, names = _with_columns(X, model.n_features_in_), names[: model.n_features_in_]
        _tell_of_features(argument_name, data.n_features - model.n_features_in_)
        names += tuple(f"x{j}" for j in range(len(names), model.n_features_in_))
    return aligned_features(model, X, names, argument_name)


def _tell_of_features(argument_name: str, surplus: int) -> None:
    """Say how the features of a text differ from the model's: it may be counted from elsewhere."""
    if surplus > 0:
        text = f"{surplus} features that the model has not seen are left out"
    elif surplus < 0:
        text = f"the last {-surplus} features of the model occur in no row"
    else:
        return
    advice = "svmlight features count from 1 if there is no feature 0; --zero-based says otherwise"
    typer.echo(f"{argument_name}: {text} ({advice})", err=True)


def _is_sparse_text(data: Dataset) -> bool:
    """Whether features and labels have numbers instead of names, as in svmlight and XMC text."""
    return data.is_sparse and data.feature_names == tuple(f"x{j}" for j in range(data.n_features))


def _with_columns(X: Any, n_columns: int) -> Any:
    """Cut off the last columns of a sparse array, or append empty ones."""
    resized = X[:, :n_columns].copy()
    resized.resize((X.shape[0], n_columns))
    return resized


def aligned_features(model: Any, X: Any, names: Iterable[str], argument_name: str) -> Any:
    """Bring columns into the order the model was fitted with, by name where it knows names."""
    import pandas as pd

    given = [str(name) for name in names]
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None:
        expected = getattr(model, "n_features_in_", len(given))
        if len(given) != expected:
            raise BadInputError(
                f"{argument_name}: there are {len(given)} features, the model needs {expected}"
            )
        return X
    missing = [name for name in wanted if name not in set(given)]
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise BadInputError(
            f"{argument_name}: {len(missing)} of the model's {len(wanted)} features are missing: "
            f"{shown}"
        )
    dense = X.toarray() if hasattr(X, "toarray") else X
    return pd.DataFrame(dense, columns=given)[list(wanted)]


def aligned_labels(model: Any, data: Dataset) -> Any:
    """Bring label columns into the order of the model's labels."""
    import numpy as np

    names = label_names_of(model, data.n_labels)
    column = {name: j for j, name in enumerate(names)}
    unknown = [name for name in data.label_names if name not in column]
    if _is_sparse_text(data) and len(unknown) < data.n_labels:
        # Such text says what is there: the model's other labels are on no row of it.
        if unknown:
            shown = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
            typer.echo(f"DATASET: labels the model does not know do not count: {shown}", err=True)
        truth = np.zeros((data.n_rows, len(names)), dtype=np.int64)
        known = [j for j, name in enumerate(data.label_names) if name in column]
        truth[:, [column[data.label_names[j]] for j in known]] = data.Y[:, known]
        return truth
    if unknown or len(names) != data.n_labels:
        raise BadInputError(
            f"the labels of DATASET ({', '.join(data.label_names[:5])}...) are not those of MODEL "
            f"({', '.join(names[:5])}...); name them with --labels"
        )
    return data.Y[:, [data.label_names.index(name) for name in names]]
