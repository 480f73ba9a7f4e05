"""``labelweave explore``: look at a model and its predictions in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.alignment import labelled_rows, read_features
from labelweave.cli.compare import read_comparison
from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import label_names_of, load_model
from labelweave.cli.options import DatasetArgument, ModelArgument, TrustOption
from labelweave.cli.reading import ReadOptions, reads_rows

if TYPE_CHECKING:
    from labelweave.explore import Session


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
    """Open a page that shows what a model says of every row, and answers questions about it.

    Only this machine reaches the page, and only by the link that is printed. Ctrl-C ends it.

    \b
    labelweave explore emotions.skops emotions
    labelweave explore songs.skops new-songs.csv --unlabelled
    """  # noqa: D301
    fitted = load_model(model, trust)
    session = _session(fitted, dataset, read_options, unlabelled)
    with argument("--compared"):
        comparison = None if compared is None else read_comparison(compared)

    from labelweave.explore import explore as serve

    try:
        serve(
            session,
            comparison=comparison,
            port=port,
            browser=browser,
            announce=lambda link: typer.echo(f"explore at {link} (Ctrl-C ends)"),
        )
    except ImportError as error:
        raise BadInputError(str(error)) from error
    except OSError as error:
        raise BadInputError(f"--port: {error.strerror}") from error


def _session(model: Any, dataset: str, read_options: ReadOptions, unlabelled: bool) -> Session:
    from labelweave.explore import Session

    names = truth = None
    if unlabelled:
        features = read_features(model, dataset, read_options)
    else:
        data, features, truth = labelled_rows(model, dataset, read_options)
        names = data.feature_names
    with argument("MODEL"):
        return Session(
            model,
            features,
            truth,
            label_names=label_names_of(model, 0 if truth is None else truth.shape[1]) or None,
            feature_names=names,
            name=Path(dataset).name,
        )
