"""``labelweave evaluate``: measure a kept model on data it has not seen."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from labelweave.cli.errors import WorkFailedError
from labelweave.cli.features import aligned_labels, dataset_features, nominal_of
from labelweave.cli.inputs import (
    Reading,
    chosen_metrics,
    is_table,
    label_names_of,
    load_dataset,
    load_model,
    writable,
)
from labelweave.cli.options import (
    DatasetArgument,
    HeaderOption,
    IgnoreOption,
    LabelsOption,
    MaxFeaturesOption,
    MaxMemoryOption,
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
    ignore: IgnoreOption = None,
    header: HeaderOption = None,
    zero_based: ZeroBasedOption = None,
    max_memory: MaxMemoryOption = None,
    max_features: MaxFeaturesOption = None,
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
    by_name = is_table(dataset)
    reading = Reading(
        labels=labels or (label_names_of(fitted, 0) if by_name else None) or None,
        ignore=ignore,
        nominal=nominal_of(fitted) if by_name else None,
        header=header,
        zero_based=zero_based,
        max_memory=max_memory,
        max_features=max_features,
    )
    data = load_dataset(dataset, reading)
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
        output.write_text(
            json.dumps(content | summary | {"scores": figures}, indent=2) + "\n", encoding="utf-8"
        )
    report.show_scores(scores, measures, report.make_console(sys.stdout))
