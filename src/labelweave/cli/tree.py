"""``labelweave tree``: learn and display the dependencies between labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.fit import fit_method
from labelweave.cli.inputs import check_writable, load_dataset
from labelweave.cli.options import DatasetArgument, ScaleOption, SeedOption
from labelweave.cli.reading import ReadOptions, reads_data


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
    """Learn which label depends on which, and show the tree as text or as a drawing.

    Next to each label are the change in its log-odds when its parent is present, and the gain in
    held-out log-likelihood from knowing the parent. A mixture has several trees.

    \b
    labelweave tree emotions
    labelweave tree enron --output enron.png
    labelweave tree scene --method "mc(n_components=2)" --output scene.dot
    """  # noqa: D301
    from labelweave import evaluation, models
    from labelweave.plots.dependence import FIGURE_FORMATS, save_structures
    from labelweave.report.console import make_console, show_structures

    check_writable(output, "--output")
    if output is not None and output.suffix.lower() not in FIGURE_FORMATS:
        raise BadInputError(
            f"--output: {output} must have one of the extensions {', '.join(FIGURE_FORMATS)}"
        )
    with argument("--method"):
        estimator = evaluation.make_method(method, seed=seed)
    data = load_dataset(dataset, read_options)
    fitted = fit_method(estimator, method, data, scale)
    structures = models.structures_of(fitted)
    if not structures:
        raise BadInputError(f"--method: {method} does not learn trees; use sc, mc or ectbn")
    show_structures(structures, make_console(sys.stdout))
    if output is not None:
        with argument("--output"):
            save_structures(structures, output)
