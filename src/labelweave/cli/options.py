"""Arguments and options that several commands share, with one help text each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "DatasetArgument",
    "HeaderOption",
    "IgnoreOption",
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
    """Ways to split rows into folds."""

    kfold = "kfold"
    stratified = "stratified"


class Test(StrEnum):
    """Tests of significance."""

    paired = "paired"
    corrected = "corrected"


DatasetArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET",
        help="A name (see `labelweave datasets`) or a file: .arff, .csv, .parquet, .svm, .xmc.",
    ),
]
ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `labelweave fit` wrote.")
]
LabelsOption = Annotated[
    str | None,
    typer.Option(
        "--labels",
        help="Label columns of a file: 'last:6', 'first:6', or their names 'a,b,c'; names with "
        "commas in double quotes.",
    ),
]
IgnoreOption = Annotated[
    str | None,
    typer.Option("--ignore", help="Columns to leave out, such as an identifier: 'id,name'."),
]
NominalOption = Annotated[
    str | None,
    typer.Option("--nominal", help="Columns of a CSV file whose numbers are codes: 'zone,colour'."),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file names its columns, or they are called 1, 2, 3.",
        show_default="it does, and is refused if it looks like a row",
    ),
]
MaxMemoryOption = Annotated[
    str | None,
    typer.Option(
        "--max-memory", help="How much one file or matrix may take: 16GB.", show_default="2GB"
    ),
]
MaxFeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--max-features",
        min=1,
        help="Most features or labels that a short svmlight or XMC text may speak of.",
        show_default="2^24",
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Measures, separated by commas. Of label vectors: exact_match, subset_loss, "
        "hamming_loss, f1_micro, f1_macro, f1_macro_zero_division_1, f1_example, jaccard, "
        "precision_micro, precision_macro, recall_micro, recall_macro. Of the joint distribution: "
        "cll_loss, cll_loss_row, cll_loss_path. Of probabilities or other scores: auc_macro, "
        "auc_micro, "
        "average_precision_macro, average_precision_micro, average_precision_ranking, "
        "ranking_loss, coverage_error, one_error, precision_at_1, precision_at_3, precision_at_5.",
        show_default="exact_match, hamming_loss, cll_loss_row, F1 measures, jaccard",
    ),
]
ScaleOption = Annotated[
    bool | None,
    typer.Option(
        "--scale/--no-scale",
        help="Standardise features on the training rows.",
        show_default="dense features only",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of folds and methods.")]
TrustOption = Annotated[
    list[str] | None,
    typer.Option("--trust", help="A type in the model file to trust as well; can be repeated."),
]
ZeroBasedOption = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether the features of an svmlight file count from 0.",
        show_default="from 0 if there is a feature 0",
    ),
]


def scale_of(option: bool | None) -> bool | Literal["auto"]:
    """Return what the library calls the choice of ``--scale/--no-scale``."""
    return "auto" if option is None else option
