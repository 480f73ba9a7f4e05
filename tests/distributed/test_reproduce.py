"""Reproductions on a cluster: the report of this machine alone; workers need no files."""

import numpy as np
import pytest

from labelweave._common.engine import JoblibEngine
from labelweave.papers import reproduce
from labelweave.papers.measurements import data_hash
from labelweave.papers.plan import Task
from labelweave.papers.reproduction import measure_all, run
from labelweave.papers.results import result_lines
from tests.papers.small_plan import PLAN

SETTINGS = {"n_folds": 3, "metrics": ["jaccard"]}


@pytest.mark.slow
def test_the_report_is_that_of_this_machine(engine, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    reproduce([PLAN], here, n_jobs=1)
    seen = []
    reproduce([PLAN], there, engine=engine, progress=lambda state: seen.append(state.done))
    assert seen == list(range(1, 19))
    for name in ("report.html", "report.md", "report.tex"):
        assert (there / name).read_text() == (here / name).read_text()
    values = [
        {k: r.values["exact_match"] for k, r in result_lines(f).read().items()}
        for f in (here, there)
    ]
    assert values[0] == values[1]


@pytest.mark.slow
def test_data_are_sent_and_times_are_taken_here(engine, tmp_path):
    """A file that only this process has read, then another one by the same name."""
    file = tmp_path / "weather.csv"
    rows = np.random.default_rng(0).normal(size=(60, 5))
    rows[:, 3:] = rows[:, 3:] > 0
    np.savetxt(file, rows, delimiter=",", header="a,b,c,sun,rain", comments="", fmt="%g")
    name = f"{file} last:2"
    assert data_hash(name)
    file.unlink()
    methods = ["br(C=1)", "cc(C=1,label_penalty=1)", "nosuch"]
    tasks = [Task("fold", name, m, f, 0, SETTINGS) for m in methods for f in range(3)]
    tasks.append(Task("training_time", name, "bomc-cmn", 0, 0, {"sizes": [20]}))
    folders = [tmp_path / name for name in ("here", "there")]
    for folder in folders:
        folder.mkdir()
    there = run(tasks, folders[1], engine)
    here = run(tasks, folders[0], JoblibEngine(1))
    assert [r.values.get("jaccard") for r in there] == [r.values.get("jaccard") for r in here]
    assert [r.error for r in there] == [r.error for r in here]
    assert [bool(r.error) for r in there] == [False] * 6 + [True] * 3 + [False]


@pytest.mark.slow
def test_a_group_whose_workers_die_is_reported_by_name(own_engine, tmp_path, monkeypatch):
    """Methods that share a fit are lost together, and the others are not."""
    monkeypatch.setattr("labelweave.papers.reproduction.measure_all", _measure_unless_chain)
    methods = ["br(C=1)", "cc(C=1,label_penalty=1)", "pcc(C=1,label_penalty=1)"]
    tasks = [Task("fold", "emotions", m, 0, 0, SETTINGS) for m in methods]
    records = run(tasks, tmp_path, own_engine)
    assert [r.task for r in records] == tasks
    assert not records[0].error
    assert "MemoryError: no room" in records[1].error
    assert "MemoryError: no room" in records[2].error


def _measure_unless_chain(tasks, data):
    if "cc" in tasks[0].method:
        raise MemoryError("no room")
    return measure_all(tasks, data)
