"""``labelweave predict``: predict labels, or their probabilities, for new rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from labelweave.cli.alignment import read_features
from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import ReadOptions, check_writable, label_names_of, load_model
from labelweave.cli.options import (
    HeaderOption,
    IgnoreOption,
    LabelsOption,
    MaxFeaturesOption,
    MaxMemoryOption,
    ModelArgument,
    TrustOption,
    ZeroBasedOption,
)

_COMPRESSIONS: Final[dict[str, Literal["gzip", "xz", "bz2"]]] = {
    ".gz": "gzip",
    ".xz": "xz",
    ".bz2": "bz2",
}


def predict(
    model: ModelArgument,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Rows to predict; labels in the file are ignored.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="CSV file to write to.", show_default="standard output"
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Write the probability of each label instead of 0 or 1.")
    ] = False,
    labels: LabelsOption = None,
    ignore: IgnoreOption = None,
    header: HeaderOption = None,
    zero_based: ZeroBasedOption = None,
    max_memory: MaxMemoryOption = None,
    max_features: MaxFeaturesOption = None,
    trust: TrustOption = None,
) -> None:
    """Predict the labels of the rows of a file, as one CSV line per row.

    A CSV or Parquet file must have the columns that the model was fitted with, in any order; other
    columns are ignored.

    \b
    labelweave predict emotions.skops songs.csv
    labelweave predict emotions.skops songs.csv --proba --output probabilities.csv
    """  # noqa: D301
    check_writable(output, "--output")
    fitted = load_model(model, trust)
    read_options = ReadOptions(
        labels=labels,
        ignore=ignore,
        header=header,
        zero_based=zero_based,
        max_memory=max_memory,
        max_features=max_features,
    )
    features = read_features(fitted, file, read_options)

    from labelweave.evaluation import predict_labels, predict_marginals

    values = predict_marginals(fitted, features) if proba else predict_labels(fitted, features)
    if values is None:
        raise BadInputError("--proba: this model does not predict probabilities; omit --proba")

    import pandas as pd

    table = pd.DataFrame(values, columns=label_names_of(fitted, values.shape[1]))
    if output is None:
        table.to_csv(sys.stdout, index=False, float_format="%.6g")
        return

    from labelweave._common.files import replacing

    with argument("--output"), replacing(output) as result:
        compression = _COMPRESSIONS.get(output.suffix.lower())
        table.to_csv(result, index=False, float_format="%.6g", mode="wb", compression=compression)
