"""Read the inputs of commands: data sets, models and metrics; check and write output files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.reading import ReadOptions

if TYPE_CHECKING:
    from labelweave.datasets import Dataset
    from labelweave.metrics import Metric

__all__ = [
    "check_magnitude",
    "chosen_metrics",
    "classifier_with_joint",
    "label_names_of",
    "load_dataset",
    "load_model",
    "check_writable",
    "write_text",
]


def load_dataset(source: str, read_options: ReadOptions, *, name: str = "DATASET") -> Dataset:
    """Load the DATASET argument, or the argument `name`."""
    from labelweave import datasets

    limits = read_options.limits()
    with argument(name):
        data = datasets.load(
            source,
            labels=read_options.labels,
            ignore=read_options.ignore or (),
            nominal=read_options.nominal or (),
            header=read_options.header,
            zero_based=read_options.zero_based,
            limits=limits,
        )
    if not data.n_rows:
        raise BadInputError(f"{name}: {source} has no rows")
    check_magnitude(data.X, data.feature_names, name)
    return data


def check_magnitude(X: Any, names: Sequence[str], argument_name: str) -> None:
    """Raise an error that names the first feature that is too large to compute with."""
    from labelweave._common.features import LARGEST_FEATURE, first_too_large

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
    """Load the MODEL argument."""
    from labelweave import persistence

    with argument("MODEL"):
        return persistence.load(path, trusted=trusted or ())


def classifier_with_joint(model: Any) -> Any:
    """Return the classifier inside a model, which must have a joint distribution of its labels."""
    from labelweave._common.pipelines import last_step

    classifier = last_step(model)
    if not hasattr(classifier, "predict_joint"):
        raise BadInputError(
            "MODEL: this model has no joint distribution of the labels; fit one of labelweave's"
        )
    return classifier


def chosen_metrics(names: str | None) -> tuple[Metric, ...]:
    """Return the metrics named by --metrics."""
    from labelweave.metrics import DEFAULT_METRICS, resolve_metrics

    with argument("--metrics"):
        chosen = DEFAULT_METRICS if names is None else names.split(",")
        return tuple(resolve_metrics(chosen).values())


def check_writable(path: Path | None, option: str) -> None:
    """Raise an error before the work, not after it, if the result cannot be written."""
    from labelweave._common.files import require_writable

    if path is not None:
        with argument(option):
            require_writable(path)


def write_text(path: Path, text: str, option: str) -> None:
    """Write the file named by an option atomically."""
    from labelweave._common.files import replacing

    with argument(option), replacing(path) as file:
        file.write(text.encode())


def label_names_of(model: Any, n_labels: int) -> list[str]:
    """Return the names of a model's labels; ``y0, y1, …`` if it has none."""
    from labelweave._common.pipelines import last_step

    for part in (model, last_step(model)):
        if getattr(part, "label_names_in_", None) is not None:
            return [str(name) for name in part.label_names_in_]
    return [f"y{label}" for label in range(n_labels)]
