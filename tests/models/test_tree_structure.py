"""Structures as text, drawing, graph and DOT."""

from __future__ import annotations

import re
import sys

import matplotlib as mpl
import numpy as np
import pytest

from labelweave import Structure
from labelweave.models.structure import layout_of
from labelweave.models.structure_learning import random_parents, resolve_parents

mpl.use("Agg")
NAMES = ("sea", "sand", "boat", "palm", "ice")


@pytest.fixture
def forest():
    gains = np.array([0.0, 3.0, 12.0, 0.5, 0.0])
    return Structure(np.array([-1, 0, 0, 1, -1]), gains, NAMES)


def random_forest(n_labels, seed):
    random = np.random.default_rng(seed)
    parents = random_parents(n_labels, random)
    parents[random.random(n_labels) < 0.2] = -1
    return Structure(parents, label_names=tuple(f"label {i}" for i in range(n_labels)))


def test_text_shows_every_label_once_with_its_gain(forest):
    lines = repr(forest).splitlines()
    assert lines[0] == "Structure(5 labels, 3 edges, gain 15.5)"
    assert lines[1:] == [
        "sea",
        "├─ sand  (gain 3.0)",
        "│  └─ palm  (gain 0.5)",
        "└─ boat  (gain 12.0)",
        "ice",
    ]


def test_couplings_are_shown_with_their_sign(forest):
    coupling = np.zeros((5, 5))
    coupling[1, 0], coupling[2, 0], coupling[3, 1] = 1.25, -2.5, -0.125
    coupled = forest.coupled(coupling)
    lines = repr(coupled).splitlines()
    assert lines[0] == repr(forest).splitlines()[0]
    assert lines[2:5] == [
        "├─ sand  +1.25  (gain 3.0)",
        "│  └─ palm  -0.12  (gain 0.5)",
        "└─ boat  -2.50  (gain 12.0)",
    ]
    assert '0 -> 2 [label="-2.50 (gain 12.0)"];' in coupled.to_dot()
    assert coupled.to_networkx().edges[0, 2]["coupling"] == -2.5
    dashed = [line.get_linestyle() for line in coupled.plot().lines]
    assert dashed == ["-", "--", "--"]


