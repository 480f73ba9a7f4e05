"""Expected and true F1 over thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from labelweave.decision.expected import F1Statistics
from labelweave.metrics import f1_by_threshold
from labelweave.plots import ExpectedF1Display


def example(L=6, n=200):
    rng = np.random.default_rng(0)
    scores = rng.beta(1, np.linspace(1, 8, L), size=(n, L))
    Y, *drawn = (rng.uniform(size=(n, L)) < scores for _ in range(6))
    counts = F1Statistics(L)
    counts.update(scores, np.array(drawn))
    return counts, scores, Y.astype(int)


def test_the_true_curve_is_scikit_learns():
    counts, scores, Y = example()
    curves = f1_by_threshold(scores, Y, counts.grid)
    for label, g in np.ndindex(*curves.shape):
        expected = f1_score(Y[:, label], scores[:, label] > counts.grid[g], zero_division=1.0)
        assert curves[label, g] == pytest.approx(expected)


def test_a_panel_a_label_with_both_curves():
    counts, scores, Y = example()
    display = ExpectedF1Display.from_predictions(
        counts, scores, Y, labels=[5, 0, 1, "d", 4], label_names=["a", "b", "c", "d", "e", "$f$"]
    )
    assert len(display.axes_) == 5
    assert display.ax_.get_title() == rf"\$f\$: {Y[:, 5].sum()} of 200 rows"
    expected, true, chosen = display.axes_[1].lines
    np.testing.assert_array_equal(expected.get_ydata(), counts.expected_f1()[0])
    np.testing.assert_array_equal(true.get_ydata(), f1_by_threshold(scores, Y, counts.grid)[0])
    assert chosen.get_xdata()[0] == counts.thresholds()[0]


def test_by_default_labels_from_frequent_to_rare():
    counts, scores, Y = example()
    Y[:, 5] = 0  # does not occur: nothing to see
    display = ExpectedF1Display.from_predictions(counts, scores, Y)
    shown = [int(axes.get_title().split(":")[1].split()[0]) for axes in display.axes_]
    assert len(shown) == 4
    assert shown == sorted(shown, reverse=True)
    assert min(shown) > 0


def test_shapes_must_agree():
    counts, scores, Y = example()
    with pytest.raises(ValueError, match="6 labels of statistics"):
        ExpectedF1Display.from_predictions(counts, scores[:, :5], Y[:, :5])
