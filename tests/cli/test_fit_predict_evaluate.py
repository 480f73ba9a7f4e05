"""The life of a model file: fit, predict, evaluate, and every way it can go wrong."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, make_multilabel_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import BinaryRelevance, KernelFeatures, persistence
from labelweave.metrics import METRICS
from tests.cli.conftest import NEIGHBOURS, PRIOR

LABELS = ["sun", "rain", "wind"]
RIDGE = "sklearn.linear_model.RidgeClassifier"


@pytest.fixture
def model(run, table, tmp_path):
    path = tmp_path / "weather.skops"
    result = run("fit", table, "--labels", "last:3", "--method", NEIGHBOURS, "--model", path)
    assert result.exit_code == 0, result.stderr
    assert "60 rows, 5 features, 3 labels" in result.stderr
    assert result.stdout == ""
    return path


def by_hand(table):
    frame = pd.read_csv(table)
    pipeline = make_pipeline(StandardScaler(), KNeighborsClassifier(3, algorithm="brute"))
    return pipeline.fit(frame[list("abcde")], frame[LABELS]), frame


def test_predictions_are_those_of_the_model(run, table, model):
    pipeline, frame = by_hand(table)
    result = run("predict", model, table)
    assert result.exit_code == 0, result.stderr
    predicted = pd.read_csv(io.StringIO(result.stdout))
    assert list(predicted.columns) == LABELS
    np.testing.assert_array_equal(predicted, pipeline.predict(frame[list("abcde")]))


@pytest.mark.parametrize("name", ["probabilities.csv", "probabilities.csv.gz"])
def test_columns_are_found_by_name_and_others_ignored(run, table, model, tmp_path, name):
    pipeline, frame = by_hand(table)
    shuffled = frame[["e", "c", "a", "b", "d"]].assign(comment="text")
    other, output = tmp_path / "other.csv.gz", tmp_path / name
    shuffled.to_csv(other, index=False)
    result = run("predict", model, other, "--proba", "--output", output)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    expected = np.column_stack([p[:, 1] for p in pipeline.predict_proba(frame[list("abcde")])])
    np.testing.assert_allclose(pd.read_csv(output), expected, atol=1e-5)


def test_files_without_rows_are_named(run, table, model, tmp_path):
    empty = tmp_path / "empty.csv"
    empty.write_text(table.read_text().splitlines()[0] + "\n")
    for words in (["predict", model, empty], ["evaluate", model, empty]):
        result = run(*words)
        assert result.exit_code == 2
        assert "expected rows" in result.stderr
    result = run("compare", empty, "--labels", "last:3", "--methods", PRIOR)
    assert result.exit_code == 2
    assert "expected rows" in result.stderr


@pytest.mark.filterwarnings("ignore::labelweave.decision.UnprovenModeWarning")
def test_the_default_method_decides_any_number_of_labels(run, tmp_path):
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(40, 3)), random.integers(0, 2, size=(40, 31))
    wide, model = tmp_path / "wide.csv", tmp_path / "wide.skops"
    names = [f"y{j}" for j in range(31)]
    pd.DataFrame(features).join(pd.DataFrame(labels, columns=names)).to_csv(wide, index=False)
    result = run("fit", wide, "--labels", "last:31", "--method", "pcc", "--model", model)
    assert result.exit_code == 1
    assert "cannot decide 31 labels" in result.stderr
    assert run("fit", wide, "--labels", "last:31", "--model", model).exit_code == 0
    assert run("predict", model, wide).exit_code == 0


def test_parquet_too(run, table, model, tmp_path):
    pd.read_csv(table).to_parquet(tmp_path / "weather.parquet")
    from_csv = run("predict", model, table)
    from_parquet = run("predict", model, tmp_path / "weather.parquet")
    assert from_parquet.exit_code == 0, from_parquet.stderr
    assert from_parquet.stdout == from_csv.stdout


def test_sparse_data_has_no_feature_names(run, tmp_path):
    data, path = tmp_path / "data.svm", tmp_path / "model.skops"
    data.write_text("0,2 1:0.5 3:1\n1 2:2\n0,1 1:1 2:1\n2 3:4\n")
    brute = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=1, algorithm='brute')"
    assert run("fit", data, "-m", brute, "--model", path).exit_code == 0
    predicted = pd.read_csv(io.StringIO(run("predict", path, data).stdout))
    np.testing.assert_array_equal(predicted, [[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    dense = tmp_path / "dense.csv"
    dense.write_text("p,q,r\n0.5,0,1\n0,0,4\n")
    predicted = pd.read_csv(io.StringIO(run("predict", path, dense).stdout))
    np.testing.assert_array_equal(predicted, [[1, 0, 1], [0, 0, 1]])
    dense.write_text("p,q\n0.5,0\n")
    result = run("predict", path, dense)
    assert result.exit_code == 2
    assert "has 2 features, but the model expects 3" in result.stderr


def test_sparse_text_need_not_show_all_features_and_labels(run, tmp_path):
    data, path, part = tmp_path / "data.svm", tmp_path / "model.skops", tmp_path / "part.svm"
    lines = ["0,2 1:0.5 3:1", "1 2:2", "0,1 1:1 2:1", "2 3:4"]
    data.write_text("\n".join(lines) + "\n")
    brute = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=1, algorithm='brute')"
    assert run("fit", data, "-m", brute, "--model", path).exit_code == 0

    part.write_text(lines[1] + "\n")
    predicted = run("predict", path, part)
    assert predicted.exit_code == 0, predicted.stderr
    assert predicted.stdout.splitlines() == ["0,1,2", "0,1,0"]
    measured = run("evaluate", path, part, "--metrics", "exact_match")
    assert measured.exit_code == 0, measured.stderr
    assert "1.0000" in measured.stdout

    part.write_text(lines[3] + " 4:0.1 6:0.1\n")
    predicted = run("predict", path, part)
    assert predicted.stdout.splitlines() == ["0,1,2", "0,0,1"]
    assert "FILE: 3 features unknown to the model are ignored" in predicted.stderr

    part.write_text(lines[1].replace("1 ", "1,7 ", 1) + "\n")
    measured = run("evaluate", path, part, "--metrics", "exact_match")
    assert "1.0000" in measured.stdout
    assert "labels unknown to the model are ignored: 7" in measured.stderr

    part.write_text("7 1:1\n")
    result = run("evaluate", path, part)
    assert result.exit_code == 2
    assert "do not match those of MODEL" in result.stderr


def test_sparse_text_that_counts_from_zero(run, tmp_path):
    data, path, part = tmp_path / "data.svm", tmp_path / "model.skops", tmp_path / "part.svm"
    lines = ["0,2 0:0.5 2:1", "1 1:2", "0,1 0:1 1:1", "2 2:4"]
    data.write_text("\n".join(lines) + "\n")
    brute = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=1, algorithm='brute')"
    assert run("fit", data, "-m", brute, "--model", path).exit_code == 0
    part.write_text(lines[1] + "\n")  # without feature 0
    for command in ("predict", "evaluate"):
        result = run(command, path, part)
        assert result.exit_code == 0, result.stderr
        assert "taken to start" not in result.stderr
    assert run("predict", path, part).stdout.splitlines()[1] == "0,1,0"


def by_number(path, *options):
    return ("fit", path, "-m", "br(C=1)", "--model", path.with_suffix(".skops"), *options)


def test_rows_without_the_first_feature_are_predicted_as_with_it(run, tmp_path):
    X, Y = make_multilabel_classification(80, 12, n_classes=4, random_state=0)
    X[::3, 0] = 0
    path, part = tmp_path / "rows.svm", tmp_path / "part.svm"
    dump_svmlight_file(X, Y, str(path), multilabel=True, zero_based=True)
    assert "taken to start" not in run(*by_number(path)).stderr
    model = path.with_suffix(".skops")
    everything = run("predict", model, path).stdout.splitlines()
    lines = path.read_text().splitlines()
    chosen = [number for number, line in enumerate(lines) if " 0:" not in line]
    part.write_text("".join(f"{lines[number]}\n" for number in chosen))
    result = run("predict", model, part)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [everything[1 + number] for number in chosen]
    run("convert", part, "--zero-based", "-o", tmp_path / "folder")
    assert run("predict", model, tmp_path / "folder").stdout == result.stdout


def test_a_guess_is_said_and_kept(run, tmp_path):
    path, zero = tmp_path / "rows.svm", tmp_path / "zero.svm"
    path.write_text("0 1:1 2:1\n1 2:1\n0,1 1:2\n1 2:3\n")
    zero.write_text("0 0:1\n")
    said = "DATASET: there is no feature 0: features are taken to start at 1 (use --zero-based"
    assert said in run(*by_number(path)).stderr
    model = path.with_suffix(".skops")
    folder = tmp_path / "folder"
    run("convert", zero, "--zero-based", "-o", folder)
    assert "taken to start" not in run("predict", model, path).stderr
    for source in (zero, folder):
        for command in ("predict", "evaluate"):
            result = run(command, model, source)
            assert result.exit_code == 2
            assert (
                "features start at 0, but at 1 in the rows that MODEL was fitted" in result.stderr
            )
            assert "add --zero-based if" in result.stderr
            assert run(command, model, source, "--zero-based").exit_code == 0
    assert "taken to start" not in run(*by_number(path, "--one-based")).stderr
    result = run("predict", model, zero, "--one-based")
    assert "zero.svm: found feature 0, but features start at 1" in result.stderr


@pytest.mark.parametrize("based", [(), ("--zero-based",)])
def test_a_stream_keeps_the_number_of_the_first_feature(run, tmp_path, based):
    path, part = tmp_path / "rows.svm", tmp_path / "part.svm"
    path.write_text("0 1:1 2:1\n1 2:1\n0,1 1:2\n1 2:3\n" * 5)
    part.write_text("1 2:1\n")
    model = tmp_path / "model.skops"
    assert run("stream", path, "--out", model, *based).exit_code == 0
    both = [run("predict", model, file, "--proba") for file in (path, part)]
    assert both[0].stdout.splitlines()[2] == both[1].stdout.splitlines()[1]
    assert "taken to start" not in both[1].stderr
    part.write_text("1 0:1\n")
    assert run("predict", model, part).exit_code == (0 if based else 2)


def test_evaluate(run, table, model, tmp_path):
    pipeline, frame = by_hand(table)
    predicted = pipeline.predict(frame[list("abcde")])
    output = tmp_path / "scores.json"
    result = run("evaluate", model, table, "--output", output)
    assert result.exit_code == 0, result.stderr
    scores = json.loads(output.read_text(encoding="utf-8"))["scores"]
    for name, value in scores.items():
        assert value == METRICS[name](frame[LABELS], predicted)
    lines = {line[:20].strip(): line[20:].strip() for line in result.stdout.splitlines()}
    assert lines["exact match"] == f"{scores['exact_match']:.4f}"
    assert lines["CLL-loss / row"] == "–"


def test_evaluate_label_by_label_and_in_other_forms(run, table, model, tmp_path):
    for ending, expected in (("csv", "exact_match,0.6"), ("md", "| exact_match | 0.6")):
        output = tmp_path / f"scores.{ending}"
        result = run("evaluate", model, table, "--per-label", "--output", output)
        assert result.exit_code == 0, result.stderr
        assert expected in output.read_text(encoding="utf-8")
    lines = result.stdout.splitlines()[-4:]
    assert lines[0].split()[:4] == ["label", "support", "predicted", "precision"]
    assert [line.split()[0] for line in lines[1:]] == LABELS


def test_evaluate_aligns_labels_by_name(run, table, model, tmp_path):
    swapped = tmp_path / "swapped.csv"
    pd.read_csv(table)[["wind", "c", "sun", "b", "a", "rain", "d", "e"]].to_csv(
        swapped, index=False
    )
    expected = run("evaluate", model, table).stdout
    assert run("evaluate", model, swapped).stdout == expected
    assert run("evaluate", model, swapped, "--labels", "wind,rain,sun").stdout == expected


def test_scaling_can_be_left_out(run, table, tmp_path):
    path = tmp_path / "plain.skops"
    run("fit", table, "--labels", "last:3", "-m", PRIOR, "--no-scale", "--model", path)
    assert type(persistence.load_model(path)).__name__ == "DummyClassifier"


def test_no_probabilities(run, table, tmp_path):
    path = tmp_path / "ridge.skops"
    assert run("fit", table, "--labels", "last:3", "-m", RIDGE, "--model", path).exit_code == 0
    result = run("predict", path, table, "--proba")
    assert result.exit_code == 2
    assert "error: --proba: this model does not predict probabilities" in result.stderr


def test_types_that_need_trust(run, table, tmp_path):
    path = tmp_path / "neighbours.skops"
    method = "sklearn.neighbors.KNeighborsClassifier(algorithm='kd_tree')"
    types = [
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
    ]
    with pytest.warns(UserWarning, match=f"trusting the types {', '.join(types)}"):
        fitted = run("fit", table, "--labels", "last:3", "-m", method, "--model", path)
    assert fitted.exit_code == 0
    refused = run("predict", path, table)
    assert refused.exit_code == 2
    assert "error: MODEL: " in refused.stderr
    trust = [word for name in types for word in ("--trust", name)]
    assert run("predict", path, table, *trust).exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c,d\n1,2,3,4\n", "FILE: 1 of the model's 5 features are missing: e"),
        ("a,b,c,d,e\n1,2,3,4,5\n1,2,,4,5\n", "FILE: column 'c' has no finite number in row 2"),
        ("a,b,c,d,e\n1,2,x,4,5\n", "FILE: column 'c' has no finite number in row 1 ('x')"),
        ("", "error: FILE: "),
    ],
)
def test_files_that_cannot_be_predicted(run, model, tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_text(content)
    result = run("predict", model, path)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_what_is_missing_is_named(run, table, model, tmp_path):
    for words, message in (
        (("predict", tmp_path / "none.skops", table), "error: MODEL: No such file"),
        (("predict", table, table), "error: MODEL: "),
        (("predict", model, tmp_path / "none.csv"), "error: FILE: No such file"),
        (("predict", model, "no-such-set"), "error: FILE: 'no-such-set' is neither a file"),
        (("predict", model, table, "-o", tmp_path / "x" / "y.csv"), "error: --output: the folder"),
        (("evaluate", model, "emotions"), "error: DATASET: 5 of the model's 5 features"),
        (("evaluate", model, table, "--labels", "sun,rain"), "specify them with --labels"),
        (("fit", table, "--model", tmp_path / "m.skops", "--method", "xx"), "error: --method: "),
        (("fit", table, "--model", tmp_path, "-m", PRIOR), "is a folder; name a file"),
    ):
        result = run(*words)
        assert result.exit_code == 2, words
        assert message in result.stderr


def test_a_method_that_cannot_be_fitted(run, table, tmp_path):
    broken = "sklearn.neighbors.KNeighborsClassifier(n_neighbors=-1)"
    path = tmp_path / "m.skops"
    result = run("fit", table, "--labels", "last:3", "-m", broken, "--model", path)
    assert result.exit_code == 1
    assert "cannot be fitted to weather" in result.stderr
    assert not path.exists()


def test_a_cluster_that_does_not_answer_is_an_error_of_the_option(run, table, tmp_path):
    fit = ("fit", table, "--labels", "last:3", "--model", tmp_path / "model.skops", "--cluster")
    result = run(*fit, "nowhere")
    assert result.exit_code == 2
    assert "--cluster: 'nowhere' is not a cluster" in result.stderr


@pytest.mark.slow
def test_the_same_model_from_a_cluster(run, table, tmp_path):
    probabilities = []
    for name, cluster in (("here", ()), ("there", ("--cluster", "local:1"))):
        path = tmp_path / f"{name}.skops"
        fit = run("fit", table, "--labels", "last:3", "--method", "cc", "--model", path, *cluster)
        assert fit.exit_code == 0, fit.stderr
        probabilities.append(run("predict", path, table, "--proba").stdout)
    assert probabilities[0] == probabilities[1]


def test_a_model_on_kernel_features(run, table, tmp_path):
    path, method = tmp_path / "kernel.skops", "br(C=1, features=KernelFeatures(n_components=8))"
    result = run("fit", table, "--labels", "last:3", "--method", method, "--model", path)
    assert result.exit_code == 0, result.stderr
    result = run("predict", path, table)
    assert result.exit_code == 0, result.stderr
    frame = pd.read_csv(table)
    features = StandardScaler().fit_transform(frame[list("abcde")])
    expected = make_pipeline(KernelFeatures(n_components=8), BinaryRelevance(C=1.0))
    expected.fit(features, frame[LABELS])
    np.testing.assert_array_equal(
        pd.read_csv(io.StringIO(result.stdout)), expected.predict(features)
    )


def test_calibrated_models_are_saved_and_shown(run, table, tmp_path):
    path = tmp_path / "calibrated.skops"
    options = ("--labels", "last:3", "--method", "calibrated(br(C=1), marginals='sigmoid')")
    result = run("fit", table, *options, "--model", path)
    assert result.exit_code == 0, result.stderr
    assert "temperature " in result.stderr
    assert "held-out log-loss (marginals)" in result.stderr
    model = persistence.load_model(path)
    result = run("predict", path, table, "--proba")
    np.testing.assert_allclose(
        pd.read_csv(io.StringIO(result.stdout)),
        model.predict_proba(pd.read_csv(table)[list("abcde")]),
        rtol=1e-4,
    )


@pytest.mark.parametrize(
    ("method", "problem"),
    [("calibrated", "estimator is calibrated already"), ("svm", "weave")],
)
def test_what_cannot_be_calibrated_is_refused_before_data_are_read(run, tmp_path, method, problem):
    path = tmp_path / "model.skops"
    result = run("fit", "missing.csv", "-m", f"calibrated({method}())", "--model", path)
    assert result.exit_code == 2
    assert "--method:" in result.stderr
    assert problem in " ".join(result.stderr.split())


def test_sets_of_label_vectors_in_a_table(run, table, tmp_path):
    path = tmp_path / "sets.skops"
    method = "conformal(estimator=br(C=1))"
    result = run("fit", table, "--labels", "last:3", "--method", method, "--model", path)
    assert result.exit_code == 0, result.stderr
    result = run("predict", path, table, "--conformal", 0.7)
    assert result.exit_code == 0, result.stderr
    written = pd.read_csv(io.StringIO(result.stdout))
    assert list(written.columns) == [*LABELS, "set_size", "set_complete"]
    model = persistence.load_model(path).set_params(confidence=0.7)
    sets = model.predict_set(pd.read_csv(table)[list("abcde")])
    np.testing.assert_array_equal(written["set_size"], sets.sizes)
    np.testing.assert_array_equal(written[LABELS] == 1, sets.inner)
    np.testing.assert_array_equal(written[LABELS] != 0, sets.outer)
    assert written[LABELS].isna().any(axis=None)


def test_sets_need_a_conformal_model(run, table, model):
    result = run("predict", model, table, "--conformal", 0.9)
    assert result.exit_code == 2
    assert "conformal(...)" in result.stderr
    result = run("predict", model, table, "--conformal", 0.9, "--proba")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


@pytest.mark.parametrize("method", ["cc", "lp", "br"])
def test_rows_that_cannot_be_predicted_are_named(run, tmp_path, method):
    data, part, model = tmp_path / "data.svm", tmp_path / "part.svm", tmp_path / "model.skops"
    data.write_text("0,2 1:0.5 2:1\n1 2:2\n0,1 1:1 2:1\n2 1:4\n" * 3)
    assert run("fit", data, "-m", method, "--model", model).exit_code == 0
    part.write_text("0 1:1\n0 1:0.5 2:1e308\n")
    for command in ("predict", "evaluate"):
        result = run(command, model, part)
        assert result.exit_code == 2
        assert "feature 'x2' is beyond 1e+150 in row 2" in result.stderr
    result = run("fit", part, "-m", method, "-o", tmp_path / "other.skops")
    assert result.exit_code == 2
    assert "feature 'x2' is beyond 1e+150 in row 2" in result.stderr
    part.write_text("")
    for words in (["predict", model], ["evaluate", model], ["fit", "-o", tmp_path / "other.skops"]):
        result = run(*words, part)
        assert result.exit_code == 2
        assert "part.svm has no rows" in result.stderr


def test_a_number_too_large_in_a_table_is_named(run, model, table, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[3, "c"] = 1e308
    frame.to_csv(tmp_path / "new.csv", index=False)
    for command in ("predict", "evaluate"):
        result = run(command, model, tmp_path / "new.csv")
        assert result.exit_code == 2
        assert "feature 'c' is beyond 1e+150 in row 4" in result.stderr


def test_numbered_features_keep_their_columns_beside_those_that_are_ignored(run, tmp_path):
    data, part = tmp_path / "data.svm", tmp_path / "part.svm"
    whole, without = tmp_path / "whole.skops", tmp_path / "without.skops"
    lines = "0,1 0:1 2:3 3:1\n1 0:2 1:1 2:5\n0 1:2 3:4\n2 2:1 3:2\n"
    data.write_text(lines * 4)
    part.write_text(lines.replace(" 2:3", "").replace(" 2:5", "").replace(" 2:1", ""))
    assert run("fit", data, "-m", "br(C=1)", "-o", without, "--ignore", "x2").exit_code == 0
    (tmp_path / "cleared.svm").write_text(part.read_text() * 4)
    fitted = run("fit", tmp_path / "cleared.svm", "-m", "br(C=1)", "-o", whole)
    assert fitted.exit_code == 0
    expected = run("predict", whole, part, "--proba").stdout
    assert run("predict", without, part, "--proba").stdout == expected
    assert run("predict", without, data, "--ignore", "x2", "--proba").exit_code == 0
