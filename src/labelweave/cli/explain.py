"""``labelweave explain``: why a model predicts the labels of a row."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from labelweave.cli.alignment import read_features
from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import load_model
from labelweave.cli.options import ModelArgument, TrustOption
from labelweave.cli.reading import ReadOptions, reads_rows


@reads_rows
def explain(
    model: ModelArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Rows to explain; labels in it are ignored.")
    ],
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
    if row >= features.shape[0]:
        raise BadInputError(f"--row: {row} is not among the {features.shape[0]} rows of {file}")
    part = features.iloc[[row]] if hasattr(features, "iloc") else features[[row]]

    from labelweave import models
    from labelweave.report.console import make_console, show_explanation

    evidence = _evidence(fitted, given or [])
    if label is None:
        if evidence:
            raise BadInputError("--given: needs a --label to explain")
        with argument("MODEL"):
            explanation = models.explain_set(fitted, part)
    else:
        chosen = _position(fitted, label)
        if chosen in evidence:
            raise BadInputError(f"--given: {label} is the label to explain; give others")
        with argument("--label"):
            explanation = models.explain_label(fitted, part, chosen, evidence)
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
    """Return the position of a label given by name or position; if unknown, what was given."""
    from labelweave._common.pipelines import last_step

    names = list(getattr(last_step(model), "label_names_in_", ()))
    if label in names:
        return names.index(label)
    return int(label) if label.isdecimal() else label
