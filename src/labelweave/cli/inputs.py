"""Read the data sets, models and metrics of commands, and align rows with a fitted model.

The features and labels of a file are matched with the model's by name, or by number in text
without names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from labelweave.cli.options import BadInputError, ReadOptions, argument

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.data import Dataset
    from labelweave.metrics import Metric


def load_dataset(source: str, read_options: ReadOptions, *, name: str = "DATASET") -> Dataset:
    """Load the DATASET argument, or the argument `name`."""
    from labelweave.data import load

    limits = read_options.limits()
    with argument(name):
        data = load(
            source,
            labels=read_options.labels,
            ignore=read_options.ignore or (),
            nominal=read_options.nominal or (),
            header=read_options.header,
            zero_based=read_options.zero_based,
            max_memory=limits.memory,
            max_features=limits.features,
            max_labels=limits.labels,
        )
    if not data.n_rows:
        raise BadInputError(f"{name}: {source} has no rows")
    check_magnitude(data.X, data.feature_names, name)
    return data


def check_magnitude(X: Any, names: Sequence[str], argument_name: str) -> None:
    """Raise an error that names the first feature too large for computations."""
    from labelweave._common.matrices import LARGEST_FEATURE, first_too_large

    if hasattr(X, "select_dtypes"):
        numbers = X.select_dtypes("number")
        X, names = numbers.to_numpy(), list(numbers.columns)
    found = first_too_large(X)
    if found is not None:
        row, column = found
        raise BadInputError(
            f"{argument_name}: feature {names[column]!r} is beyond {LARGEST_FEATURE:g} in row "
            f"{row + 1}: a model cannot compute with it; correct it or drop such rows first"
        )


def load_model(path: Path, trusted: Iterable[str] | None) -> Any:
    from labelweave import persistence

    with argument("MODEL"):
        return persistence.load_model(path, trusted=trusted or ())


def announce_preprocessing(model: Any) -> None:
    """Report how categories and missing values are converted to numbers, if there are any."""
    from labelweave.data.preprocessing import describe_preprocessor, preprocessor_of

    preprocessor = preprocessor_of(model)
    if preprocessor is not None:
        typer.echo(f"features: {describe_preprocessor(preprocessor)}", err=True)


def classifier_with_joint(model: Any) -> Any:
    """Return the classifier inside a model; raise an error if it has no joint distribution."""
    from labelweave._common.pipelines import inside

    classifier = inside(model).model
    if not hasattr(classifier, "predict_joint"):
        raise BadInputError(
            "MODEL: this model has no joint distribution of the labels; fit one of labelweave's"
        )
    return classifier


def chosen_metrics(names: str | None) -> tuple[Metric, ...]:
    from labelweave.metrics import DEFAULT_METRICS, resolve_metrics

    with argument("--metrics"):
        chosen = DEFAULT_METRICS if names is None else names.split(",")
        return tuple(resolve_metrics(chosen).values())


def label_names_of(model: Any, n_labels: int) -> list[str]:
    """Return the names of a model's labels; ``y0, y1, …`` if it has none."""
    from labelweave._common.pipelines import inside

    for part in (model, inside(model).model):
        if getattr(part, "label_names_in_", None) is not None:
            return [str(name) for name in part.label_names_in_]
    return [f"y{label}" for label in range(n_labels)]


def read_features(model: Any, file: str, read_options: ReadOptions) -> Any:
    """Read the FILE argument: features for a model, with or without labels."""
    from labelweave.data.columns import split_names
    from labelweave.data.load import is_table
    from labelweave.data.preprocessing import nominal_columns_of
    from labelweave.data.tables import read_table

    if not is_table(file):
        return _load_for(model, file, read_options, "FILE")[1]

    nominal, limits = nominal_columns_of(model), read_options.limits()
    with argument("FILE"):
        table = read_table(file, nominal=nominal, header=read_options.header, limits=limits)
    # Unknown columns may contain anything; a model without feature names uses all of them.
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        unwanted = [*label_names_of(model, 0), *split_names(read_options.ignore or "")]
        table = table.drop(columns=unwanted, errors="ignore")
    else:
        table = table[[name for name in table.columns if name in set(known)]]
    names = list(table.columns)
    aligned = aligned_features(model, table, names, "FILE")
    check_magnitude(aligned, names, "FILE")
    return aligned


def check_row(row: int | None, features: Any, file: str) -> None:
    """Raise an error if --row is not among the rows of a file."""
    if row is not None and row >= features.shape[0]:
        raise BadInputError(f"--row: {row} is not among the {features.shape[0]} rows of {file}")


def labelled_rows(model: Any, dataset: str, read_options: ReadOptions) -> tuple[Dataset, Any, Any]:
    """Read the DATASET argument; return it with its features and labels in the model's order.

    The label columns of a table are the model's, unless the options name others.
    """
    from labelweave.data.load import is_table
    from labelweave.data.preprocessing import nominal_columns_of

    by_name = is_table(dataset)
    known = label_names_of(model, 0) if by_name else None
    read_options = replace(
        read_options,
        labels=read_options.labels or known or None,
        nominal=nominal_columns_of(model) if by_name else None,
    )
    data, features = _load_for(model, dataset, read_options, "DATASET")
    return data, features, aligned_labels(model, data)


def numbered_from(data: Dataset) -> int | None:
    """Return the first feature's number, if the features of a data set are numbered."""
    from labelweave.data.numbered_names import NumberedNames

    names = data.feature_names
    return names.start if data.is_sparse and isinstance(names, NumberedNames) else None


