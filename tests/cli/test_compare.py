"""``labelweave compare`` from the words typed to the table, the file and the exit code."""

import json
import os
import shlex
import subprocess
import sys
from html import unescape

import numpy as np
import pytest

from labelweave import evaluation, load
from labelweave.evaluation import Comparison, IterativeStratification
from labelweave.metrics import METRICS
from labelweave.models.methods import make_methods
from tests.cli.conftest import NEIGHBOURS, PRIOR

# Classifiers of scikit-learn, by the form of what they know of probabilities.
FOREIGN = {
    "list of tables": "sklearn.ensemble.RandomForestClassifier(n_estimators=3)",
    "one table": "sklearn.neural_network.MLPClassifier(max_iter=20, hidden_layer_sizes=[4])",
    "a chain": "sklearn.multioutput.ClassifierChain(estimator=sklearn.naive_bayes.GaussianNB())",
    "none": "sklearn.linear_model.RidgeClassifier",
    "none, inside": "sklearn.multioutput.MultiOutputClassifier(estimator=sklearn.svm.LinearSVC())",
}
BROKEN = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=-1)"


def test_each_measure_is_judged_by_its_own_decision_unless_told(run, table):
    words = ["compare", table, "--labels", "last:3", "--methods", "br", "--folds", 2]

    def scores(*more):
        shown = run(*words, "--metrics", "exact_match,f1_macro", "--format", "csv", *more).stdout
        return [line.split(",")[2:4] for line in shown.splitlines()]

    assert scores() == scores("--decisions", "matching") != scores("--decisions", "own")
    assert "each measure is judged by the labels that are best for it" in run(*words).stdout
    assert "judged" not in run(*words, "--decisions", "own").stdout


def test_figures_are_those_of_the_library(run, table, tmp_path):
    output = tmp_path / "result.json"
    result = run(
        *("compare", table, "--labels", "last:3", "--methods", f"{NEIGHBOURS},{PRIOR}"),
        *("--folds", 3, "--splits", "stratified", "--seed", 4, "--jobs", 1, "--output", output),
    )
    assert result.exit_code == 0, result.stderr
    kept = Comparison.from_json(output.read_text(encoding="utf-8"))
    data = load(table, labels="last:3")
    expected = evaluation.compare(
        make_methods(f"{NEIGHBOURS},{PRIOR}", seed=4),
        data.X,
        data.Y,
        cv=IterativeStratification(3, random_state=4),
    )
    for method in expected.methods:
        for metric in expected.metrics:
            np.testing.assert_array_equal(
                kept.scores(method, metric), expected.scores(method, metric)
            )
    assert kept.data.name == "weather"
    mean = expected.scores("DummyClassifier", "hamming_loss").mean()
    assert f"{mean:.4f}" in result.stdout
    assert "wins/ties/losses" in result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("ending", ["csv", "md"])
def test_the_ending_of_the_output_says_its_form(run, table, tmp_path, ending):
    output = tmp_path / f"result.{ending}"
    words = ["--labels", "last:3", "-m", PRIOR, "-k", 2, "-j", 1, "--metrics", "jaccard"]
    assert run("compare", table, *words, "-o", output).exit_code == 0
    text = output.read_text(encoding="utf-8")
    if ending == "md":
        assert "| Jaccard (0/0 = 1) | 0." in text
    else:
        header = "method,fold,jaccard,fit_seconds,predict_seconds,error"
        assert text.splitlines()[0] == header
        assert len(text.splitlines()) == 3


@pytest.mark.parametrize("ending", ["html", "md", "tex"])
def test_a_report_has_the_figures_and_the_command(run, table, tmp_path, ending):
    report, output = tmp_path / f"report.{ending}", tmp_path / "result.json"
    words = ["compare", table, "--labels", "last:3", "-m", f"{PRIOR},{NEIGHBOURS}", "-k", 3]
    words += ["-j", 1, "--test", "corrected", "-o", output, "--report", report]
    assert run(*words).exit_code == 0
    text = report.read_text(encoding="utf-8")
    kept = Comparison.from_json(output.read_text(encoding="utf-8"))
    assert f"{kept.scores('DummyClassifier', 'hamming_loss').mean():.4f}" in text
    assert "corrected t-test" in text
    assert kept.versions["CPU"] in unescape(text).replace("\\", "").replace("{}", "")
    assert "SIMD level" in text
    if ending == "html":
        command = "labelweave " + shlex.join(map(str, words))
        assert command in unescape(text)


