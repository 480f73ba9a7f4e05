"""Stages of long work are told to who watches, and to nobody else."""

import io

import numpy as np
import pytest
from rich.console import Console

from labelweave import MixtureSettings, TreeMixture, TreeNetwork
from labelweave._common import progress
from labelweave._common.progress import progress_shown, stage, steps, watching
from labelweave.data import load


def told(work):
    seen = []
    with watching(lambda stages: seen.append([(s.name, s.done, s.total) for s in stages])):
        work()
    return seen


def test_stages_nest_and_end():
    def work():
        with stage("outer", 1) as advance:
            for _ in steps("inner", [1, 2]):
                pass
            advance()

    seen = told(work)
    assert [("outer", 0, 1), ("inner", 1, 2)] in seen
    assert [("outer", 1, 1)] in seen
    assert seen[-1] == []


def test_a_stage_that_fails_ends():
    def work():
        with pytest.raises(ZeroDivisionError), stage("bad"):
            raise ZeroDivisionError

    assert told(work)[-1] == []


def test_fits_tell_their_stages_and_learn_the_same():
    data = load("emotions")
    X, Y = data.X[:200], data.Y[:200]
    for model in (TreeNetwork(), TreeMixture(settings=MixtureSettings(max_components=2))):
        fitted = []
        seen = told(lambda model=model, fitted=fitted: fitted.append(model.fit(X, Y)))
        names = {name for stages in seen for name, _, _ in stages}
        assert {"choosing penalties", "weighing edges"} <= names
        watched = fitted[0].predict_joint(X).log_prob(Y)
        np.testing.assert_array_equal(watched, model.fit(X, Y).predict_joint(X).log_prob(Y))
    assert any("EM with" in name for name in names)
    assert "choosing the number of components" in names


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_bars_show_names_as_they_are_and_end(monkeypatch):
    monkeypatch.setattr(progress, "_WORTH_SHOWING", 0.0)
    file = Terminal()
    title = "fitting br(C=[0.1]) to data[/x].csv"
    with progress_shown(title, file), stage("weighing [edges]", 2) as advance:
        advance()
        while "weighing [edges]" not in file.getvalue():
            pass
    assert "br(C=[0.1])" in file.getvalue()


def test_bars_that_are_closed_do_not_start():
    bars = progress._Bars("late", Console(file=Terminal()))
    bars.close()
    bars._start()
    assert bars._progress is None


def test_nothing_is_written_where_nobody_looks():
    file = io.StringIO()
    with progress_shown("fitting", file), stage("long", 3) as advance:
        advance()
    assert file.getvalue() == ""


def test_a_log_has_lines_of_the_outermost_stage():
    file = io.StringIO()
    with progress_shown("fitting", file, lines=True), stage("tasks", 40) as advance:
        for _ in range(3):
            for _ in steps("inner", [1, 2]):
                pass
            advance("well")
    assert [line.partition(",")[0] for line in file.getvalue().splitlines()] == ["2 of 40 tasks"]


def test_bars_show_the_note_of_the_last_step(monkeypatch):
    monkeypatch.setattr(progress, "_WORTH_SHOWING", 0.0)
    file = Terminal()
    with progress_shown("learning", file), stage("rows") as advance:
        advance("1,000 rows, 5 rows/s")
        while "1,000 rows, 5 rows/s" not in file.getvalue():
            pass