def report_guess(data: Dataset, source: str, argument_name: str, read_options: ReadOptions) -> None:
    """Report that features are assumed to start at 1 only because there is no feature 0."""
    from labelweave.data.load import is_row_text

    if is_row_text(source) and numbered_from(data) == 1 and read_options.zero_based is None:
        _say(
            argument_name,
            "there is no feature 0: features are taken to start at 1 (use --zero-based if they "
            "start at 0, --one-based to confirm)",
        )


def _load_for(
    model: Any, source: str, read_options: ReadOptions, argument_name: str
) -> tuple[Dataset, Any]:
    """Load a data set, with the features numbered and ordered as in the rows of the fit."""
    is_free, theirs = read_options.zero_based is None, getattr(model, "first_feature_", None)
    counted = replace(read_options, zero_based=True) if is_free and theirs == 0 else read_options
    data = load_dataset(source, counted, name=argument_name)
    ours = numbered_from(data)
    if theirs is None:
        report_guess(data, source, argument_name, read_options)
    elif ours not in (None, theirs) and is_free:
        based = "--one-based" if ours else "--zero-based"
        raise BadInputError(
            f"{argument_name}: features start at {ours}, but at {theirs} in the rows that MODEL "
            f"was fitted to; add {based} if the first feature is the same in both"
        )
    return data, dataset_features(model, data, argument_name)


def dataset_features(model: Any, data: Dataset, argument_name: str) -> Any:
    """Reorder the features of a data set to match the model."""
    from labelweave.data.numbered_names import NumberedNames

    X: Any = data.X
    names = data.feature_names
    if _is_sparse_text(data) and hasattr(model, "n_features_in_"):
        # The text lists nonzero values only, so the last features of the model may be missing.
        width = model.n_features_in_
        X = X[:, :width].copy()
        X.resize((data.n_rows, width))
        surplus = data.n_features - width
        if surplus > 0:
            _say(argument_name, f"{surplus} features unknown to the model are ignored")
        if surplus < 0:
            _say(argument_name, f"the last {-surplus} features of the model do not occur")
        names = NumberedNames("x", width, numbered_from(data) or 0)
    return aligned_features(model, X, names, argument_name)


def _say(argument_name: str, text: str) -> None:
    typer.echo(f"{argument_name}: {text}", err=True)


def _is_sparse_text(data: Dataset) -> bool:
    """Whether features and labels are numbered instead of named, as in svmlight and XMC text."""
    return data.is_sparse and getattr(data.feature_names, "prefix", None) == "x"


def aligned_features(model: Any, X: Any, names: Sequence[str], argument_name: str) -> Any:
    """Reorder columns to match the model, by name if it has feature names."""
    import pandas as pd

    wanted = getattr(model, "feature_names_in_", None)
    if wanted is None:
        expected = getattr(model, "n_features_in_", len(names))
        if len(names) != expected:
            raise BadInputError(
                f"{argument_name}: has {len(names)} features, but the model expects {expected}"
            )
        is_frame = isinstance(X, pd.DataFrame)
        return _as_fitted(model, X, argument_name).to_numpy() if is_frame else X
    missing = sorted(set(wanted).difference(names))
    if missing:
        raise BadInputError(
            f"{argument_name}: {len(missing)} of the model's {len(wanted)} features are missing: "
            f"{_first_few(missing)}"
        )
    dense = X.toarray() if hasattr(X, "toarray") else X
    frame = pd.DataFrame(dense, columns=list(names))[list(wanted)]
    return _as_fitted(model, frame, argument_name)


def _first_few(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _as_fitted(model: Any, frame: pd.DataFrame, argument_name: str) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    from labelweave.data.columns import feature_column
    from labelweave.data.preprocessing import nominal_columns_of, preprocessor_of

    nominal, may_miss = set(nominal_columns_of(model)), preprocessor_of(model) is not None
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
                    f"{wrong[0] + 1} ({found!r}); impute such values first"
                )
        columns.append(column)
    return pd.concat(columns, axis="columns") if columns else frame


def aligned_labels(model: Any, data: Dataset) -> Any:
    """Reorder label columns to match the model."""
    import numpy as np

    from labelweave._common.pipelines import inside

    names = label_names_of(model, 0)
    if not names and getattr(inside(model).model, "n_labels_", data.n_labels) == data.n_labels:
        return data.Y  # the model was fitted to arrays: labels are matched by position
    names = names or label_names_of(model, data.n_labels)
    column = {name: j for j, name in enumerate(names)}
    unknown = [name for name in data.label_names if name not in column]
    if _is_sparse_text(data) and len(unknown) < data.n_labels:
        # The text lists the positive labels only, so labels of the model may be missing.
        if unknown:
            _say("DATASET", f"labels unknown to the model are ignored: {_first_few(unknown)}")
        truth = np.zeros((data.n_rows, len(names)), dtype=np.int64)
        known = [j for j, name in enumerate(data.label_names) if name in column]
        truth[:, [column[data.label_names[j]] for j in known]] = data.Y[:, known]
        return truth
    if unknown or len(names) != data.n_labels:
        raise BadInputError(
            f"the labels of DATASET ({', '.join(data.label_names[:5])}...) do not match those of "
            f"MODEL ({', '.join(names[:5])}...); specify them with --labels"
        )
    return data.Y[:, [data.label_names.index(name) for name in names]]
