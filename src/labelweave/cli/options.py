"""Arguments and options shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "ClusterOption",
    "DatasetArgument",
    "HeaderOption",
    "IgnoreOption",
    "JobsOption",
    "LabelsOption",
    "MaxFeaturesOption",
    "MaxMemoryOption",
    "MetricsOption",
    "ModelArgument",
    "NominalOption",
    "ScaleOption",
    "SeedOption",
    "Splits",
    "Test",
    "TrustOption",
    "ZeroBasedOption",
    "scale_of",
]


class Splits(StrEnum):
    """Ways of splitting rows into folds."""

    kfold = "kfold"
    stratified = "stratified"


class Test(StrEnum):
    """Significance tests."""

    paired = "paired"
    corrected = "corrected"


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
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Label columns of a file: 'last:6', 'first:6', or their names 'a,b,c'; enclose names "
        "that contain commas in double quotes. 'top:10': the ten most common labels of a data set "
        "whose labels are known.",
    ),
]
IgnoreOption = Annotated[
    str | None,
    typer.Option("--ignore", help="Columns to drop, such as an identifier: 'id,name'."),
]
NominalOption = Annotated[
    str | None,
    typer.Option("--nominal", help="Columns of a CSV file whose numbers are codes: 'zone,colour'."),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file contains the column names; otherwise they are "
        "1, 2, 3, …",
        show_default="it does; an error if it looks like a row",
    ),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory", help="Largest size of one file or matrix, e.g. 16GB.", show_default="2GB"
    ),
]
MaxFeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--max-features",
        min=1,
        help="Largest number of features or labels that a short svmlight or XMC file may declare.",
        show_default="2^24",
    ),
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
        help="Comma-separated metrics. Of label vectors: exact_match, subset_loss, "
        "hamming_loss, f1_micro, f1_macro, f1_macro_zero_division_1, f1_example, jaccard, "
        "precision_micro, precision_macro, recall_micro, recall_macro. Of the joint distribution: "
        "cll_loss, cll_loss_row, cll_loss_path, joint_calibration_error. Of probabilities: "
        "calibration_error, log_loss. Of "
        "probabilities or other scores: auc_macro, auc_micro, "
        "average_precision_macro, average_precision_micro, average_precision_ranking, "
        "ranking_loss, coverage_error, one_error, precision_at_1, precision_at_3, precision_at_5.",
        show_default="exact_match, hamming_loss, cll_loss_row, F1 metrics, jaccard",
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
ZeroBasedOption = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether the feature indices of an svmlight file start at 0 or 1.",
        show_default="0 if there is a feature 0",
    ),
]


def scale_of(option: bool | None) -> bool | Literal["auto"]:
    """Return the library's `scale` argument for ``--scale/--no-scale``."""
    return "auto" if option is None else option
