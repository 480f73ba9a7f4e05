"""Folds, means and verdicts of a comparison as they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from labelweave.evaluation.results import Comparison, DataSummary, FoldResult
from labelweave.plots import ComparisonDisplay
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
