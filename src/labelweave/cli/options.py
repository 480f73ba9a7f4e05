"""Arguments and options that several commands share, with one help text each."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "DatasetArgument",
    "LabelsOption",
    "MetricsOption",
    "ModelArgument",
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
        "--labels", help="Label columns of a file: 'last:6', 'first:6', or their names 'a,b,c'."
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        help="Measures, separated by commas: exact_match, subset_loss, hamming_loss, cll_loss, "
        "cll_loss_row, cll_loss_path, f1_micro, f1_macro, f1_example, jaccard.",
        show_default="all but subset_loss, cll_loss",
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
