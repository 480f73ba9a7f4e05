"""``labelweave convert``, and the commands that open what it writes."""

import numpy as np
import pytest

from labelweave import data as datasets
from labelweave import load, persistence


@pytest.fixture
def parts(tmp_path):
    """Two svmlight files of a data set with two labels."""
    rng = np.random.default_rng(0)
    files = []
    for number in range(2):
        text = ""
        for a, b in rng.normal(size=(40, 2)):
            labels = ",".join(map(str, np.flatnonzero([a > 0, b > 0])))
            text += f"{labels} 1:{a:.3f} 2:{b:.3f}\n"
        files.append(tmp_path / f"part-{number}.svm")
        files[-1].write_text(text)
    return files


def test_parts_become_a_folder_that_commands_open(run, parts, tmp_path):
    folder, model = tmp_path / "whole", tmp_path / "model.skops"
    result = run("convert", *parts, "--out", folder)
    assert result.exit_code == 0, result.output
    assert "80 rows, 2 features, 2 labels" in result.stderr
    assert load(folder).n_rows == 80
    assert run("fit", folder, "--method", "br(C=1)", "--model", model).exit_code == 0
    (tmp_path / "whole.svm").write_text("".join(part.read_text() for part in parts))
    assert run("fit", tmp_path / "whole.svm", "-m", "br(C=1)", "-o", tmp_path / "b").exit_code == 0
    both = [persistence.load_model(path) for path in (model, tmp_path / "b")]
    np.testing.assert_array_equal(*(each.conditionals_.weights for each in both))
    compared = run("compare", folder, "--methods", "br(C=1)", "--folds", "2")
    assert compared.exit_code == 0, compared.output


def test_any_data_set_can_be_converted(run, table, tmp_path):
    folder = tmp_path / "weather"
    assert run("convert", table, "--labels", "last:3", "--out", folder).exit_code == 0
    expected = load(table, labels="last:3")
    np.testing.assert_array_equal(load(folder).X, expected.X)
    assert load(folder).label_names == expected.label_names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.svm"], "FILES: "),
        (["bad.svm"], "expected ':' and the value of feature 1"),
        (["emotions", "yeast"], "several files must be"),
    ],
)
def test_bad_input(run, tmp_path, words, message):
    (tmp_path / "bad.svm").write_text("0 1\n")
    words = [tmp_path / word if word == "bad.svm" else word for word in words]
    result = run("convert", *words, "--out", tmp_path / "folder")
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize("ignored", [["--ignore", "x2"], []])
def test_zero_based_features_without_a_feature_0(run, tmp_path, ignored):
    (tmp_path / "rows.svm").write_text("0 1:0.5 2:1\n1 1:0.25\n")
    result = run(
        "convert", tmp_path / "rows.svm", "--zero-based", *ignored, "--out", tmp_path / "folder"
    )
    assert result.exit_code == 0, result.output
    assert list(load(tmp_path / "folder").feature_names)[:2] == ["x0", "x1"]


def test_an_unfinished_folder_is_refused(run, parts, tmp_path):
    datasets.write_mapped(parts, tmp_path / "whole")
    (tmp_path / "whole" / "header.json").unlink()
    result = run("fit", tmp_path / "whole", "--model", tmp_path / "model.skops")
    assert result.exit_code == 2
    assert "header.json is missing" in result.stderr
