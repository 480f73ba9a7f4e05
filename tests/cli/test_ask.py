"""``labelweave ask``, and decisions on the command line."""

import io

import numpy as np
import pandas as pd
import pytest

from labelweave import persistence
from labelweave.decision import PartialAbstention
from labelweave.evaluation import Comparison
from labelweave.models.predictions import predict_joint, predict_labels
from tests.cli.conftest import NEIGHBOURS

FEATURES = list("abcde")


@pytest.fixture
def model(run, table, tmp_path):
    path = tmp_path / "weather.skops"
    words = ("--labels", "last:3", "--method", "pcc(C=1,label_penalty=1)", "--model", path)
    assert run("fit", table, *words).exit_code == 0
    return path


def joint_of(model, table):
    return predict_joint(persistence.load_model(model), pd.read_csv(table)[FEATURES])


def test_one_line_per_row_and_one_column_per_question(run, table, model, tmp_path):
    questions = ["P(sun | rain=0)", "count >= 2", "'sun' or not wind", "1"]
    result = run("ask", model, table, *questions)
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(io.StringIO(result.stdout))
    assert list(found.columns) == questions
    joint = joint_of(model, table)
    for question in questions:
        np.testing.assert_allclose(found[question], joint.prob(question).value, rtol=1e-5)
    output = tmp_path / "answers.csv.gz"
    assert run("ask", model, table, *questions, "-o", output).stdout == ""
    pd.testing.assert_frame_equal(pd.read_csv(output), found)


def test_means_and_standard_errors(run, table, model):
    joint = joint_of(model, table)
    result = run("ask", model, table, "sun", "sun | rain and not rain", "--mean")
    found = pd.read_csv(io.StringIO(result.stdout))
    assert list(found["question"]) == ["sun", "sun | rain and not rain"]
    np.testing.assert_allclose(found["mean"][0], joint.marginals()[:, 0].mean(), rtol=1e-5)
    assert np.isnan(found["mean"][1])
    assert list(found["rows"]) == [60, 0]
    warning = "warning: sun | rain and not rain: the condition is impossible, in 60 of 60 rows"
    assert result.stderr.splitlines() == [warning]
    rare = run("ask", model, table, "sun | rain and not rain", "--mean", "--samples", 2)
    assert "no draw meets the condition" in rare.stderr
    drawn = pd.read_csv(
        io.StringIO(run("ask", model, table, "sun", "--errors", "--samples", 40).stdout)
    )
    expected = joint.prob("sun", samples=40)
    np.testing.assert_allclose(drawn["sun"], expected.value, rtol=1e-5)
    np.testing.assert_allclose(drawn["sun (standard error)"], expected.standard_error, rtol=1e-5)


def test_bad_questions_are_marked(run, table, model):
    result = run("ask", model, table, "sun", "P(rian | sun)")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: QUESTION: no label is named 'rian'; did you mean 'rain'?",
        "    P(rian | sun)",
        "      ^^^^",
    ]


def test_a_question_is_asked_once(run, table, model):
    asked = run("ask", model, table, "count >= 2", "count >= 2")
    assert (asked.exit_code, "asked twice" in asked.stderr) == (2, True)


def test_a_model_without_a_joint_has_no_answers(run, table, tmp_path):
    path = tmp_path / "other.skops"
    run("fit", table, "--labels", "last:3", "--method", NEIGHBOURS, "--model", path)
    result = run("ask", path, table, "sun")
    assert result.exit_code == 2
    assert "MODEL: this model has no joint distribution" in result.stderr
    result = run("predict", path, table, "--decision", "f1")
    assert result.exit_code == 2
    assert "--decision: this model has no joint distribution" in result.stderr


@pytest.mark.parametrize("decision", ["hamming", "f1", "PrecisionAtK(2)", "FLoss(beta=2)"])
def test_predictions_are_decided_anew(run, table, model, decision):
    from labelweave.models.methods import make_decision

    result = run("predict", model, table, "--decision", decision, "--expected")
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(io.StringIO(result.stdout))
    decided = joint_of(model, table).decide(make_decision(decision))
    assert list(found.columns) == ["sun", "rain", "wind", "expected_score"]
    np.testing.assert_array_equal(found.iloc[:, :3], decided.labels)
    np.testing.assert_allclose(found["expected_score"], decided.score, rtol=1e-5)


def test_open_labels_are_empty_cells(run, table, model):
    result = run("predict", model, table, "--decision", "PartialAbstention(price=0.1)")
    found = pd.read_csv(io.StringIO(result.stdout))
    labels = PartialAbstention(price=0.1)(joint_of(model, table))
    assert (labels < 0).any()
    np.testing.assert_array_equal(found.fillna(-1), labels)
    assert "." not in result.stdout


def test_rules_for_test_sets_have_no_score_per_row(run, table, model):
    result = run("predict", model, table, "--decision", "cmn")
    assert result.exit_code == 0, result.stderr
    fitted = persistence.load_model(model)
    fitted[-1].set_params(decision="cmn")
    expected = predict_labels(fitted, pd.read_csv(table)[FEATURES])
    np.testing.assert_array_equal(pd.read_csv(io.StringIO(result.stdout)), expected)
    result = run("predict", model, table, "--decision", "cmn", "--expected")
    assert result.exit_code == 2
    assert "--expected: cmn decides for all rows together" in result.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decision", "hammng"], "--decision: unknown decision 'hammng': did you mean hamming"),
        (["--decision", "FLoss(gamma=1)"], "--decision: FLoss has no option 'gamma'"),
        (["--expected"], "--expected: needs a decision to score"),
        (["--decision", "f1", "--proba"], "omit it or --proba"),
    ],
)
def test_bad_decisions_end_before_the_work(run, table, model, words, message):
    result = run("predict", model, table, *words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_methods_are_compared_by_decision(run, table, tmp_path):
    output = tmp_path / "result.json"
    words = ["compare", table, "--labels", "last:3", "-k", 2, "-j", 1, "-o", output]
    methods = f"br(C=1),{NEIGHBOURS}"
    result = run(*words, "-m", methods, "--decisions", "subset,f1,PrecisionAtK(2)")
    assert result.exit_code == 0, result.stderr
    kept = Comparison.from_json(output.read_text(encoding="utf-8"))
    names = ["br(C=1): subset", "br(C=1): f1", "br(C=1): PrecisionAtK(2)"]
    assert list(kept.methods)[:3] == names
    assert len(kept.methods) == 4
    result = run(*words, "-m", methods, "--decisions", "f9")
    assert result.exit_code == 2
    assert "--decisions: unknown decision 'f9'" in result.stderr
