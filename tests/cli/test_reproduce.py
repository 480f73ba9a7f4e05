"""``labelweave reproduce`` from the words typed to the report and the exit code."""

import pytest

from labelweave.papers.measurements import load_data


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
    assert (
        "To repeat it: `labelweave reproduce p2cg --quick" in (tmp_path / "report.md").read_text()
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["p2cg", "--only", "table-9"],
            "--only: there is no experiment 'table-9': choose from p2cg: tables",
        ),
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
    for folder in (file, file / "results"):
        result = run("reproduce", "p2cg", "--quick", "--only", "table-4", "--results", folder)
        assert result.exit_code == 2
        assert "--results: " in result.stderr


def test_nothing_to_run(run, tmp_path, monkeypatch):
    # OpenML does not have this set, so that nobody is asked for it.
    monkeypatch.setenv("LABELWEAVE_CACHE", str(tmp_path))
    load_data.cache_clear()
    words = ["reproduce", "bomc", "--only", "samples", "--data", tmp_path, "--results", tmp_path]
    result = run(*words)
    assert result.exit_code == 1
    assert "no data set is on this machine" in result.stderr
    assert "warning: left out rcv1" in result.stderr
