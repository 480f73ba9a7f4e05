"""``labelweave predict``, ``ask`` and ``evaluate``: apply a fitted model to the rows of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelweave.cli.inputs import (
    chosen_metrics,
    classifier_with_joint,
    label_names_of,
    labelled_rows,
    load_model,
    read_features,
)
from labelweave.cli.options import (
    BadInputError,
    DatasetArgument,
    MetricsOption,
    ModelArgument,
    ReadOptions,
    RowsArgument,
    TableOption,
    TrustOption,
    WorkFailedError,
    argument,
    reads_rows,
)
from labelweave.cli.outputs import SCORE_FORMATS, check_writable, write_scores, write_table

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.joint import Estimate
    from labelweave.joint.events import Query


@reads_rows
def ask(
    model: ModelArgument,
    file: RowsArgument,
    questions: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="One or more, each in quotes.")
    ],
    mean: Annotated[
        bool, typer.Option("--mean", help="Write the mean over all rows, one line per question.")
    ] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Add a column of standard errors: 0 where exact.")
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
    output: TableOption = None,
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

    from labelweave.models.predictions import predict_joint

    joint: Any = predict_joint(fitted, features)
    estimates = {text: joint.prob(query, samples=samples) for text, query in queries.items()}
    write_table(_means(estimates) if mean else _rows(estimates, errors), output)
    _warn_of_empty_cells(estimates)


def _parsed(question: str, model: Any) -> Query:
    from labelweave.joint.events import parse_query

    n_labels = classifier_with_joint(model).n_labels_
    try:
        return parse_query(question, n_labels, label_names_of(model, n_labels))
    except ValueError as error:  # its lines are kept, because they mark the position
        raise BadInputError(f"QUESTION: {str(error).removeprefix('query: ')}") from error


def _warn_of_empty_cells(estimates: dict[str, Estimate]) -> None:
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
    """Return the mean over the rows that have a probability, and the number of these rows."""
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
    check_writable(output, "--output", SCORE_FORMATS)
    measures = chosen_metrics(metrics)
    fitted = load_model(model, trust)
    data, features, truth = labelled_rows(fitted, dataset, read_options)

    from labelweave.metrics import scores_by_label
    from labelweave.models.predictions import predict_labels, predict_scores, score_model
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


@reads_rows
def predict(
    model: ModelArgument,
    file: RowsArgument,
    output: TableOption = None,
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
            "--expected", help="With --decision: add a column with the expected score of each row."
        ),
    ] = False,
    conformal: Annotated[
        float | None,
        typer.Option(
            "--conformal",
            help="Predict a set of label vectors that contains the true one with this "
            "probability. Write the size of the set, and 1 or 0 for each label on which all of its "
            "vectors agree, otherwise nothing. For models fitted with --method conformal(...).",
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
    rule = _checked_decision(proba, decision, expected, conformal)
    fitted = load_model(model, trust)
    features = read_features(fitted, file, read_options)

    if conformal is not None:
        write_table(_set_table(fitted, features, conformal), output)
        return
    if rule is not None:
        table, score = _decided(fitted, features, rule)
        if expected and score is None:
            raise BadInputError(f"--expected: {decision} decides for all rows together; omit it")
        write_table(table.assign(expected_score=score) if expected else table, output)
        return
    from labelweave.models.predictions import predict_labels, predict_marginals

    values = predict_marginals(fitted, features) if proba else predict_labels(fitted, features)
    if values is None:
        raise BadInputError("--proba: this model does not predict probabilities; omit --proba")
    write_table(_table(fitted, values), output)


def _checked_decision(
    proba: bool, decision: str | None, expected: bool, conformal: float | None
) -> Any:
    """Return the decision; raise an error for options that exclude each other."""
    if conformal is not None and (proba or decision is not None):
        other = "--proba" if proba else "--decision"
        raise BadInputError(f"{other} and --conformal exclude each other: omit one of them")
    if decision is None and expected:
        raise BadInputError("--expected: needs a decision to score; add --decision")
    if decision is None:
        return None
    if proba:
        raise BadInputError("--decision: probabilities do not depend on it; omit it or --proba")
    from labelweave.models.methods import make_decision

    with argument("--decision"):
        return make_decision(decision)


def _decided(model: Any, features: Any, rule: Any) -> tuple[pd.DataFrame, Any]:
    from labelweave.models.predictions import predict_decided

    with argument("--decision"):
        found = predict_decided(model, features, rule)
    if found is None:
        raise BadInputError("--decision: this model has no joint distribution to decide by")
    labels, score = found
    table = _table(model, labels)
    if (labels < 0).any():  # labels that stay open
        table = table.astype("Int64").mask(table < 0)
    return table, score


def _table(model: Any, values: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(values, columns=label_names_of(model, values.shape[1]))


def _set_table(model: Any, features: Any, confidence: float) -> pd.DataFrame:
    """Return the labels on which all vectors of a set agree, and the sizes of the sets."""
    from labelweave._common.pipelines import inside
    from labelweave.models.conformal import ConformalClassifier

    last = inside(model).model
    if not isinstance(last, ConformalClassifier):
        raise BadInputError(
            "--conformal: this model has no held-out rows; fit it with --method 'conformal(...)'"
        )
    with argument("--conformal"):
        last.set_params(confidence=confidence)
        sets = last.predict_set(model[:-1].transform(features) if last is not model else features)
    table = _table(model, sets.outer.astype(int)).astype("Int64").mask(sets.outer & ~sets.inner)
    return table.assign(set_size=sets.sizes, set_complete=sets.complete.astype(int))
