"""``labelweave evaluate``: score a saved model on test data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from labelweave.cli.alignment import labelled_rows
from labelweave.cli.errors import WorkFailedError
from labelweave.cli.inputs import chosen_metrics, label_names_of, load_model
from labelweave.cli.options import DatasetArgument, MetricsOption, ModelArgument, TrustOption
from labelweave.cli.outputs import check_output, write_scores
from labelweave.cli.reading import ReadOptions, reads_rows


@reads_rows
def evaluate(
    model: ModelArgument,
    dataset: DatasetArgument,
    metrics: MetricsOption = None,
    *,
    read_options: ReadOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Save the scores: .json, .csv or .md.")
    ] = None,
    by_label: Annotated[
        bool, typer.Option("--per-label", help="Also show the scores of each label.")
    ] = False,
    trust: TrustOption = None,
) -> None:
    """Score a fitted model on a data set.

    The label columns of a CSV or Parquet file are identified by the label names of the model.

    \b
    labelweave evaluate emotions.skops test.arff
    labelweave evaluate songs.skops test.csv --metrics exact_match,auc_macro --per-label
    """  # noqa: D301
    check_output(output)
    measures = chosen_metrics(metrics)
    fitted = load_model(model, trust)
    data, features, truth = labelled_rows(fitted, dataset, read_options)

    from labelweave.evaluation.predictions import predict_labels, predict_scores, score_model
    from labelweave.metrics import scores_by_label
    from labelweave.report.console import make_console, show_label_table, show_scores

    try:
        scores, seconds = score_model(fitted, features, truth, measures)
    except ValueError as error:
        raise WorkFailedError(f"{model} cannot be evaluated on {data.name}: {error}") from error
    if output is not None:
        content = {"schema": 1, "kind": "labelweave-evaluation", "model": str(model)}
        summary = {"data": data.name, "n_rows": data.n_rows, "predict_seconds": seconds}
        write_scores(scores, content | summary, output)
    console = make_console(sys.stdout)
    show_scores(scores, measures, console)
    if by_label:
        predicted = predict_labels(fitted, features)
        names = label_names_of(fitted, truth.shape[1])
        values = predict_scores(fitted, features)
        table = scores_by_label(truth, predicted, values, label_names=names)
        show_label_table(table, console)