@pytest.mark.parametrize("seed", range(5))
def test_text_can_be_read_back(seed):
    structure = random_forest(40, seed)
    path, parents = [], np.full(40, -9)
    for line in repr(structure).splitlines()[1:]:
        stem, name = re.fullmatch(r"((?:│  |   )*(?:├─ |└─ )?)label (\d+)", line).groups()
        path = path[: len(stem) // 3]
        parents[int(name)] = path[-1] if path else -1
        path.append(int(name))
    np.testing.assert_array_equal(parents, structure.parents)


def test_what_it_says_about_itself(forest):
    assert forest.n_labels == 5
    assert forest.edges == [(0, 1), (0, 2), (1, 3)]
    np.testing.assert_array_equal(forest.roots, [0, 4])
    assert [label for label, _ in forest.walk()] == [0, 1, 3, 2, 4]
    assert [depth for _, depth in forest.walk()] == [0, 1, 2, 1, 0]
    graph = forest.graph()
    assert sorted(map(tuple, np.argwhere(graph))) == [(1, 0), (2, 0), (3, 1)]
    assert Structure(forest.parents).name(3) == "3"


def test_networkx(forest):
    networkx = pytest.importorskip("networkx")
    graph = forest.to_networkx()
    assert networkx.is_branching(graph)
    assert sorted(graph.edges) == forest.edges
    assert graph.edges[0, 2]["gain"] == 12.0
    assert [graph.nodes[i]["label"] for i in range(5)] == list(NAMES)
    assert "gain" not in Structure(forest.parents).to_networkx().edges[0, 1]


def test_without_networkx_it_says_what_is_missing(forest, monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="needs networkx"):
        forest.to_networkx()


def test_without_matplotlib_it_says_what_is_missing(forest, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="needs matplotlib"):
        forest.plot()


def test_dot_quotes_what_names_may_hold():
    names = ('say "hi"', "back\\slash", "two\nlines", "plain")
    dot = Structure(np.array([-1, 0, 1, 2]), label_names=names).to_dot(title='a "title"')
    strings = re.findall(r'label=("(?:[^"\\\n]|\\.)*")[;\]]', dot)
    # Reading the escapes back gives the names; a line break becomes a space.
    unescaped = [re.sub(r"\\(.)", r"\1", text[1:-1]) for text in strings]
    assert unescaped == ['a "title"', 'say "hi"', "back\\slash", "two lines", "plain"]
    assert re.findall(r"(\d) -> (\d)", dot) == [("0", "1"), ("1", "2"), ("2", "3")]


@pytest.mark.parametrize(("n_labels", "seed"), [(1, 0), (2, 0), (7, 1), (53, 2), (120, 3)])
def test_no_two_labels_overlap(n_labels, seed):
    structure = random_forest(n_labels, seed)
    layout = layout_of(structure)
    for label in range(n_labels):
        same_line = np.flatnonzero(np.abs(layout.y - layout.y[label]) < 0.68)
        for other in same_line[same_line != label]:
            apart = layout.x[other] >= layout.x[label] + layout.width[label]
            apart |= layout.x[label] >= layout.x[other] + layout.width[other]
            assert apart, (label, other)
    for parent, child in structure.edges:
        assert layout.x[child] >= layout.x[parent] + layout.width[parent]
        lines = layout.y[structure.children(parent)]
        assert lines.min() <= layout.y[parent] <= lines.max()


def test_plot_draws_names_and_edges(forest):
    ax = forest.plot()
    assert [text.get_text() for text in ax.texts] == list(NAMES)
    assert len(ax.lines) == 3
    widths = {line.get_linewidth() for line in ax.lines}
    assert max(widths) == ax.lines[1].get_linewidth()  # the edge sea-boat, which gains most
    given = mpl.figure.Figure().subplots()
    assert forest.plot(given) is given
    mpl.pyplot.close(ax.figure)


def test_names_fit_into_their_boxes():
    names = ("WWWWWWWW", "MMMM MMMM", "a$b$c", "iiii", "Mountain")
    ax = Structure(np.array([-1, 0, 0, 1, 1]), label_names=names).plot()
    ax.figure.canvas.draw()
    for text, box in zip(ax.texts, ax.patches, strict=True):
        inner, outer = text.get_window_extent(), box.get_window_extent()
        assert outer.x0 <= inner.x0 < inner.x1 <= outer.x1, text.get_text()
    mpl.pyplot.close(ax.figure)


def test_parents_by_name_and_position():
    expected = [-1, 0, 0, 1, -1]
    for given in ([None, "sea", 0, 1, -1], np.array(expected), tuple(expected)):
        np.testing.assert_array_equal(resolve_parents(given, 5, NAMES), expected)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([1, 0, -1, -1, -1], "has a cycle: label 'sea'"),
        ([0, -1, -1, -1, -1], "has a cycle"),
        ([-1, 5, -1, -1, -1], "unknown label .*: labels are 0 to 4"),
        ([-1, 0.5, -1, -1, -1], "unknown label .*: labels are 0 to 4"),
        ([-1, True, -1, -1, -1], "unknown label .*: labels are 0 to 4"),
        (["snow", None, None, None, None], "unknown label 'snow'"),
        ([-1, 0], "parents of the 5 labels"),
        ("learn", "must be 'learned', 'random'"),
        (3, "must be 'learned', 'random'"),
    ],
)
def test_bad_parents_are_named(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        resolve_parents(given, 5, NAMES)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 30])
def test_random_parents_make_a_tree(n_labels):
    for seed in range(10):
        parents = random_parents(n_labels, np.random.default_rng(seed))
        assert (parents < 0).sum() == 1
        np.testing.assert_array_equal(resolve_parents(parents, n_labels, None), parents)