def test_choices_reach_the_comparison(run, table, tmp_path):
    output = tmp_path / "result.json"
    result = run(
        *(
            "compare",
            table,
            "--labels",
            "sun,rain",
            "-m",
            f"{PRIOR},{NEIGHBOURS}",
            "-k",
            2,
            "-j",
            1,
        ),
        *("--metrics", "exact-match,jaccard", "--no-scale", "--test", "corrected", "-o", output),
    )
    assert result.exit_code == 0, result.stderr
    content = json.loads(output.read_text(encoding="utf-8"))
    assert content["metrics"] == ["exact_match", "jaccard"]
    assert content["data"]["n_labels"] == 2
    assert content["data"]["n_features"] == 6
    assert content["scale"] == "False"
    assert content["splitter"] == "KFold(n_splits=2, random_state=0, shuffle=True)"
    assert "corrected t-test" in result.stdout


@pytest.mark.parametrize("form", FOREIGN)
def test_any_multi_label_classifier_of_scikit_learn_joins(run, table, form):
    """It has its figures; the log-likelihood, which only a joint distribution gives, has a dash."""
    result = run(
        *("compare", table, "--labels", "last:3", "-k", 2, "-j", 1),
        *("-m", f"mlknn,{FOREIGN[form]}", "--metrics", "exact_match,cll_loss"),
    )
    assert result.exit_code == 0, result.stderr
    lines = {line[:14].strip(): line for line in result.stdout.splitlines()}
    assert lines["exact match"].count("±") == 2
    assert lines["CLL-loss / row"].count("±") == 1
    assert "–" in lines["CLL-loss / row"]


def test_a_method_that_fails_is_told_and_the_others_are_shown(run, table):
    result = run(
        "compare", table, "--labels", "last:3", "-m", f"{PRIOR},{BROKEN}", "-k", 2, "-j", 1
    )
    assert result.exit_code == 1  # a method without a single figure
    assert "exact match" in result.stdout
    assert "KNeighborsClassifier(n_neighbors=-1) failed on 2 of 2 folds" in result.stderr


def test_nothing_but_failures_is_a_failure(run, table):
    result = run("compare", table, "--labels", "last:3", "-m", BROKEN, "-k", 2, "-j", 1)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: KNeighborsClassifier(n_neighbors=-1) failed on 2 of 2")
    assert "Traceback" not in result.stderr


def test_warnings_of_workers_are_gathered_on_the_error_stream(run, table):
    linear = (
        "sklearn.multioutput.MultiOutputClassifier("
        "estimator=sklearn.linear_model.LogisticRegression(max_iter=1))"
    )
    result = run("compare", table, "--labels", "last:3", "-m", linear, "-k", 2, "-j", 1)
    assert result.exit_code == 0
    lines = result.stderr.splitlines()
    assert all(line.startswith("warning: MultiOutputClassifier") for line in lines)
    assert any("ConvergenceWarning" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--methods", "brr"], "error: --methods: unknown method 'brr': did you mean br"),
        (["--methods", "br(C=1"], "error: --methods: "),
        (["--methods", f"{PRIOR}(strat=1)"], "no option 'strat': did you mean strategy"),
        (["--metrics", "f2"], "error: --metrics: unknown metric 'f2'"),
        (["--folds", "1"], "--folds"),
        (["--folds", "61"], "error: --folds: "),
        (["--splits", "random"], "--splits"),
        (["--test", "wilcoxon"], "--test"),
        (["--labels", "snow"], "error: DATASET: "),
        (["--jobs", "0"], "error: --jobs: "),
        (["--output", "no/such/folder/result.json"], "error: --output: the folder"),
        (["--output", "."], "error: --output: . is a folder"),
        (["--output", "result.txt"], "must have one of the extensions .json, .csv, .md"),
        (["--report", "no/such/folder/report.html"], "error: --report: the folder"),
        (["--report", "report.pdf"], "error: --report: path must have the extension .html, .md or"),
        (["--seed", "-1"], "--seed"),
        (["--unknown"], "--unknown"),
    ],
)
def test_bad_words_end_with_2_and_name_the_option(run, table, words, message):
    standard = ["--labels", "last:3", "--methods", PRIOR]
    result = run("compare", table, *standard, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("emotons", "error: DATASET: 'emotons' is neither a file nor a known data set. Did you"),
        ("missing.csv", "error: DATASET: "),
    ],
)
def test_data_that_is_not_there(run, name, message):
    result = run("compare", name, "--methods", PRIOR, "--labels", "last:1")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_table_without_named_labels_asks_for_the_option(run, table):
    result = run("compare", table, "--methods", PRIOR)
    assert result.exit_code == 2
    assert "--labels" in result.stderr


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_as_a_process_through_a_pipe(table, jobs):
    words = ["compare", str(table), "--labels", "last:3", "-m", f"{PRIOR},{NEIGHBOURS}", "-k", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "labelweave", *words, "--jobs", str(jobs)],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.startswith("weather: 60 rows, 5 features, 3 labels; 2 folds\n")


def test_the_help_names_every_measure(run):
    shown = " ".join(run("compare", "--help").stdout.split())
    for name in METRICS:
        assert name in shown.replace("- ", "")
