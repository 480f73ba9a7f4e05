"""Arguments and options that commands share, and the errors that name them.

Exit codes are 0 for success, 1 for failure, 2 for invalid input or usage, 130 for an interruption
and 141 if nobody reads the output.

Typer has no groups of options, so the decorator `reads` adds the options for reading files to the
signatures of commands.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from labelweave.data.files import Limits


class CommandError(Exception):
    """An error that ends a command with a message instead of a traceback."""

    exit_code = 1


class BadInputError(CommandError):
    """The input is invalid."""

    exit_code = 2


class WorkFailedError(CommandError):
    """The input is valid, but the command failed."""


@contextmanager
def argument(name: str) -> Iterator[None]:
    """Turn the library's errors about a value into a :class:`BadInputError` for the argument."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise BadInputError(f"{name}: {_with_option_names(error)}") from error


def _with_option_names(error: Exception) -> str:
    """Return a message of the library with options in place of Python arguments."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"\blabels='([^']*)'", r"--labels '\1'", text)


DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A name (see `labelweave datasets`), a file (.arff, .csv, .parquet, .svm, .xmc) or a "
        "folder written by `labelweave convert`.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file written by `labelweave fit`.")
]
RowsArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="Rows to look at; labels in the file are ignored.")
]
TableOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="CSV file to write to.", show_default="standard output"),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", help="Number of processes; -1 for all cores.", show_default="all cores"
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="Run on the workers of a dask cluster: tcp://host:8786, the scheduler's file, or "
        "local:4, which starts four on this machine.",
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Comma-separated metrics. Of label vectors: exact_match, "
        "hamming_loss, f1_micro, f1_macro, f1_macro_zero_division_1, f1_example, jaccard, "
        "precision_micro, precision_macro, recall_micro, recall_macro. Of the joint distribution: "
        "cll_loss (per row), cll_loss_sum, cll_loss_path, joint_calibration_error. "
        "Of probabilities: calibration_error, log_loss. Of "
        "probabilities or other scores: auc_macro, auc_micro, "
        "average_precision_macro, average_precision_micro, average_precision_ranking, "
        "ranking_loss, coverage_error, one_error, precision_at_1, precision_at_3, precision_at_5.",
        show_default="exact_match, hamming_loss, cll_loss, F1 metrics, jaccard",
    ),
]
ScaleOption = Annotated[
    bool | None,
    typer.Option(
        "--scale/--no-scale",
        help="Standardise the features, fitted to the training rows.",
        show_default="dense features only",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Random seed of folds and methods.")]
TrustOption = Annotated[
    list[str] | None,
    typer.Option("--trust", help="An additional type in the model file to trust; can be repeated."),
]


def scale_of(option: bool | None) -> bool | Literal["auto"]:
    """Return the library's `scale` argument for ``--scale/--no-scale``."""
    return "auto" if option is None else option


ZeroBasedFlag = Annotated[
    bool, typer.Option("--zero-based", help="Feature indices of svmlight text start at 0.")
]

_READ_OPTIONS: dict[str, Any] = {
    "labels": Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="Label columns of a file: 'last:6', 'first:6', or their names 'a,b,c'; enclose "
            "names that contain commas in double quotes. 'top:10': the ten most common labels of a "
            "data set whose labels are known.",
        ),
    ],
    "ignore": Annotated[
        str | None,
        typer.Option("--ignore", help="Columns to drop, such as an identifier: 'id,name'."),
    ],
    "nominal": Annotated[
        str | None,
        typer.Option(
            "--nominal", help="Columns of a CSV file whose numbers are codes: 'zone,colour'."
        ),
    ],
    "header": Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a CSV file contains the column names; otherwise they "
            "are 1, 2, 3, …",
            show_default="it does; an error if it looks like a row",
        ),
    ],
    "zero_based": Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            help="Whether the feature indices of an svmlight file start at 0 or 1.",
            show_default="0 if there is a feature 0",
        ),
    ],
    "max_memory": Annotated[
        str | None,
        typer.Option(
            "--max-memory",
            help="Largest size of one file or matrix, e.g. 16GB.",
            show_default="2GB",
        ),
    ],
    "max_features": Annotated[
        int | None,
        typer.Option(
            "--max-features",
            min=1,
            help="Largest number of features that a short svmlight or XMC file may declare.",
            show_default="2^24",
        ),
    ],
    "max_labels": Annotated[
        int | None,
        typer.Option(
            "--max-labels",
            min=1,
            help="Largest number of labels that a short XMC file may declare.",
            show_default="2^17",
        ),
    ],
}


@dataclass(frozen=True)
class ReadOptions:
    """The options for reading a file; they are arguments of `labelweave.load`."""

    labels: str | Sequence[str] | None = None
    ignore: str | None = None
    nominal: str | Sequence[str] | None = None
    header: bool | None = None
    zero_based: bool | None = None
    max_memory: str | None = None
    max_features: int | None = None
    max_labels: int | None = None

    def limits(self) -> Limits:
        from labelweave.data.files import Limits

        with argument("--max-memory"):
            return Limits.of(self.max_memory, self.max_features, self.max_labels)


Command = Callable[..., None]


def reads(*names: str) -> Callable[[Command], Command]:
    """Put options for reading files into a command's signature, in place of `read_options`."""

    def with_options(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name != "read_options":
                parameters.append(parameter)
                continue
            for name in names:
                option = parameter.replace(name=name, annotation=_READ_OPTIONS[name], default=None)
                parameters.append(option)

        @functools.wraps(command)
        def run(**given: Any) -> None:
            read_options = ReadOptions(**{name: given.pop(name) for name in names})
            command(**given, read_options=read_options)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return with_options


#: For commands that learn from data, and for commands that apply a fitted model to rows.
reads_data = reads(*_READ_OPTIONS)
reads_rows = reads(*(name for name in _READ_OPTIONS if name != "nominal"))
