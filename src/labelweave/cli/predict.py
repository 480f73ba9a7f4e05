"""``labelweave predict``: predict labels, or their probabilities, for new rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

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

if TYPE_CHECKING:
    import pandas as pd

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
    conformal: Annotated[
        float | None,
        typer.Option(
            "--conformal",
            help="Write what a set of label vectors that contains the true one with this "
            "probability says about each label: 1 or 0 if all of its vectors agree, nothing if "
            "not; and the size of the set. For models fitted with --method conformal(...).",
        ),
    ] = None,
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
    labelweave predict sets.skops songs.csv --conformal 0.9
    """  # noqa: D301
    check_writable(output, "--output")
    if proba and conformal is not None:
        raise BadInputError("--proba and --conformal exclude each other: omit one of them")
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

    if conformal is not None:
        table = _set_table(fitted, features, conformal)
    else:
        table = _label_table(fitted, features, proba)
    if output is None:
        table.to_csv(sys.stdout, index=False, float_format="%.6g")
        return

    from labelweave._common.files import replacing

    with argument("--output"), replacing(output) as result:
        compression = _COMPRESSIONS.get(output.suffix.lower())
        table.to_csv(result, index=False, float_format="%.6g", mode="wb", compression=compression)


def _label_table(model: Any, features: Any, proba: bool) -> pd.DataFrame:
    import pandas as pd

    from labelweave.evaluation import predict_labels, predict_marginals

    values = predict_marginals(model, features) if proba else predict_labels(model, features)
    if values is None:
        raise BadInputError("--proba: this model does not predict probabilities; omit --proba")
    return pd.DataFrame(values, columns=label_names_of(model, values.shape[1]))


def _set_table(model: Any, features: Any, confidence: float) -> pd.DataFrame:
    """Return what the sets say about each label, and how large they are."""
    import pandas as pd

    from labelweave._common.pipelines import last_step
    from labelweave.evaluation import ConformalClassifier

    last = last_step(model)
    if not isinstance(last, ConformalClassifier):
        raise BadInputError(
            "--conformal: this model has no held-out rows; fit it with --method "
            "'conformal(estimator=...)'"
        )
    with argument("--conformal"):
        last.set_params(confidence=confidence)
        sets = last.predict_set(model[:-1].transform(features) if last is not model else features)
    agreed = pd.DataFrame(
        sets.outer.astype(int), columns=label_names_of(model, sets.outer.shape[1])
    )
    table = agreed.astype("Int64").mask(sets.outer & ~sets.inner)
    return table.assign(set_size=sets.sizes, set_complete=sets.complete.astype(int))
