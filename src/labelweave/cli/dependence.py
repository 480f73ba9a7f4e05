"""``labelweave dependence``: which labels depend on each other, given the features."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.alignment import read_features
from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import check_writable, classifier_with_joint, label_names_of, load_model
from labelweave.cli.options import ModelArgument, TrustOption
from labelweave.cli.outputs import write_table
from labelweave.cli.reading import ReadOptions, reads_rows

if TYPE_CHECKING:
    from labelweave.evaluation import LabelDependence

_PLOT_FORMATS = (".png", ".svg", ".pdf")


class Picture(StrEnum):
    """What ``--plot`` draws."""

    graph = "graph"
    information = "information"
    log_odds = "log-odds"


@reads_rows
def dependence(
    model: ModelArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Rows to look at; labels in it are ignored.")
    ],
    row: Annotated[
        int | None,
        typer.Option(
            "--row", min=0, help="One row; 0 is the first.", show_default="the mean over all rows"
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of pairs to write.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV file to write to.", show_default="standard output"
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw into a .png, .svg or .pdf file.")
    ] = None,
    picture: Annotated[
        Picture | None,
        typer.Option(
            "--picture",
            help="With --plot: a graph of the strongest pairs, or a heat map.",
            show_default="graph",
        ),
    ] = None,
    *,
    read_options: ReadOptions,
    trust: TrustOption = None,
) -> None:
    """Write the pairs of labels that depend most on each other once the features are known.

    Each pair has its mutual information in nats, and its log-odds ratio: by how much one label
    moves the log-odds of the other, negative if it makes it less likely.

    \b
    labelweave dependence emotions.skops emotions
    labelweave dependence emotions.skops emotions --row 12 --plot row12.png --picture log-odds
    """  # noqa: D301
    check_writable(output, "--output")
    check_writable(plot, "--plot")
    if picture is not None and plot is None:
        raise BadInputError("--picture: name the file to draw into, --plot FILE")
    if plot is not None and plot.suffix.lower() not in _PLOT_FORMATS:
        raise BadInputError(
            f"--plot: {plot} must have one of the extensions {', '.join(_PLOT_FORMATS)}"
        )
    fitted = load_model(model, trust)
    names = label_names_of(fitted, classifier_with_joint(fitted).n_labels_)
    features = read_features(fitted, file, read_options)
    if row is not None and row >= features.shape[0]:
        raise BadInputError(f"--row: {row} is not among the {features.shape[0]} rows of {file}")

    from labelweave.evaluation import LabelDependence, predict_joint

    joint: Any = predict_joint(fitted, features)
    with argument("FILE"):
        found = LabelDependence.from_joint(joint, row=row, label_names=names)
    write_table(found.to_frame(top), output)
    if plot is not None:
        with argument("--plot"):
            _draw(found, plot, picture or Picture.graph)


def _draw(found: LabelDependence, path: Path, picture: Picture) -> None:
    from labelweave._common.drawing import matplotlib_missing
    from labelweave._common.files import replacing

    try:
        import matplotlib as mpl
    except ImportError as error:
        raise matplotlib_missing("--plot") from error
    mpl.use("Agg")  # files need no display
    from labelweave import plots

    display: plots.DependenceDisplay | plots.DependenceMatrixDisplay
    if picture == Picture.graph:
        display = plots.DependenceDisplay.from_dependence(found)
    elif picture == Picture.information:
        display = plots.DependenceMatrixDisplay(found).plot()
    else:
        display = plots.DependenceMatrixDisplay(found, of="log_odds_ratio").plot()
    with replacing(path) as result:
        display.figure_.savefig(result, format=path.suffix[1:].lower(), dpi=150)
