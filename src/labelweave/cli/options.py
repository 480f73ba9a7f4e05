"""Arguments and options shared by several commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

__all__ = [
    "ClusterOption",
    "DatasetArgument",
    "JobsOption",
    "MetricsOption",
    "ModelArgument",
    "ScaleOption",
    "SeedOption",
    "Splits",
    "Test",
    "TrustOption",
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
