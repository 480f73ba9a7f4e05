"""Runs of plans: resumed after a kill, the same report, no finished fold measured again."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import KFold

from labelweave import compare
from labelweave._common.engine import JoblibEngine
from labelweave.models.methods import make_methods
from labelweave.papers import reproduce
from labelweave.papers.measurements import load_data
from labelweave.papers.plan import Experiment, Task
from labelweave.papers.reproduction import run
from labelweave.papers.results import Record, Results, result_lines
from tests.papers.small_plan import METHODS, PLAN

SCRIPT = [sys.executable, "-m", "tests.papers.small_plan"]


def lines_of(folder):
    return (folder / "results.jsonl").read_bytes().splitlines()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    reproduce([PLAN], folder, n_jobs=1)
    return folder


@pytest.mark.parametrize("finished", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_a_killed_run_goes_on(tmp_path, whole, finished):
    with subprocess.Popen([*SCRIPT, str(tmp_path)], stdout=subprocess.PIPE) as process:
        for _ in range(finished):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    kept = lines_of(tmp_path)
    assert finished <= len(kept) < 18
    measured = []
    reproduce([PLAN], tmp_path, n_jobs=1, progress=lambda state: measured.append(state.done))
    assert lines_of(tmp_path)[: len(kept)] == kept
    assert measured == list(range(len(kept) + 1, 19))
    for name in ("report.html", "report.md", "report.tex"):
        assert (tmp_path / name).read_text() == (whole / name).read_text()


def test_a_finished_run_measures_nothing(whole):
    before = lines_of(whole)
    reproduce([PLAN], whole, n_jobs=1, progress=lambda _: pytest.fail("measured again"))
    assert lines_of(whole) == before


def test_scores_are_those_of_compare(whole):
    data = load_data("emotions")
    expected = compare(
        make_methods(METHODS.values()),
        data.X,
        data.Y,
        cv=KFold(6, shuffle=True, random_state=0),
        metrics=["exact_match", "hamming_loss"],
    )
    results = Results(tuple(result_lines(whole).read().values()))
    for name, method in zip(expected.methods, METHODS.values(), strict=True):
        for metric in expected.metrics:
            found = results.values("fold", "emotions", method, metric)
            np.testing.assert_array_equal(found, expected.scores(name, metric))


def test_failures_are_kept_by_name_and_tried_again(tmp_path):
    tasks = [Task("fold", "emotions", "br(C=-1)", 0, 0, {"n_folds": 5, "metrics": ["jaccard"]})]
    for attempt in (1, 2):
        (record,) = run(tasks, tmp_path, JoblibEngine(1))
        assert "C must be" in record.error
        assert len(lines_of(tmp_path)) == attempt
    assert "br(C=-1)" in Results((record,)).failures()[0]


def test_a_method_that_does_not_exist_fails_alone(tmp_path):
    settings = {"n_folds": 5, "metrics": ["jaccard"]}
    tasks = [Task("fold", "emotions", m, 0, 0, settings) for m in ("nosuch", "br(C=1)")]
    failed, good = run(tasks, tmp_path, JoblibEngine(1))
    assert "nosuch" in failed.error
    assert not good.error


def test_missing_data_is_left_out_and_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWEAVE_DATA", str(tmp_path))
    monkeypatch.setenv("LABELWEAVE_CACHE", str(tmp_path))
    grid = Experiment("tables", "fold", ("rcv1subset1 top:10",), ("br",), 2)
    load_data.cache_clear()
    plan = PLAN.__class__(**{**vars(PLAN), "experiments": (grid,), "claims": ()})
    found = reproduce([plan], tmp_path / "results", n_jobs=1)
    texts = [getattr(block, "text", "") for block in found.document.sections[0].blocks]
    assert any("Left out: rcv1subset1 top:10" in text for text in texts)
    assert found.n_tasks == 0
    assert "LABELWEAVE_DATA" in found.left_out[0]


def test_two_papers_may_share_their_tasks(tmp_path):
    other = PLAN.__class__(**{**vars(PLAN), "name": "other"})
    found = reproduce([PLAN, other], tmp_path, n_jobs=1)
    assert found.n_tasks == 36
    assert len(lines_of(tmp_path)) == 18
    lines = (tmp_path / "values.csv").read_text().splitlines()
    small, second = (
        [ln.split(",", 1)[1] for ln in lines if ln.startswith(p)] for p in ("sm", "ot")
    )
    assert small == second != []


def test_several_seeds_decide_by_majority():
    def record(method, seed, fold, value):
        return Record(Task("fold", "d", method, fold, seed), {"exact_match": value}, 1.0)

    noise = [0.0, 0.01, 0.02, 0.0, 0.01]
    records = [
        record(method, seed, fold, base + noise[(fold + shift) % 5])
        for seed, gain in enumerate([0.2, 0.2, 0.0])
        for method, base, shift in (("a", 0.5 + gain, 0), ("b", 0.5, 1))
        for fold in range(5)
    ]
    assert Results(tuple(records)).compare("d", "a", "b", "exact_match") == "better"
    assert Results(tuple(records)).compare("d", "b", "a", "exact_match") == "worse"
    few = [r for r in records if r.task.fold < 4]
    assert Results(tuple(few)).compare("d", "a", "b", "exact_match") is None
