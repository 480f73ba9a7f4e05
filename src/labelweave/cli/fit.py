"""``labelweave fit`` and ``tree``: fit a method to all rows of a data set."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.inputs import announce_preprocessing, load_dataset, numbered_from, report_guess
from labelweave.cli.options import (
    BadInputError,
    ClusterOption,
    DatasetArgument,
    ReadOptions,
    ScaleOption,
    SeedOption,
    WorkFailedError,
    argument,
    reads_data,
    scale_of,
)
from labelweave.cli.outputs import check_writable, workers

if TYPE_CHECKING:
    from labelweave.data import Dataset


@reads_data
def fit(
    dataset: DatasetArgument,
    model: Annotated[
        Path, typer.Option("--model", "-o", help="File to save the model to, e.g. model.skops.")
    ],
    method: Annotated[
        str, typer.Option("--method", "-m", help="A method, with options: br, pcc(C=1), ...")
    ] = "auto",
    seed: SeedOption = 0,
    *,
    read_options: ReadOptions,
    scale: ScaleOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Fit a method to all rows of a data set and save the model to a file.

    \b
    labelweave fit emotions --model emotions.skops
    labelweave fit songs.csv --labels last:6 --method "br(C=1)" --model songs.skops
    labelweave fit delicious --model tags.skops --cluster tcp://host:8786
    """  # noqa: D301
    check_writable(model, "--model")

    from labelweave import save_model
    from labelweave.models.methods import make_method

    with argument("--method"):
        estimator = make_method(method, seed=seed)
    data = load_dataset(dataset, read_options)
    report_guess(data, dataset, "DATASET", read_options)
    with _spread(cluster):
        started = time.perf_counter()
        fitted = fit_method(estimator, method, data, scale)
        seconds = time.perf_counter() - started
    with argument("--model"):
        save_model(fitted, model)
    _show_choice(fitted)
    typer.echo(
        f"fitted {method} to {data.name} ({data.n_rows} rows, {data.n_features} features, "
        f"{data.n_labels} labels) in {seconds:.2f} s; model: {model}",
        err=True,
    )


def _show_choice(model: Any) -> None:
    from labelweave.models.best_joint import BestJoint
    from labelweave.models.calibration import CalibratedJointCV

    chosen = model[-1] if hasattr(model, "steps") else model
    if isinstance(chosen, BestJoint):
        names = ", ".join(chosen.members_)
        typer.echo(f"chose {names}:\n{chosen.table().to_string(index=False)}", err=True)
    if isinstance(chosen, CalibratedJointCV):
        typer.echo(f"temperature {chosen.temperature_:.3f}", err=True)
        for name, (before, after) in chosen.log_loss_.items():
            typer.echo(
                f"held-out log-loss ({name}): {before:.4f}, calibrated {after:.4f}", err=True
            )


@contextmanager
def _spread(cluster: str | None) -> Iterator[None]:
    """Inside the context, fit labels on the workers of the cluster, if one is named."""
    if cluster is None:
        yield
        return
    from labelweave._common.engine import LostWorkError
    from labelweave.logistic.spreading import spread_over

    with workers(None, cluster, kept="no model was saved") as engine, spread_over(engine):
        try:
            yield
        except LostWorkError as error:
            raise WorkFailedError(f"--cluster: {error}") from error


def fit_method(estimator: Any, method: str, data: Dataset, scale: bool | None) -> Any:
    """Fit an estimator after preprocessing; `method` is the user's name for it."""
    from labelweave._common.progress import progress_shown
    from labelweave.models.methods import with_preprocessing

    prepared = with_preprocessing(estimator, data.X, scale_of(scale))
    announce_preprocessing(prepared)
    try:
        with progress_shown(f"fitting {method} to {data.name}"):
            return _fit_named(prepared, data)
    except ValueError as error:
        raise WorkFailedError(f"{method} cannot be fitted to {data.name}: {error}") from error


def _fit_named(estimator: Any, data: Dataset) -> Any:
    """Fit to data frames, so that the model stores the names of features and labels."""
    import pandas as pd

    labels = pd.DataFrame(data.Y, columns=list(data.label_names))
    # A sparse matrix has no column names, and a frame of sparse columns is slow.
    features: Any = data.X
    if not (data.is_sparse or data.is_mixed):
        features = pd.DataFrame(features, columns=list(data.feature_names))
    fitted = estimator.fit(features, labels)
    if not hasattr(fitted, "label_names_in_"):
        fitted.label_names_in_ = list(data.label_names)
    fitted.first_feature_ = numbered_from(data)
    return fitted


@reads_data
def tree(
    dataset: DatasetArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", "-o", help="Draw the trees into a .png, .svg, .pdf or .dot file."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="A tree method, with options: sc, mc(C=1), ...")
    ] = "sc",
    seed: SeedOption = 0,
    *,
    read_options: ReadOptions,
    scale: ScaleOption = None,
) -> None:
    """Learn which labels depend on which others, and show the tree as text or as a drawing.

    Next to each label are the change in its log-odds when its parent is present, and the gain in
    held-out log-likelihood from knowing the parent. A mixture has several trees.

    \b
    labelweave tree emotions
    labelweave tree enron --output enron.png
    labelweave tree scene --method "mc(n_components=2)" --output scene.dot
    """  # noqa: D301
    from labelweave.models.methods import make_method
    from labelweave.models.structure import structures_of
    from labelweave.plots.dependence import FIGURE_FORMATS, save_structures
    from labelweave.report.console import make_console, show_structures

    check_writable(output, "--output", FIGURE_FORMATS)
    with argument("--method"):
        estimator = make_method(method, seed=seed)
    data = load_dataset(dataset, read_options)
    fitted = fit_method(estimator, method, data, scale)
    structures = structures_of(fitted)
    if not structures:
        raise BadInputError(f"--method: {method} does not learn trees; use sc, mc or ectbn")
    show_structures(structures, make_console(sys.stdout))
    if output is not None:
        with argument("--output"):
            save_structures(structures, output)
