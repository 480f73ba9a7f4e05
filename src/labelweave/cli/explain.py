"""``labelweave dependence``, ``explain`` and ``explore``: understand a model's predictions."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.compare import read_comparison
from labelweave.cli.inputs import (
    check_row,
    classifier_with_joint,
    label_names_of,
    labelled_rows,
    load_model,
    read_features,
)
from labelweave.cli.options import (
    BadInputError,
    DatasetArgument,
    ModelArgument,
    ReadOptions,
    RowsArgument,
    TableOption,
    TrustOption,
    argument,
    reads_rows,
)
from labelweave.cli.outputs import check_writable, write_table

if TYPE_CHECKING:
    from labelweave.evaluation import LabelDependence


_PLOT_FORMATS = (".png", ".svg", ".pdf")


Picture = StrEnum(
    "Picture", {"graph": "graph", "information": "information", "log_odds": "log-odds"}
)


@reads_rows
def dependence(
    model: ModelArgument,
    file: RowsArgument,
    row: Annotated[
        int | None,
        typer.Option(
            "--row", min=0, help="One row; 0 is the first.", show_default="the mean over all rows"
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of pairs to write.")] = 20,
    output: TableOption = None,
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

    Each pair has its mutual information in nats and its log-odds ratio: the change in the log-odds
    of one label if the other is present, negative if they are less likely together.

    \b
    labelweave dependence emotions.skops emotions
    labelweave dependence emotions.skops emotions --row 12 --plot row12.png --picture log-odds
    """  # noqa: D301
    check_writable(output, "--output")
    check_writable(plot, "--plot", _PLOT_FORMATS)
    if picture is not None and plot is None:
        raise BadInputError("--picture: name the file to draw into, --plot FILE")
    fitted = load_model(model, trust)
    names = label_names_of(fitted, classifier_with_joint(fitted).n_labels_)
    features = read_features(fitted, file, read_options)
    check_row(row, features, file)

    from labelweave.evaluation import LabelDependence
    from labelweave.models.predictions import predict_joint

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


@reads_rows
def explain(
    model: ModelArgument,
    file: RowsArgument,
    row: Annotated[
        int, typer.Option("--row", min=0, help="The row to explain; 0 is the first.")
    ] = 0,
    label: Annotated[
        str | None,
        typer.Option(
            "--label", help="The label to explain.", show_default="all, against the runner-up"
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--given", help="With --label: a known label, 'rain=1'; can be repeated."),
    ] = None,
    terms: Annotated[
        int, typer.Option("--terms", min=1, help="Number of contributions to list.")
    ] = 20,
    *,
    read_options: ReadOptions,
    trust: TrustOption = None,
) -> None:
    """Show what features and other labels add to the log-odds of a label.

    Contributions are relative to the mean training row. Without --label, they explain why the most
    probable labels are more probable than the runner-up. The conditionals of the model must be
    linear.

    \b
    labelweave explain emotions.skops emotions --row 12
    labelweave explain songs.skops songs.csv --row 12 --label sad --given quiet=1
    """  # noqa: D301
    fitted = load_model(model, trust)
    features = read_features(fitted, file, read_options)
    check_row(row, features, file)
    part = features.iloc[[row]] if hasattr(features, "iloc") else features[[row]]

    from labelweave.models.explanations import explain_label, explain_set
    from labelweave.report.console import make_console, show_explanation

    evidence = _evidence(fitted, given or [])
    if label is None:
        if evidence:
            raise BadInputError("--given: needs a --label to explain")
        with argument("MODEL"):
            explanation = explain_set(fitted, part)
    else:
        chosen = _position(fitted, label)
        if chosen in evidence:
            raise BadInputError(f"--given: {label} is the label to explain; give others")
        with argument("--label"):
            explanation = explain_label(fitted, part, chosen, evidence)
    show_explanation(explanation, make_console(sys.stdout), max_terms=terms)


def _evidence(model: Any, given: list[str]) -> dict[int | str, int]:
    """Return the labels of ``--given name=value``."""
    evidence: dict[int | str, int] = {}
    for text in given:
        name, _, value = text.rpartition("=")
        if not name or value not in ("0", "1"):
            raise BadInputError(
                f"--given: must be a label and 0 or 1, such as rain=1; got {text!r}"
            )
        evidence[_position(model, name)] = int(value)
    return evidence


def _position(model: Any, label: str) -> int | str:
    """Return the position of a label given by name or position; unknown names are returned."""
    from labelweave._common.pipelines import inside

    names = list(getattr(inside(model).model, "label_names_in_", ()))
    if label in names:
        return names.index(label)
    return int(label) if label.isdecimal() else label


@reads_rows
def explore(
    model: ModelArgument,
    dataset: DatasetArgument,
    compared: Annotated[
        Path | None,
        typer.Option("--compared", help="Also show a .json file written by `labelweave compare`."),
    ] = None,
    unlabelled: Annotated[
        bool, typer.Option("--unlabelled", help="The rows have no labels, or ignore them.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes any that is free.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")
    ] = True,
    *,
    read_options: ReadOptions,
    trust: TrustOption = None,
) -> None:
    """Open a page that shows the predictions for every row and answers questions about them.

    Only this machine reaches the page, and only by the link that is printed. Ctrl-C ends it.

    \b
    labelweave explore emotions.skops emotions
    labelweave explore songs.skops new-songs.csv --unlabelled
    """  # noqa: D301
    fitted = load_model(model, trust)
    names = truth = None
    if unlabelled:
        features = read_features(fitted, dataset, read_options)
    else:
        data, features, truth = labelled_rows(fitted, dataset, read_options)
        names = data.feature_names
    n_labels = 0 if truth is None else truth.shape[1]
    with argument("--compared"):
        comparison = None if compared is None else read_comparison(compared)

    try:
        from labelweave.explore import explore as serve

        with argument("MODEL"):
            serve(
                fitted,
                features,
                truth,
                label_names=label_names_of(fitted, n_labels) or None,
                feature_names=names,
                name=Path(dataset).name,
                comparison=comparison,
                port=port,
                browser=browser,
                announce=lambda link: typer.echo(f"explore at {link} (Ctrl-C ends)"),
            )
    except ImportError as error:
        raise BadInputError(str(error)) from error
    except OSError as error:
        raise BadInputError(f"--port: {error.strerror}") from error
