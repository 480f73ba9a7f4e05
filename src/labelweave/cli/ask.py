"""``labelweave ask``: the probability of any event, for the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.alignment import read_features
from labelweave.cli.errors import BadInputError
from labelweave.cli.inputs import check_writable, classifier_with_joint, label_names_of, load_model
from labelweave.cli.options import ModelArgument, TrustOption
from labelweave.cli.outputs import write_table
from labelweave.cli.reading import ReadOptions, reads_rows

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.joint import Estimate
    from labelweave.joint.query import Query


@reads_rows
def ask(
    model: ModelArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Rows to ask about; labels in it are ignored.")
    ],
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="One or more, each in quotes.")
    ],
    mean: Annotated[
        bool, typer.Option("--mean", help="Write the mean over all rows, one line per question.")
    ] = False,
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Add a column of standard errors: 0 where exact."),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            "--samples",
            min=2,
            help="Draws for each row.",
            show_default="exact if possible, otherwise 1000",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV file to write to.", show_default="standard output"
        ),
    ] = None,
    *,
    read_options: ReadOptions,
    trust: TrustOption = None,
) -> None:
    """Ask a model for probabilities of events, and write one CSV line per row.

    A question has labels by name (in quotes if it has spaces or punctuation) or by position, `=0`
    or `=1`, `count` (the number of labels), `and`, `or`, `not` and parentheses, and `|` before a
    condition. Cells are empty where the condition is impossible, or none of the draws meets it.

    \b
    labelweave ask scene.skops photos.csv "P(Beach | Urban=0)" "count >= 2"
    labelweave ask scene.skops photos.csv "Beach and not 'Fall foliage'" --mean
    """  # noqa: D301
    check_writable(output, "--output")
    fitted = load_model(model, trust)
    queries = {question: _parsed(question, fitted) for question in questions}
    if len(queries) < len(questions):
        raise BadInputError("QUESTION: the same question is asked twice; omit one of them")
    features = read_features(fitted, file, read_options)

    from labelweave.evaluation import predict_joint

    joint: Any = predict_joint(fitted, features)
    estimates = {text: joint.prob(query, samples=samples) for text, query in queries.items()}
    write_table(_means(estimates) if mean else _rows(estimates, errors), output)
    _tell_impossible(estimates)


def _parsed(question: str, model: Any) -> Query:
    from labelweave.joint.query import parse_query

    n_labels = classifier_with_joint(model).n_labels_
    try:
        return parse_query(question, n_labels, label_names_of(model, n_labels))
    except ValueError as error:  # as it is, because it marks the place
        raise BadInputError(f"QUESTION: {str(error).removeprefix('query: ')}") from error


def _tell_impossible(estimates: dict[str, Estimate]) -> None:
    """Say why cells are empty."""
    import numpy as np

    for question, estimate in estimates.items():
        empty = ~np.isfinite(estimate.value)
        causes = {
            "the condition is impossible": empty & estimate.exact,
            "no draw meets the condition (try more --samples)": empty & ~estimate.exact,
        }
        for cause, rows in causes.items():
            if rows.any():
                where = f"in {rows.sum()} of {len(rows)} rows"
                typer.echo(f"warning: {question}: {cause}, {where}", err=True)


def _rows(estimates: dict[str, Estimate], errors: bool) -> pd.DataFrame:
    import pandas as pd

    columns = {}
    for question, estimate in estimates.items():
        columns[question] = estimate.value
        if errors:
            columns[f"{question} (standard error)"] = estimate.standard_error
    return pd.DataFrame(columns)


def _means(estimates: dict[str, Estimate]) -> pd.DataFrame:
    """Return the mean over the rows that have a probability, and how many these are."""
    import numpy as np
    import pandas as pd

    lines = []
    for question, estimate in estimates.items():
        possible = np.isfinite(estimate.value)
        n = int(possible.sum())
        value = estimate.value[possible].mean() if n else np.nan
        error = np.sqrt((estimate.standard_error[possible] ** 2).sum()) / n if n else np.nan
        lines.append((question, value, error, n))
    return pd.DataFrame(lines, columns=["question", "mean", "standard_error", "rows"])
