"""``labelweave evaluate``: measure a kept model on data it has not seen."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from labelweave.cli.errors import WorkFailedError
from labelweave.cli.inputs import (
    aligned_labels,
    chosen_metrics,
    dataset_features,
    label_names_of,
    load_dataset,
    load_model,
    table_kind,
    writable,
    write_text,
)
from labelweave.cli.options import (
    DatasetArgument,
    LabelsOption,
    MetricsOption,
    ModelArgument,
    TrustOption,
    ZeroBasedOption,
)


def evaluate(
    model: ModelArgument,
    dataset: DatasetArgument,
    metrics: MetricsOption = None,
    labels: LabelsOption = None,
    zero_based: ZeroBasedOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep the figures as JSON.")
    ] = None,
    trust: TrustOption = None,
) -> None:
    """Measure a fitted model on a data set.

    The label columns of a CSV or Parquet file are found by the names the model knows.

    \b
    labelweave evaluate emotions.skops test.arff
    labelweave evaluate songs.skops test.csv --metrics exact_match,cll_loss_row
    """  # noqa: D301
    writable(output, "--output")
    measures = chosen_metrics(metrics)
    fitted = load_model(model, trust)
    known_labels = labels or (label_names_of(fitted, 0) if table_kind(dataset) else None)
    data = load_dataset(dataset, known_labels or None, zero_based=zero_based)
    features = dataset_features(fitted, data, "DATASET")
    truth = aligned_labels(fitted, data)

    from labelweave import evaluation, report

    try:
        scores, seconds = evaluation.score_model(fitted, features, truth, measures)
    except ValueError as error:
        raise WorkFailedError(f"{model} cannot be measured on {data.name}: {error}") from error
    if output is not None:
        figures = {
            name: value if math.isfinite(value) else str(value) for name, value in scores.items()
        }
        content = {"schema": 1, "kind": "labelweave-evaluation", "model": str(model)}
        summary = {"data": data.name, "n_rows": data.n_rows, "predict_seconds": seconds}
        text = json.dumps(content | summary | {"scores": figures}, indent=2) + "\n"
        write_text(output, text, "--output")
    report.show_scores(scores, measures, report.make_console(sys.stdout))
