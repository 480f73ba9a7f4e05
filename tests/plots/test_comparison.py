"""Folds, means, verdicts and ranks of a comparison as they are drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from labelweave.evaluation import Comparison
from labelweave.evaluation.results import DataSummary, FoldResult
from labelweave.plots import ComparisonDisplay
from labelweave.plots.comparisons import draw_ranks, draw_strips, indistinguishable_groups
from tests.plots.samples import drawn

RNG = np.random.default_rng(0)
NOISE = RNG.normal(scale=0.01, size=10)
SCORES = {
    "$first$": 0.5 + NOISE,
    "worse": 0.4 + NOISE + RNG.normal(scale=0.005, size=10),
    "better": 0.7 + NOISE + RNG.normal(scale=0.005, size=10),
    "alike": 0.5 + RNG.normal(scale=0.01, size=10),
    "failed": np.full(10, np.nan),
}


def comparison(failed="failed"):
    every = {failed if name == "failed" else name: scores for name, scores in SCORES.items()}
    results = tuple(
        FoldResult(name, k, {"f1_micro": score, "hamming_loss": 1 - score})
        if np.isfinite(score)
        else FoldResult(name, k, error="RuntimeError")
        for name, scores in every.items()
        for k, score in enumerate(scores.tolist())
    )
    return Comparison(
        DataSummary("d", 100, 3, 2),
        "KFold",
        ((90, 10),) * 10,
        "auto",
        ("f1_micro", "hamming_loss"),
        dict.fromkeys(every, ""),
        results,
    )


def test_folds_and_means_are_those_of_the_comparison():
    display = ComparisonDisplay.from_comparison(comparison())
    names = [drawn(tick.get_text()) for tick in display.ax_.get_yticklabels()]
    assert names == list(SCORES)
    folds = [line for line in display.ax_.lines if len(line.get_xdata()) > 1]
    means = [line for line in display.ax_.lines if len(line.get_xdata()) == 1]
    for place, name in enumerate(list(SCORES)[:4]):
        np.testing.assert_array_equal(folds[place].get_xdata(), SCORES[name])
        assert means[place].get_xdata()[0] == pytest.approx(SCORES[name].mean())
    assert [text.get_text() for text in display.ax_.texts] == ["no scores"]


def test_marks_say_what_the_test_says_for_scores_and_for_losses():
    display = ComparisonDisplay.from_comparison(comparison(), test="corrected", alpha=0.01)
    expected = comparison().verdicts("f1_micro", test="corrected", alpha=0.01)
    assert display.verdicts_["f1_micro"] == expected
    for panel in display.axes_:  # a low loss is good: the same methods are better
        means = [line for line in panel.lines if len(line.get_xdata()) == 1]
        assert [line.get_marker() for line in means] == ["s", "v", "^", "D"]
    meanings = [text.get_text() for text in display.figure_.legends[0].texts]
    assert "significantly worse than the first" in meanings


def test_metrics_can_be_chosen_and_unknown_ones_are_named():
    display = ComparisonDisplay.from_comparison(comparison(), metrics=["hamming_loss"])
    assert [panel.get_title("left") for panel in display.axes_] == ["Hamming loss ↓"]
    with pytest.raises(ValueError, match="unknown metric 'f2'"):
        ComparisonDisplay(comparison(), metrics=["f2"])
    with pytest.raises(ValueError, match="metrics must name at least one"):
        ComparisonDisplay(comparison(), metrics=[])


def test_the_table_of_a_notebook_escapes_names():
    html = comparison(failed="<script>")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert f"{SCORES['worse'].mean():.4f} ±" in html


def test_strips_without_a_test_have_their_means_alone():
    panel = Figure().subplots()
    used = draw_strips(panel, {"br": np.array([1.0, 2.0, np.nan]), "none": np.array([])})
    assert list(used) == ["one fold", "mean"]
    assert used["mean"].get_xdata()[0] == 1.5
    assert [text.get_text() for text in panel.texts] == ["no scores"]


names = st.text("abcdef", min_size=1, max_size=20)


@settings(max_examples=15)
@given(st.dictionaries(names, st.floats(1, 6), min_size=2, max_size=6), st.floats(0, 6))
def test_ranks_are_where_the_figures_are(ranks, difference):
    panel = Figure().subplots()
    draw_ranks(panel, ranks, difference)
    order = sorted(ranks, key=ranks.__getitem__)
    labels = [label.get_text() for label in panel.get_yticklabels()]
    assert labels == [f"{name}  {ranks[name]:.2f}" for name in order]
    dots = [line.get_xdata()[0] for line in panel.lines if line.get_marker() == "o"]
    assert dots == [ranks[name] for name in order]
    bars = [sorted(line.get_xdata()) for line in panel.lines if line.get_linewidth() == 4]
    groups = indistinguishable_groups(ranks, difference)
    assert bars == [[ranks[group[0]], ranks[group[-1]]] for group in groups]
    (ruler,) = (line for line in panel.lines if line.get_marker() == "|")
    start, end = ruler.get_xdata()
    high = max(2, len(ranks), np.ceil(max(ranks.values())))
    assert (start, end) == (1, min(1 + difference, high))
    assert panel.get_xlim()[1] == high


@given(st.dictionaries(names, st.floats(1, 6), max_size=6), st.floats(0, 6))
def test_two_methods_share_a_bar_if_and_only_if_they_do_not_differ(ranks, difference):
    groups = indistinguishable_groups(ranks, difference)
    for one, other in combinations(ranks, 2):
        shared = any(one in group and other in group for group in groups)
        assert shared == (abs(ranks[one] - ranks[other]) < difference)
    # No bar is part of another.
    assert not any(set(a) <= set(b) for a in groups for b in groups if a is not b)
