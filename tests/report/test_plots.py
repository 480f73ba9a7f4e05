"""What the pictures show."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from labelweave.decision import F1Statistics
from labelweave.report import plot_expected_f1
from labelweave.report.plots import true_f1


def example(L=6, n=200):
    rng = np.random.default_rng(0)
    scores = rng.beta(1, np.linspace(1, 8, L), size=(n, L))
    Y, *drawn = (rng.uniform(size=(n, L)) < scores for _ in range(6))
    counts = F1Statistics(L)
    counts.update(scores, np.array(drawn))
    return counts, scores, Y.astype(int)


def test_the_true_curve_is_scikit_learns():
    counts, scores, Y = example()
    curves = true_f1(scores, Y, counts.grid)
    for label, g in np.ndindex(*curves.shape):
        expected = f1_score(Y[:, label], scores[:, label] > counts.grid[g], zero_division=1.0)
        assert curves[label, g] == pytest.approx(expected)


def test_a_panel_a_label_with_both_curves(tmp_path):
    counts, scores, Y = example()
    figure = plot_expected_f1(counts, scores, Y, labels=[5, 0, 1, 2, 3], label_names=list("abcdef"))
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles[0] == f"f: {Y[:, 5].sum()} of 200 rows"
    assert len(titles) == 5
    blue, red, chosen = figure.axes[1].lines
    np.testing.assert_array_equal(blue.get_ydata(), counts.expected_f1()[0])
    np.testing.assert_array_equal(red.get_ydata(), true_f1(scores, Y, counts.grid)[0])
    assert chosen.get_xdata()[0] == counts.thresholds()[0]
    figure.savefig(tmp_path / "curves.png")


def test_by_default_labels_from_frequent_to_rare():
    counts, scores, Y = example()
    Y[:, 5] = 0  # does not occur: nothing to see
    figure = plot_expected_f1(counts, scores, Y)
    shown = [int(axes.get_title().split(":")[1].split()[0]) for axes in figure.axes]
    assert len(shown) == 4
    assert shown == sorted(shown, reverse=True)
    assert min(shown) > 0


def test_shapes_must_agree():
    counts, scores, Y = example()
    with pytest.raises(ValueError, match="6 labels of statistics"):
        plot_expected_f1(counts, scores[:, :5], Y[:, :5])
