"""``labelweave tree``: which label hangs on which."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.fit import fit_method
from labelweave.cli.inputs import Reading, load_dataset, writable
from labelweave.cli.options import (
    DatasetArgument,
    HeaderOption,
    IgnoreOption,
    LabelsOption,
    MaxFeaturesOption,
    MaxMemoryOption,
    NominalOption,
    ScaleOption,
    SeedOption,
)

if TYPE_CHECKING:
    from labelweave.models import Structure


def tree(
    dataset: DatasetArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "--out", "-o", help="Draw into this file: .png, .svg, .pdf, .dot."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="A method with trees, with options: sc, mc(C=1).")
    ] = "sc",
    seed: SeedOption = 0,
    labels: LabelsOption = None,
    ignore: IgnoreOption = None,
    nominal: NominalOption = None,
    header: HeaderOption = None,
    max_memory: MaxMemoryOption = None,
    max_features: MaxFeaturesOption = None,
    scale: ScaleOption = None,
) -> None:
    """Learn which label depends on which, show it as text and draw it.

    Beside a label stands what its parent, where present, adds to the label's log-odds, and how much
    knowing the parent gains in log-likelihood on held-out rows. A mixture has several trees.

    \b
    labelweave tree emotions
    labelweave tree enron --output enron.png
    labelweave tree scene --method "mc(n_components=2)" --output scene.dot
    """  # noqa: D301
    from labelweave import evaluation, report

    writable(output, "--output")
    if output is not None and output.suffix.lower() not in report.FIGURE_FORMATS:
        raise BadInputError(
            f"--output: {output} must end in {', '.join(report.FIGURE_FORMATS)}; rename it"
        )
    with argument("--method"):
        estimator = evaluation.make_method(method, seed=seed)
    reading = Reading(
        labels=labels,
        ignore=ignore,
        nominal=nominal,
        header=header,
        max_memory=max_memory,
        max_features=max_features,
    )
    data = load_dataset(dataset, reading)
    fitted = fit_method(estimator, method, data, scale)
    structures = _structures_of(fitted)
    if structures is None:
        raise BadInputError(f"--method: {method} has no trees; use sc, mc or ectbn")
    report.show_structures(structures, report.make_console(sys.stdout))
    if output is not None:
        with argument("--output"):
            report.save_structures(structures, output)


def _structures_of(model: Any) -> list[Structure] | None:
    """Return the trees of a fitted model, or of a pipeline that ends in one."""
    from labelweave.models import Structure

    last = model.steps[-1][1] if hasattr(model, "steps") else model
    for name in ("structure_", "components_", "structures_"):
        found = getattr(last, name, None)
        structures = [found] if isinstance(found, Structure) else found
        if isinstance(structures, list) and all(isinstance(s, Structure) for s in structures):
            return structures
    return None
