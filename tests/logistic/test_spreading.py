"""Where fits are made does not matter: the same bits on any engine, in any order of results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave._common.engine import Lost, LostWorkError
from labelweave.logistic.edges import edge_weights
from labelweave.logistic.solver import solve_problems
from labelweave.logistic.spreading import Workers, spread_over
from tests.logistic.make import assert_same_bits, make_problem, solve
from tests.logistic.test_independence import FORMS, make_problems
from tests.spreading import CardTable, spread_finely


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    spread_finely(monkeypatch)


@FORMS
@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 150),
    d=st.integers(1, 20),
    p=st.integers(1, 30),
    n_workers=st.integers(1, 4),
    keep_coef=st.booleans(),
)
def test_blocks_do_not_matter(form, seed, n, d, p, n_workers, keep_coef):
    problems = make_problems(form, n, d, p, seed)
    if seed % 2:
        start = np.random.default_rng(seed).normal(size=(p, d + 1 + p))
        problems = replace(problems, start=np.where(np.arange(d + 1 + p) > d, 0.0, start))
    here = solve_problems(problems, keep_coef=keep_coef, patience=1)
    with spread_over(CardTable(n_workers)):
        assert_same_bits(here, solve_problems(problems, keep_coef=keep_coef, patience=1))


@FORMS
def test_weights_of_every_problem_go_with_their_blocks(form):
    problems = make_problems(form, 60, 7, 20, 0)
    rng = np.random.default_rng(0)
    problems = replace(
        problems,
        weights=rng.integers(0, 3, size=(60, 20)).astype(float),
        weight_of=rng.permutation(20).astype(np.int32),
    )
    table = CardTable(2)
    with spread_over(table):
        there = solve_problems(problems)
    assert_same_bits(solve_problems(problems), there)
    assert all(np.shape(value) != (20, 60) or value.dtype == np.int8 for value in table.shared)


@FORMS
@pytest.mark.parametrize("screen", [None, 3])
def test_edges(form, screen):
    X, Y = make_problem(120, 6, 13)
    Y[:, 4] = 1
    held_out = np.arange(3)[:, None] == np.arange(120) % 3
    weight = np.random.default_rng(0).integers(0, 3, size=120).astype(float)
    common = {"C": 1.0, "label_penalty": 0.1, "held_out": held_out, "sample_weight": weight}
    here = edge_weights(form(X), Y, screen=screen, **common)
    table = CardTable(3)
    with spread_over(table):
        there = edge_weights(form(X), Y, screen=screen, **common)
    assert any("weigh" in name for name in table.functions)
    for name in vars(here):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name), name)


def test_edges_without_rows_to_weigh_them():
    X, Y = make_problem(40, 3, 5)
    for nothing in (np.zeros(40, bool), np.ones(40, bool)):
        with spread_over(CardTable(2)):
            weights = edge_weights(X, Y, C=1.0, label_penalty=0.1, held_out=nothing)
        here = edge_weights(X, Y, C=1.0, label_penalty=0.1, held_out=nothing)
        np.testing.assert_array_equal(weights.pair, here.pair)


def test_data_are_sent_once_for_all_solves_and_again_when_they_change():
    X, T = make_problem(80, 5, 12)
    table = CardTable(2)
    with spread_over(table):
        solve(X, T)
        first = len(table.shared)
        solve(X.copy(), T, C=2.0)
        assert len(table.shared) == first
        X[0, 0] += 1.0
        there = solve(X, T)
        assert len(table.shared) == first + 1
    assert_same_bits(solve(X, T), there)


def test_data_of_no_use_any_more_are_forgotten():
    workers = Workers(CardTable(2))
    for number in range(40):
        workers.run(np.add, [np.full(3, number)], [("a sum", (1,))])
    assert len(workers._shared) <= 8


def test_little_work_stays_here(monkeypatch):
    monkeypatch.undo()
    X, T = make_problem(80, 5, 12)
    table = CardTable(4)
    with spread_over(table):
        solve(X, T)
    assert not table.functions
    workers, fits = Workers(table), np.arange(1000)
    assert len(workers.deal(fits, 10.0)) == 1
    parts = workers.deal(fits, 1e9)
    assert len(parts) > table.n_workers
    # Fits come in the order of their costs: blocks cost alike, and none is left out.
    assert np.ptp([part.mean() for part in parts]) < len(parts)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), fits)


def test_only_inside_the_context():
    X, T = make_problem(80, 5, 12)
    table = CardTable(2)
    with pytest.raises(ZeroDivisionError), spread_over(table):
        raise ZeroDivisionError
    solve(X, T)
    assert not table.functions


class Losing(CardTable):
    def result(self, call):
        return Lost.by(call.name, MemoryError("no room"))


class Interrupting(CardTable):
    def result(self, call):
        raise KeyboardInterrupt


def test_labels_that_are_lost_are_named():
    X, T = make_problem(80, 5, 2)
    lost = r"the fits of labels [01]: MemoryError: no room"
    with spread_over(Losing(1)), pytest.raises(LostWorkError, match=lost):
        solve(X, T)


def test_an_interrupt_ends_the_fit():
    X, T = make_problem(80, 5, 12)
    with spread_over(Interrupting(2)), pytest.raises(KeyboardInterrupt):
        solve(X, T)
