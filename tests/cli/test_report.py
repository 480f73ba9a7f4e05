"""``labelweave report`` and ``labelweave compare --format``: results in other people's hands."""

import csv
import io

import pytest

from tests.evaluation.make import comparison
from tests.report.test_tables import FIGURES


@pytest.fixture
def saved(tmp_path):
    files = []
    for name in ("songs", "genes"):
        files.append(tmp_path / f"{name}.json")
        files[-1].write_text(comparison(FIGURES, name=name).to_json(), encoding="utf-8")
    return files


@pytest.mark.parametrize("ending", ["html", "md", "tex"])
def test_several_comparisons_make_one_report(run, saved, tmp_path, ending):
    target = tmp_path / f"both.{ending}"
    result = run("report", *saved, "--report", target)
    assert result.exit_code == 0, result.stderr
    text = target.read_text(encoding="utf-8")
    for word in ("songs", "genes", "labelweave report", *FIGURES):
        assert word in text.replace("\\_", "_")


def test_one_comparison_is_enough(run, saved, tmp_path):
    result = run("report", saved[0], "--report", tmp_path / "one.md")
    assert result.exit_code == 0, result.stderr
    assert "Methods compared on songs" in (tmp_path / "one.md").read_text(encoding="utf-8")


def test_bad_files_are_named(run, saved, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")
    for file in (other, tmp_path / "missing.json"):
        result = run("report", saved[0], file, "--report", tmp_path / "both.html")
        assert result.exit_code == 2
        assert f"FILES: {file} is not a comparison" in result.stderr
    result = run("report", saved[0], "--report", tmp_path / "both.pdf")
    assert result.exit_code == 2
    assert "--report" in result.stderr


def test_formats_to_print(run):
    words = ("compare", "emotions", "--methods", "br(C=1)", "--folds", 2, "--jobs", 1)
    assert "| exact match | 0." in run(*words, "--format", "markdown").stdout
    assert "\\toprule" in run(*words, "--format", "latex").stdout
    lines = list(csv.DictReader(io.StringIO(run(*words, "--format", "csv").stdout)))
    assert [line["fold"] for line in lines] == ["0", "1"]
