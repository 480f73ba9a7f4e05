"""labelweave explain: the sums of a row, and what can go wrong."""

import pandas as pd
import pytest

from labelweave import explain_label, explain_set, persistence
from tests.cli.conftest import NEIGHBOURS

METHOD = "pcc(C=1, label_penalty=0.1)"


@pytest.fixture
def model(run, table, tmp_path):
    path = tmp_path / "weather.skops"
    result = run("fit", table, "--labels", "last:3", "--method", METHOD, "--model", path)
    assert result.exit_code == 0, result.stderr
    return path


def test_explains_a_set_and_a_label(run, table, model):
    fitted, row = persistence.load_model(model), pd.read_csv(table)[list("abcde")][7:8]
    result = run("explain", model, table, "--row", 7)
    assert result.exit_code == 0, result.stderr
    found = explain_set(fitted, row)
    first, *_, last = result.stdout.splitlines()
    assert first == found.title()
    assert last.split() == ["sum", f"{found.log_ratio[0]:.3f}"]
    words = ["--row", 7, "--label", "rain", "--given", "sun=1", "--terms", 2]
    result = run("explain", model, table, *words)
    assert result.exit_code == 0, result.stderr
    found = explain_label(fitted, row, "rain", {"sun": 1})
    first, _, base, *terms, rest, last = result.stdout.splitlines()
    assert first.startswith("rain given sun")
    assert base.split()[-1] == f"{found.base_values[0]:.3f}"
    assert len(terms) == 2
    assert "others" in rest
    assert last.split() == ["sum", f"{found.log_ratio[0]:.3f}"]
    sun, rain = (list(fitted.steps[-1][1].label_names_in_).index(name) for name in ("sun", "rain"))
    words = ["--row", 7, "--label", rain, "--given", f"{sun}=1", "--terms", 2]
    assert run("explain", model, table, *words).stdout == result.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--row", 60], "--row: 60 is not among the 60 rows"),
        (["--label", "hail"], "--label: label names the unknown label 'hail'"),
        (["--given", "sun=1"], "--given: needs a --label"),
        (["--label", "sun", "--given", "rain"], "--given: must be a label and 0 or 1"),
        (["--label", "sun", "--given", "sun=1"], "--given: sun is the label to explain"),
        (["--label", "9"], "--label: label names the unknown label 9"),
    ],
)
def test_bad_options_are_named(run, table, model, words, complaint):
    result = run("explain", model, table, *words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_models_that_are_not_linear_are_refused(run, table, tmp_path):
    path = tmp_path / "neighbours.skops"
    run("fit", table, "--labels", "last:3", "--method", NEIGHBOURS, "--model", path)
    result = run("explain", path, table)
    assert result.exit_code == 2
    assert "MODEL: model must have conditionals with linear log-odds" in result.stderr


def test_calibrated_models_say_what_to_explain_instead(run, table, tmp_path):
    path = tmp_path / "calibrated.skops"
    options = ("--labels", "last:3", "-m", "calibrated(br(C=1))")
    assert run("fit", table, *options, "--model", path).exit_code == 0
    result = run("explain", path, table)
    assert result.exit_code == 2
    assert "fitted by the method inside calibrated(...)" in " ".join(result.stderr.split())
