"""The best forest: against networkx, against all forests, and what it promises about ties."""

from __future__ import annotations

import itertools
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from labelweave.models.structure_learning import maximum_branching


def total(pair, alone, parents):
    return sum(alone[i] if j < 0 else pair[j, i] for i, j in enumerate(parents))


def assert_forest(parents):
    for label in range(len(parents)):
        seen = set()
        while label >= 0:
            assert label not in seen
            seen.add(label)
            label = parents[label]


def is_forest(parents):
    try:
        assert_forest(parents)
    except AssertionError:
        return False
    return True


@cache
def all_forests(n):
    return list(filter(is_forest, itertools.product(range(-1, n), repeat=n)))


def best_of_all(pair, alone):
    return max(total(pair, alone, parents) for parents in all_forests(len(alone)))


def networkx_total(pair, alone):
    graph = nx.DiGraph()
    n = len(alone)
    for i in range(n):
        graph.add_edge("root", i, weight=alone[i])
        for j in range(n):
            if i != j and np.isfinite(pair[j, i]):
                graph.add_edge(j, i, weight=pair[j, i])
    tree = nx.maximum_spanning_arborescence(graph)
    return sum(weight for *_, weight in tree.edges(data="weight"))


def random_graph(rng, n, density=1.0):
    pair = rng.normal(size=(n, n)) * 10 - 50
    pair[rng.random((n, n)) > density] = -np.inf
    return pair, rng.normal(size=n) - 60


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(5))
def test_no_forest_is_better(n, seed):
    pair, alone = random_graph(np.random.default_rng([n, seed]), n)
    parents = maximum_branching(pair, alone)
    assert_forest(parents)
    assert total(pair, alone, parents) == pytest.approx(best_of_all(pair, alone), abs=1e-9)


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("n", [7, 20, 40])
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_as_good_as_networkx(n, density, seed):
    pair, alone = random_graph(np.random.default_rng([n, seed]), n, density)
    parents = maximum_branching(pair, alone)
    assert_forest(parents)
    assert total(pair, alone, parents) == pytest.approx(networkx_total(pair, alone), rel=1e-12)


@given(st.data(), st.integers(1, 4))
def test_ties(data, n):
    """Many equal weights: cycles within cycles, and still a best forest without idle edges."""
    few = st.sampled_from([-3.0, -2.0, -1.0, -np.inf])
    pair = data.draw(hnp.arrays(np.float64, (n, n), elements=few))
    alone = data.draw(hnp.arrays(np.float64, n, elements=st.sampled_from([-4.0, -3.0, -2.0])))
    parents = maximum_branching(pair, alone)
    assert_forest(parents)
    assert total(pair, alone, parents) == best_of_all(pair, alone)
    assert all(j < 0 or pair[j, i] > alone[i] for i, j in enumerate(parents))
    np.testing.assert_array_equal(parents, maximum_branching(pair, alone))


def test_nested_cycles_of_a_large_graph():
    """Weights that favour near neighbours make cycles of pairs, of pairs of pairs, and so on."""
    n = 32
    i, j = np.indices((n, n))
    pair = -np.log2(1.0 + (i ^ j)) + 1e-6 * np.random.default_rng(0).random((n, n))
    alone = np.full(n, -100.0)
    parents = maximum_branching(pair, alone)
    assert_forest(parents)
    assert (parents < 0).sum() == 1
    assert total(pair, alone, parents) == pytest.approx(networkx_total(pair, alone), rel=1e-12)


def test_labels_that_need_a_parent():
    pair = np.array([[0.0, -9.0, 0.0], [-1.0, 0.0, -1.5], [0.0, -9.0, 0.0]])
    np.testing.assert_array_equal(
        maximum_branching(pair, np.array([-np.inf, -5.0, -np.inf])), [1, -1, 0]
    )


def test_inputs_are_left_alone_and_the_diagonal_is_ignored():
    pair, alone = random_graph(np.random.default_rng(0), 6)
    expected = maximum_branching(pair, alone)
    copies = pair.copy(), alone.copy()
    np.fill_diagonal(pair, np.nan)
    np.testing.assert_array_equal(maximum_branching(pair, alone), expected)
    np.fill_diagonal(copies[0], np.nan)
    np.testing.assert_array_equal(pair, copies[0])
    np.testing.assert_array_equal(alone, copies[1])


def test_no_labels():
    assert maximum_branching(np.zeros((0, 0)), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(
    ("pair", "alone", "message"),
    [
        (np.zeros((2, 3)), np.zeros(2), r"\(L, L\)"),
        (np.zeros((2, 2)), 0.0, r"\(L, L\)"),
        (np.full((2, 2), np.nan), np.zeros(2), "NaN"),
        (np.zeros((2, 2)), np.array([0.0, np.inf]), r"\+inf"),
        (np.zeros((2, 2)), np.full(2, -np.inf), "alone must be finite"),
        (np.full((2, 2), -np.inf), np.array([-1.0, -np.inf]), "alone must be finite"),
    ],
)
def test_bad_input(pair, alone, message):
    with pytest.raises(ValueError, match=message):
        maximum_branching(pair, alone)
