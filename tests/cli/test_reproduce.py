"""``labelweave reproduce`` from the words typed to the report and the exit code."""

import pytest


def test_a_part_of_a_paper_on_bundled_data(run, tmp_path):
    words = ["reproduce", "p2cg", "--quick", "--only", "table-4", "-j", 1, "--results", tmp_path]
    first = run(*words)
    assert first.exit_code == 0, first.stderr
    assert "11  reproduced      PCC is infeasible beyond 30 labels" in first.stdout
    assert "2 of 2 tasks" in first.stderr
    kept = (tmp_path / "results.jsonl").read_bytes()
    again = run(*words)
    assert again.stdout == first.stdout
    assert again.stderr == ""
    assert (tmp_path / "results.jsonl").read_bytes() == kept
    assert "labelweave" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p2cg", "--only", "table-9"], "--only: p2cg has no experiment 'table-9'"),
        (["p2cg", "--jobs", 0], "--jobs: must be at least 1"),
        (["p2cg", "--data", "/nowhere"], "does not exist"),
        (["p2cg", "--seeds", 0], "--seeds"),
        (["mcc"], "mcc"),
    ],
)
def test_bad_input(run, words, message, tmp_path):
    result = run("reproduce", *words, *([] if "--jobs" in words else ["--results", tmp_path]))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_results_that_cannot_be_written(run, tmp_path):
    file = tmp_path / "file"
    file.touch()
    result = run("reproduce", "p2cg", "--quick", "--only", "table-4", "--results", file / "results")
    assert result.exit_code == 2
    assert "--results" in result.stderr
