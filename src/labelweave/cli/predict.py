"""``labelweave predict``: predict labels, or their probabilities, for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.alignment import read_features
from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import check_writable, label_names_of, load_model
from labelweave.cli.options import ModelArgument, TrustOption
from labelweave.cli.outputs import write_table
from labelweave.cli.reading import ReadOptions, reads_rows

if TYPE_CHECKING:
    import pandas as pd


@reads_rows
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
    decision: Annotated[
        str | None,
        typer.Option(
            "--decision",
            help="Decide for this loss instead of the model's own: subset, hamming, f1, jaccard, a "
            "rule for test sets such as cmn, or an object: 'PrecisionAtK(3)', 'FLoss(beta=2)', "
            "'PartialAbstention(price=0.2)', which leaves cells empty.",
        ),
    ] = None,
    expected: Annotated[
        bool,
        typer.Option(
            "--expected", help="With --decision: add a column of the score that each row expects."
        ),
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
    *,
    read_options: ReadOptions,
    trust: TrustOption = None,
) -> None:
    """Predict the labels of the rows of a file, as one CSV line per row.

    A CSV or Parquet file must have the columns that the model was fitted with, in any order; other
    columns are ignored.

    \b
    labelweave predict emotions.skops songs.csv
    labelweave predict emotions.skops songs.csv --proba --output probabilities.csv
    labelweave predict emotions.skops songs.csv --decision f1 --expected
    labelweave predict sets.skops songs.csv --conformal 0.9
    """  # noqa: D301
    check_writable(output, "--output")
    _check_combination(proba, decision, expected, conformal)
    fitted = load_model(model, trust)
    features = read_features(fitted, file, read_options)

    if conformal is not None:
        write_table(_set_table(fitted, features, conformal), output)
        return
    if decision is not None:
        write_table(_decided(fitted, features, decision, expected), output)
        return
    from labelweave.evaluation import predict_labels, predict_marginals

    values = predict_marginals(fitted, features) if proba else predict_labels(fitted, features)
    if values is None:
        raise BadInputError("--proba: this model does not predict probabilities; omit --proba")
    write_table(_table(fitted, values), output)


def _check_combination(
    proba: bool, decision: str | None, expected: bool, conformal: float | None
) -> None:
    """Raise an error for options that exclude each other, and for unknown decisions."""
    if conformal is not None and (proba or decision is not None):
        other = "--proba" if proba else "--decision"
        raise BadInputError(f"{other} and --conformal exclude each other: omit one of them")
    if decision is None and expected:
        raise BadInputError("--expected: the score of what decision? Add --decision")
    if decision is not None and proba:
        raise BadInputError("--decision: probabilities do not depend on it; omit it or --proba")
    if decision is not None:
        from labelweave.evaluation import make_decision

        with argument("--decision"):
            make_decision(decision)


def _decided(model: Any, features: Any, decision: str, expected: bool) -> pd.DataFrame:
    from labelweave.evaluation import make_decision, predict_decided

    with argument("--decision"):
        found = predict_decided(model, features, make_decision(decision))
    if found is None:
        raise BadInputError("--decision: this model has no joint distribution to decide by")
    labels, score = found
    table = _table(model, labels)
    if (labels < 0).any():  # labels that stay open
        table = table.astype("Int64").mask(table < 0)
    if not expected:
        return table
    if score is None:
        raise BadInputError(f"--expected: {decision} decides for all rows together; omit it")
    return table.assign(expected_score=score)


def _table(model: Any, values: Any) -> pd.DataFrame:
    import pandas as pd

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
