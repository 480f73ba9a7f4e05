"""What is drawn is what was computed, names are drawn letter by letter, and bad input is named."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import (
    ClassifierChain,
    MixtureSettings,
    Structure,
    TreeMixture,
    TreeNetwork,
    explain_label,
    explain_set,
    plots,
)
from labelweave.data import load
from labelweave.evaluation import LabelDependence, chow_liu, conditional_matrix
from labelweave.evaluation.dependence import mean_conditional_matrix
from labelweave.inference import Gibbs
from labelweave.joint import IndependentJoint, ListedJoint
from labelweave.metrics import reliability_curve
from labelweave.models.predictions import predict_joint
from labelweave.plots.canvas import shortened
from tests.plots.samples import DRAWN, NAMES, drawn, labels, long_chain, tree_joint

PENALTIES = {"C": 0.01, "label_penalty": 0.03}


@pytest.fixture(scope="module")
def emotions():
    return load("emotions").published_split()


@pytest.fixture(scope="module")
def tree(emotions):
    train, _ = emotions
    frame = pd.DataFrame(train.Y, columns=train.label_names)
    return make_pipeline(StandardScaler(), TreeNetwork(**PENALTIES)).fit(train.X, frame)


def texts(artists):
    return tuple(drawn(artist.get_text()) for artist in artists)


# ---------------------------------------------------------------------- dependence


def test_dependence_draws_the_learned_trees_or_the_forest_of_labels(emotions, tree):
    display = plots.DependenceDisplay.from_estimator(tree)
    assert set(texts(display.ax_.texts)) == set(emotions[0].label_names)
    assert display.structures == [tree[-1].structure_]
    Y = labels()
    display = plots.DependenceDisplay.from_labels(pd.DataFrame(Y, columns=NAMES))
    assert texts(display.ax_.texts) == DRAWN
    np.testing.assert_array_equal(display.structures[0].parents, chow_liu(Y).parents)
    assert len(display.ax_.lines) == len(display.structures[0].edges)


def test_dependence_says_what_colours_and_dashes_mean():
    forest = Structure(np.array([-1, 0, 0]), couplings=np.array([0.0, 1.5, -1.5]))
    display = plots.DependenceDisplay([forest, forest]).plot()
    more, less = display.ax_.lines
    legend = display.axes_[-1].get_legend()
    assert display.ax_.get_legend() is None  # one for all panels
    assert texts(legend.get_texts()) == ("more likely together", "less likely together")
    for key, line in zip(legend.get_lines(), (more, less), strict=True):
        assert key.get_color() == line.get_color()
        assert key.is_dashed() == line.is_dashed() == (line is less)
    assert more.get_color() != less.get_color()
    unknown = plots.DependenceDisplay(Structure(np.array([-1, 0]))).plot()
    assert unknown.ax_.get_legend() is None


def test_dependence_of_a_mixture_has_a_panel_for_each_component(emotions):
    train, _ = emotions
    model = TreeMixture(n_components=2, **PENALTIES).fit(train.X[:150], train.Y[:150])
    display = plots.DependenceDisplay.from_estimator(model)
    assert [ax.get_title("left") for ax in display.axes_] == ["tree 1 of 2", "tree 2 of 2"]
    second = plots.DependenceDisplay.from_estimator(model, components=[1], label_names="abcdef")
    assert second.axes_[0].get_title("left") == "tree 2 of 2"
    assert set(texts(second.ax_.texts)) == set("abcdef")
    convergence = plots.ConvergenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(convergence.ax_.lines[0].get_ydata(), model.objectives_)
    with pytest.raises(ValueError, match="n_components='auto'"):
        plots.ConvergenceDisplay.from_estimator(model, of="components")
    with pytest.raises(ValueError, match="components must be a whole number from 0 to 1; got 2"):
        plots.DependenceDisplay.from_estimator(model, components=[2])


def test_dependence_under_a_joint_draws_the_strongest_pairs(emotions, tree):
    _, test = emotions
    display = plots.DependenceDisplay.from_estimator(tree, test.X, max_edges=2)
    joint = predict_joint(tree, test.X)
    frame = LabelDependence.from_joint(joint).to_frame(2)
    assert set(texts(display.ax_.texts)) == {*frame.label, *frame.other_label}
    assert len(display.ax_.lines) == 2
    row = plots.DependenceDisplay.from_joint(tree_joint(), row=3)
    assert row.ax_.get_title("left") == "given x: row 3"
    np.testing.assert_array_equal(
        row.structures[0].parents, LabelDependence.from_joint(tree_joint(), row=3).forest().parents
    )
    apart = plots.DependenceDisplay.from_joint(IndependentJoint(np.zeros((1, 3))))
    assert (len(apart.ax_.lines), len(apart.ax_.texts)) == (0, 3)


# ---------------------------------------------------------------------- explanations


def test_explanations_are_drawn_as_they_add_up(emotions, tree):
    _, test = emotions
    named = {"feature_names": test.feature_names}
    display = plots.ExplanationDisplay.from_estimator(tree, test.X, row=3, max_terms=5, **named)
    bars = [bar.get_width() for bar in display.ax_.patches]
    found = explain_set(tree, test.X[3:4])
    assert len(bars) == 7
    assert sum(bars) == pytest.approx(found.log_ratio[0])
    assert display.ax_.get_title("left").startswith("row 3: ")
    ticks = texts(display.ax_.get_yticklabels())
    assert ticks[0] == "base value"
    assert ticks[-1].endswith(" others")
    found = explain_label(tree, test.X[:4], 2)
    display = plots.ExplanationDisplay.from_explanation(found, row=1)
    np.testing.assert_array_equal(display.table_.contribution, found.to_frame(1, 20).contribution)
    with pytest.raises(ValueError, match="row must be a whole number from 0 to 3; got 4"):
        plots.ExplanationDisplay(found, row=4)
    with pytest.raises(ValueError, match="given needs a label"):
        plots.ExplanationDisplay.from_estimator(tree, test.X, given={0: 1})


# ---------------------------------------------------------------------- marginals


def test_marginals_are_those_of_the_row():
    joint = tree_joint()
    truth = np.array([1, 0, 1, 0, 0])
    display = plots.MarginalsDisplay.from_joint(joint, row=7, truth=truth)
    expected = joint.marginals()[7]
    order = np.argsort(-expected)
    np.testing.assert_array_equal(display.shown_, order)
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, expected[order])
    assert texts(display.ax_.get_yticklabels()) == tuple(DRAWN[k] for k in order)
    fill = display.ax_.collections[-1].get_facecolor()
    assert [to_hex(c) != "#ffffff" for c in fill] == list(truth[order] == 1)


def test_marginals_given_evidence_show_what_they_were_before():
    joint = tree_joint()
    display = plots.MarginalsDisplay.from_joint(joint, row=3, evidence={"<b>": 0, 4: 1})
    after = joint[3].condition({1: 0, 4: 1}).marginals()[0]
    widths = [bar.get_width() for bar in display.ax_.patches]
    np.testing.assert_allclose(widths, after[display.shown_])
    (before,) = display.ax_.collections
    np.testing.assert_allclose(
        [path[0, 0] for path in before.get_segments()], joint.marginals()[3, display.shown_]
    )
    assert display.ax_.get_xlabel() == "P(label | x, evidence)"
    greys = {to_hex(bar.get_facecolor()) for bar in display.ax_.patches}
    assert len(greys) == 2


def test_sampled_marginals_have_error_bars_within_0_and_1():
    joint = long_chain()
    display = plots.MarginalsDisplay.from_joint(joint, row=1, max_labels=20)
    estimate = joint[1].estimate("marginals")
    (bars,) = display.ax_.collections
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    value, error = (part[0][display.shown_] for part in (estimate.value, estimate.standard_error))
    np.testing.assert_allclose(ends[:, 0], np.maximum(value - 2 * error, 0))
    np.testing.assert_allclose(ends[:, 1], np.minimum(value + 2 * error, 1))


def test_a_row_with_many_labels_shows_its_own_and_the_most_probable():
    joint = long_chain()
    truth = np.zeros(20)
    rarest = int(np.argmin(joint.marginals()[0]))
    truth[rarest] = 1
    display = plots.MarginalsDisplay.from_joint(joint, truth=truth, max_labels=4)
    assert rarest in display.shown_
    assert "16 labels not shown" in display.ax_.get_title("left")


def test_marginals_of_a_pipeline_name_the_labels(emotions, tree):
    _, test = emotions
    display = plots.MarginalsDisplay.from_estimator(tree, test.X, test.Y, row=3)
    assert set(texts(display.ax_.get_yticklabels())) == set(test.label_names)
    np.testing.assert_allclose(display.marginals, tree.predict_proba(test.X[3:4])[0])


# ---------------------------------------------------------------------- conditional matrix


def test_the_conditional_matrix_is_drawn_without_its_diagonal():
    Y = labels()
    display = plots.ConditionalMatrixDisplay.from_labels(Y, label_names=NAMES)
    cells = display.image_.get_array()
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(cells.mask, ~off)
    np.testing.assert_allclose(cells.data[off], conditional_matrix(Y)[off])
    assert texts(display.ax_.get_xticklabels()) == DRAWN
    written = [float(text.get_text()) for text in display.ax_.texts]
    np.testing.assert_allclose(written, conditional_matrix(Y)[off], atol=0.0051)


def test_the_conditional_matrix_of_a_joint_is_averaged_and_labels_can_be_chosen():
    joint = tree_joint()
    display = plots.ConditionalMatrixDisplay.from_joint(joint, labels=["plain", 0])
    cells = display.image_.get_array()
    assert cells[0, 1] == pytest.approx(mean_conditional_matrix(joint)[4, 0])
    assert texts(display.ax_.get_xticklabels()) == ("plain", "$x_1$")
    many = plots.ConditionalMatrixDisplay.from_labels(labels(), max_labels=2)
    np.testing.assert_array_equal(
        many.shown_, np.sort(np.argsort(-labels().mean(axis=0), kind="stable")[:2])
    )


# ---------------------------------------------------------------------- dependence matrix


@pytest.mark.parametrize("row", [None, 3])
def test_the_dependence_matrix_shows_what_was_measured(row):
    joint = tree_joint()
    found = LabelDependence.from_joint(joint, row=row)
    off = ~np.eye(5, dtype=bool)
    for of in ("mutual_information", "log_odds_ratio"):
        display = plots.DependenceMatrixDisplay.from_joint(joint, of=of, row=row)
        assert sorted(display.shown_) == list(range(5))
        cells = display.image_.get_array()
        expected = getattr(found, of)[np.ix_(display.shown_, display.shown_)]
        np.testing.assert_allclose(cells.data[off], expected[off])
        np.testing.assert_array_equal(cells.mask, ~off)
        assert texts(display.ax_.get_xticklabels()) == tuple(DRAWN[k] for k in display.shown_)
        written = [float(text.get_text().replace("−", "-")) for text in display.ax_.texts]
        np.testing.assert_allclose(written, expected[off], atol=0.051)
    low, high = display.image_.get_clim()
    assert low == -high  # no dependence is the colour in the middle


def test_labels_of_the_dependence_matrix_are_those_of_the_strongest_pairs(emotions, tree):
    _, test = emotions
    strongest = LabelDependence.from_joint(predict_joint(tree, test.X)).to_frame(1)
    display = plots.DependenceMatrixDisplay.from_estimator(tree, test.X, max_labels=2)
    names = {*strongest.label, *strongest.other_label}
    assert set(texts(display.ax_.get_xticklabels())) == names
    chosen = plots.DependenceMatrixDisplay.from_joint(tree_joint(), labels=["plain", 0, 2])
    np.testing.assert_array_equal(chosen.shown_, [4, 0, 2])
    # A hidden cause pairs 0 with 3 and 1 with 2: each stands beside its own.
    pairs = np.array([[0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 1, 1]])
    joint = ListedJoint(pairs, np.log([[0.4, 0.2, 0.1, 0.3]]))
    order = list(plots.DependenceMatrixDisplay.from_joint(joint).shown_)
    assert abs(order.index(0) - order.index(3)) == abs(order.index(1) - order.index(2)) == 1


def test_labels_that_exclude_each_other_are_drawn_at_the_end_of_the_colours():
    joint = ListedJoint([[1, 0, 0], [0, 1, 1], [0, 1, 0]], np.log([[0.5, 0.3, 0.2]]))
    display = plots.DependenceMatrixDisplay.from_joint(joint, of="log_odds_ratio", labels=[0, 1])
    assert texts(display.ax_.texts) == ("−∞", "−∞")
    assert np.isfinite(display.image_.get_clim()).all()
    assert (display.image_.get_array()[[0, 1], [1, 0]] < display.image_.get_clim()[0]).all()


# ---------------------------------------------------------------------- reliability


def assert_shows(panel, curve):
    np.testing.assert_allclose(panel.collections[1].get_offsets(), np.c_[curve.p, curve.rate])
    segments = np.array([segment[:, 1] for segment in panel.collections[0].get_segments()])
    np.testing.assert_allclose(segments, np.c_[curve.low, curve.high])


def test_reliability_pooled_and_of_each_label():
    joint, Y = tree_joint(), labels(40)
    scores = joint.marginals()
    pooled = plots.ReliabilityDisplay.from_predictions(scores, Y, n_bins=4)
    assert_shows(pooled.ax_, reliability_curve(scores, Y, 4))
    each = plots.ReliabilityDisplay.from_predictions(scores, Y, of="labels", label_names=NAMES)
    assert [drawn(ax.get_title("left")).partition("\n")[0] for ax in each.axes_] == list(DRAWN)
    for j, panel in enumerate(each.axes_):
        assert_shows(panel, reliability_curve(scores[:, j], Y[:, j]))


def test_reliability_of_the_joint_asks_whether_whole_vectors_are_right(emotions, tree):
    _, test = emotions
    display = plots.ReliabilityDisplay.from_estimator(tree, test.X, test.Y, of="joint", n_bins=5)
    mode = tree[-1].predict_joint(tree[:-1].transform(test.X)).mode()
    right = (mode.labels == test.Y).all(axis=1)
    assert_shows(display.ax_, reliability_curve(np.exp(mode.log_prob), right, 5))


def test_reliability_of_a_perfect_joint_is_on_the_diagonal():
    joint = tree_joint(1)[np.zeros(4000, dtype=int)]
    truth = joint[:1].sample(4000, 3)[0]
    display = plots.ReliabilityDisplay.from_joint(joint, truth)
    (curve,) = display.curves.values()
    assert ((curve.low <= curve.p) & (curve.p <= curve.high)).all()


# ---------------------------------------------------------------------- convergence


def test_convergence_draws_the_traces_and_their_limit():
    joint = long_chain()
    samplers = {"$a$": Gibbs(sweeps=5), "random": Gibbs(sweeps=8, start="random")}
    mode = joint.mode()
    display = plots.ConvergenceDisplay.from_joint(joint, samplers, mode=mode)
    first, second, limit = display.ax_.lines
    np.testing.assert_allclose(first.get_ydata(), np.exp(samplers["$a$"].trace(joint)).mean(axis=0))
    assert len(second.get_ydata()) == 9
    assert limit.get_ydata()[0] == pytest.approx(np.exp(mode.upper_bound).mean())
    assert texts(display.ax_.get_legend().texts)[:2] == ("$a$", "random")


def test_convergence_over_components_draws_the_history(emotions):
    train, _ = emotions
    model = TreeMixture(settings=MixtureSettings(max_components=2), **PENALTIES).fit(
        train.X[:100], train.Y[:100]
    )
    display = plots.ConvergenceDisplay.from_estimator(model, of="components")
    _, held_out, chosen = display.ax_.lines
    expected = [step.validation for step in model.history_]
    np.testing.assert_array_equal(held_out.get_ydata(), expected)
    assert chosen.get_xdata()[0] == model.n_components_


# ---------------------------------------------------------------------- in common


def test_long_names_are_cut_in_their_middle():
    assert shortened("pcc(C=1, label_penalty=0.01)", 13) == "pcc(C=…=0.01)"
    assert shortened("short", 5) == "short"


def test_given_axes_are_drawn_into_and_kept():
    ax = Figure().subplots()
    display = plots.ReliabilityDisplay.from_predictions([[0.2], [0.7]], [[0], [1]], ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    again = display.plot()
    assert again is display
    assert display.ax_ is not ax


def test_bad_input_is_named(emotions):
    train, test = emotions
    with pytest.raises(ValueError, match="ax must be one Axes; got 2"):
        plots.ReliabilityDisplay.from_predictions([[0.2]], [[0]], ax=Figure().subplots(1, 2))
    with pytest.raises(ValueError, match="Y must only contain values in"):
        plots.ConditionalMatrixDisplay.from_labels([[2]])
    with pytest.raises(ValueError, match="Y must have one row per instance"):
        plots.DependenceDisplay.from_labels([0, 1])
    with pytest.raises(ValueError, match="label_names must name 5 labels; it has 1"):
        plots.DependenceDisplay.from_labels(labels(), label_names=["a"])
    with pytest.raises(ValueError, match="label_names has 'a' twice"):
        plots.DependenceDisplay.from_labels(labels(), label_names=list("abcda"))
    with pytest.raises(ValueError, match="unknown label 'c'"):
        plots.ConditionalMatrixDisplay.from_labels(labels(), labels=["c"])
    with pytest.raises(ValueError, match="row must be a whole number from 0 to 39; got 40"):
        plots.MarginalsDisplay.from_joint(tree_joint(), row=40)
    with pytest.raises(ValueError, match="truth must have one entry for each of the 5 labels"):
        plots.MarginalsDisplay.from_joint(tree_joint(), truth=[1])
    with pytest.raises(ValueError, match="same shape"):
        plots.ReliabilityDisplay.from_predictions([[0.5]], [[0, 1]])
    prior = DummyClassifier().fit(train.X, train.Y)
    with pytest.raises(ValueError, match="model must have predict_joint; DummyClassifier"):
        plots.ReliabilityDisplay.from_estimator(prior, test.X, test.Y, of="joint")
    with pytest.raises(ValueError, match="TreeNetwork, TreeMixture or TreeEnsemble"):
        plots.DependenceDisplay.from_estimator(prior)
    with pytest.raises(ValueError, match="row needs X"):
        plots.DependenceDisplay.from_estimator(prior, row=0)
    with pytest.raises(ValueError, match="model must have predict_joint; DummyClassifier"):
        plots.DependenceDisplay.from_estimator(prior, test.X)
    with pytest.raises(ValueError, match="of must be 'mutual_information' or 'log_odds_ratio'"):
        plots.DependenceMatrixDisplay.from_joint(tree_joint(), of="odds")
    with pytest.raises(ValueError, match="TreeMixture or ChainMixture; got ClassifierChain"):
        plots.ConvergenceDisplay.from_estimator(ClassifierChain())
    with pytest.raises(ValueError, match="mode must have one vector for each of the 40 rows"):
        plots.ConvergenceDisplay.from_joint(tree_joint(), mode=tree_joint(2).mode())


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.DependenceDisplay(Structure(np.array([-1, 0]))).plot(),
        lambda: plots.DependenceMatrixDisplay.from_joint(tree_joint()),
        lambda: plots.ReliabilityDisplay.from_predictions([[0.2]], [[0]]),
        lambda: plots.ConvergenceDisplay.from_joint(tree_joint(), Gibbs(sweeps=1)),
    ],
)
def test_without_matplotlib_the_extra_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"Display needs matplotlib: .*labelweave\[plot\]"):
        draw()


def test_labels_that_do_not_depend_have_a_blank_heat_map() -> None:
    joint = IndependentJoint(np.random.default_rng(0).normal(size=(20, 4)))
    for of in ("mutual_information", "log_odds_ratio"):
        display = plots.DependenceMatrixDisplay.from_joint(joint, of=of)
        image = display.ax_.get_images()[0]
        assert image.norm.vmax == 1.0
