"""Bring the features and labels of a file into the form a model was fitted with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import Reading, is_table, label_names_of, load_dataset

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.datasets import Dataset

__all__ = ["aligned_labels", "dataset_features", "nominal_of", "read_features"]


def nominal_of(model: Any) -> list[str]:
    """Return the columns that a model was given as categories."""
    from labelweave.datasets.preparation import nominal_in, preparation_of

    preparation = preparation_of(model)
    return [] if preparation is None else nominal_in(preparation)


def read_features(model: Any, file: str, reading: Reading) -> Any:
    """Read the FILE argument: features for a model, with or without labels beside them."""
    if not is_table(file):
        return dataset_features(model, load_dataset(file, reading, name="FILE"), "FILE")
    from labelweave.datasets import read_table
    from labelweave.datasets.label_columns import split_names

    nominal, limits = nominal_of(model), reading.limits()
    with argument("FILE"):
        table = read_table(file, nominal=nominal, header=reading.header, limits=limits)
    # Columns the model does not know may hold anything; a model without names takes them all.
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        unwanted = [*label_names_of(model, 0), *split_names(reading.ignore or "")]
        table = table.drop(columns=unwanted, errors="ignore")
    else:
        table = table[[name for name in table.columns if name in set(known)]]
    return aligned_features(model, table, list(table.columns), "FILE")


def dataset_features(model: Any, data: Dataset, argument_name: str) -> Any:
    """Bring the features of a data set into the order the model was fitted with."""
    from labelweave.datasets.names import NumberedNames

    X, names = data.X, data.feature_names
    if _is_sparse_text(data) and hasattr(model, "n_features_in_"):
        # Such text says what is not zero: the last features of the model may occur in no row.
        X = _with_columns(X, model.n_features_in_)
        _tell_of_features(argument_name, data.n_features - model.n_features_in_)
        names = NumberedNames("x", model.n_features_in_)
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
    from labelweave.datasets.names import NumberedNames

    return data.is_sparse and data.feature_names == NumberedNames("x", data.n_features)


def _with_columns(X: Any, n_columns: int) -> Any:
    """Cut off the last columns of a sparse array, or append empty ones."""
    resized = X[:, :n_columns].copy()
    resized.resize((X.shape[0], n_columns))
    return resized


def aligned_features(model: Any, X: Any, names: Sequence[str], argument_name: str) -> Any:
    """Bring columns into the order the model was fitted with, by name where it knows names."""
    import pandas as pd

    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None:
        expected = getattr(model, "n_features_in_", len(names))
        if len(names) != expected:
            raise BadInputError(
                f"{argument_name}: there are {len(names)} features, the model needs {expected}"
            )
        is_frame = isinstance(X, pd.DataFrame)
        return _as_fitted(model, X, argument_name).to_numpy() if is_frame else X
    missing = sorted(set(wanted).difference(names))
    if missing:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise BadInputError(
            f"{argument_name}: {len(missing)} of the model's {len(wanted)} features are missing: "
            f"{shown}"
        )
    dense = X.toarray() if hasattr(X, "toarray") else X
    frame = pd.DataFrame(dense, columns=list(names))[list(wanted)]
    return _as_fitted(model, frame, argument_name)


def _as_fitted(model: Any, frame: pd.DataFrame, argument_name: str) -> pd.DataFrame:
    """Return columns as numbers or categories, whichever the model knows them as."""
    import numpy as np
    import pandas as pd

    from labelweave.datasets.columns import feature_column
    from labelweave.datasets.preparation import preparation_of

    nominal, may_miss = set(nominal_of(model)), preparation_of(model) is not None
    columns = []
    for position, name in enumerate(frame.columns):
        given = frame.iloc[:, position]
        try:
            column = feature_column(given, name, argument_name, name in nominal)
        except ValueError as error:
            raise BadInputError(str(error)) from error
        if name not in nominal:
            is_number = column.dtype == np.float64
            numbers = column if is_number else pd.to_numeric(given, errors="coerce")
            wrong = np.flatnonzero(numbers.isna() & ~(may_miss & given.isna()))
            if len(wrong):
                found = given.iloc[int(wrong[0])]
                raise BadInputError(
                    f"{argument_name}: column {name!r} has no finite number in row "
                    f"{wrong[0] + 1} ({found!r}); fill such values in first"
                )
        columns.append(column)
    return pd.concat(columns, axis="columns") if columns else frame


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
