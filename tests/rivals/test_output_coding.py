"""Output codes: the programmes over the box, the metric, and labels decoded from codes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear
from sklearn.preprocessing import scale

from labelweave import MaxMarginOutputCoding
from labelweave.data import load
from labelweave.models.rivals.output_coding import (
    Codes,
    MarginRisk,
    PredictedRows,
    choose_margin_weight,
    decode,
    descend,
    flip_costs,
    learn_metrics,
    nearest_metric,
    solve_boxes,
)
from tests.contract.samples import sample


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_boxes_against_scipy(rank):
    rng = np.random.default_rng(rank)
    V = rng.normal(size=(6, rank))
    Q = V @ V.T + 0.01 * np.eye(6)
    linear = rng.normal(size=(12, 6)) * 2
    found = solve_boxes(Q, linear)
    root = np.linalg.cholesky(Q).T
    for row, y in zip(linear, found, strict=True):
        best = lsq_linear(root, np.linalg.solve(root.T, row), (0, 1), tol=1e-14).x
        np.testing.assert_allclose(y, best, atol=1e-5)
    np.testing.assert_array_equal(solve_boxes(Q, linear[3:4])[0], found[3])


def test_boxes_without_curvature_go_to_a_corner():
    np.testing.assert_array_equal(
        solve_boxes(np.zeros((3, 3)), np.array([[1.0, -1.0, 0.0]])), [[1.0, 0.0, 0.5]]
    )


def costs_of(Q, linear, vectors):
    return np.einsum("ij,jk,ik->i", vectors, Q, vectors) - 2 * linear @ vectors.T


def corners(L):
    return np.array(list(itertools.product((0.0, 1.0), repeat=L)))


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_no_label_vector_within_two_flips_is_better(L, seed):
    rng = np.random.default_rng(seed)
    Q = nearest_metric(rng.normal(size=(L, L)))
    linear, start = rng.normal(size=(5, L)), rng.integers(0, 2, (5, L)).astype(float)
    found = descend(Q, linear, start)
    everything = corners(L)
    costs = costs_of(Q, linear, everything)
    for row, y in enumerate(found):
        here = np.flatnonzero((everything == y).all(axis=1))
        near = np.abs(everything - y).sum(axis=1) <= 2
        assert costs[row, near].min() >= costs[row, here[0]] - 1e-9
        np.testing.assert_array_equal(descend(Q, linear[row : row + 1], start[row : row + 1])[0], y)


@pytest.mark.parametrize("scale_of", [1e-200, 1e-9, 1.0, 1e9, 1e200])
def test_ties_and_numbers_of_any_size_end_the_search(scale_of):
    """Flips that cost nothing but rounding must not be made: others would undo them for ever."""
    Q = scale_of * np.ones((6, 6))
    linear = scale_of * np.repeat([[0.5], [2.5], [0.1 * 3], [1 / 3]], 6, axis=1)
    found = descend(Q, linear, np.zeros((4, 6)))
    expected = np.clip(np.round(linear[:, 0] / scale_of - 1e-3), 0, 6)
    np.testing.assert_array_equal(found.sum(axis=1), expected)


def test_the_cost_of_a_flip():
    rng = np.random.default_rng(3)
    Q, linear = nearest_metric(rng.normal(size=(4, 4))), rng.normal(size=(1, 4))
    y = np.array([[1.0, 0.0, 0.0, 1.0]])
    flipped = np.abs(y - np.eye(4))
    expected = costs_of(Q, linear, flipped) - costs_of(Q, linear, y)
    np.testing.assert_allclose(flip_costs(Q, linear, y), expected)


@pytest.mark.parametrize("seed", range(4))
def test_decoding_against_enumeration(seed):
    """Flips after rounding find most minima of random programmes; rounding alone does not."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(7, 7))
    truth = rng.integers(0, 2, (400, 7))
    Q = V @ V.T
    linear = (truth + rng.normal(scale=0.5, size=truth.shape)) @ Q
    everything = corners(7)
    least = costs_of(Q, linear, everything).min(axis=1)

    def is_least(vectors):
        own = [costs_of(Q, c[None], y[None])[0, 0] for c, y in zip(linear, vectors, strict=True)]
        return np.isclose(own, least)

    rounded = (solve_boxes(Q, linear) > 0.5).astype(float)
    found = is_least(decode(Q, linear)).mean()
    assert found > 0.93
    assert found > is_least(rounded).mean() + 0.2


def toy_risk(n=40, L=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (n, L)).astype(float)
    labels[:, 1] = labels[:, 0]
    return MarginRisk(labels, labels + rng.normal(scale=0.3, size=(n, L)), np.full(n, 1 / n))


def exact_risk(risk, Q):
    """Mean violation, by enumeration."""
    total = 0.0
    for y, predicted, weight in zip(risk.labels, risk.predicted, risk.weight, strict=True):
        own = (y - predicted) @ Q @ (y - predicted)
        gaps = [
            np.abs(y - t).sum() + own - (t - predicted) @ Q @ (t - predicted)
            for t in corners(len(y))
        ]
        total += weight * max(gaps)
    return total


def test_planes_lie_below_the_risk_and_touch_it():
    risk = toy_risk()
    rng = np.random.default_rng(1)
    metrics = [nearest_metric(rng.normal(size=(3, 3))) + 0.1 * np.eye(3) for _ in range(6)]
    planes = [risk.plane(risk.violators(Q)) for Q in metrics]
    for Q, (own_a, own_G) in zip(metrics, planes, strict=True):
        value = exact_risk(risk, Q)
        assert own_a + (own_G * Q).sum() == pytest.approx(value, rel=0.02)  # the search is local
        for a, G in planes:
            assert a + (G * Q).sum() <= value + 1e-9


@pytest.mark.parametrize("path", [(30.0,), (1.0, 3.0, 30.0)])
def test_the_metric_is_as_good_as_one_found_without_planes(path):
    """Against a random search around the answer and some common metrics."""
    risk = toy_risk()

    def objective(Q):
        return np.trace(Q) / 2 + 30 * exact_risk(risk, Q)

    *_, Q = learn_metrics(risk, path)
    assert np.linalg.eigvalsh(Q).min() >= -1e-9
    best = objective(Q)
    rng = np.random.default_rng(0)
    others = [scale * np.eye(3) for scale in (0.5, 1, 2, 4, 8)]
    others += [
        nearest_metric(Q + rng.normal(scale=s, size=(3, 3)))
        for s in (0.03, 0.3, 1)
        for _ in range(20)
    ]
    assert best <= min(objective(other) for other in others) * 1.01


def out_of_fold_rows(n=300, L=4, seed=0):
    """Rows where the sum of the first two labels is certain, though neither of them is."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (n, L)).astype(float)
    errors = rng.normal(scale=0.4, size=labels.shape)
    errors[:, 1] = -errors[:, 0]
    predicted = labels + errors
    return PredictedRows(labels, predicted, 4 * (predicted - 0.5), np.ones(n), np.arange(n) % 3)


def test_distances_are_in_units_of_the_errors():
    rows = out_of_fold_rows()
    metric = np.diag([4.0, 0.0, 1.0, 2.0])
    codes = Codes.of(metric, rows, None)
    np.testing.assert_allclose(np.abs(codes.projections), np.sqrt(metric)[:, [0, 3, 2]])
    errors = (rows.labels - rows.predicted) @ codes.projections
    np.testing.assert_allclose(codes.variances, (errors**2).mean(axis=0))
    expected = sum(
        np.outer(v, v) / (2 * s) for v, s in zip(codes.projections.T, codes.variances, strict=True)
    )
    np.testing.assert_allclose(codes.metric(), expected)


def test_a_code_that_is_never_wrong_is_not_trusted_without_bounds():
    rows = out_of_fold_rows()
    perfect = PredictedRows(rows.labels, rows.labels, rows.log_odds, rows.weight, rows.fold)
    assert np.isfinite(Codes.of(np.eye(4), perfect, None).metric()).all()


def test_the_weight_of_the_margin_is_chosen_by_rows_not_learned_from():
    rows = out_of_fold_rows()
    # With next to no weight there are no codes, and only codes know the sum of two labels.
    assert choose_margin_weight(rows, (1e-6, 30.0), None, 1.0) == 30.0
    assert choose_margin_weight(rows, (30.0, 1e-6), None, 1.0) == 30.0
    # Equals: the first.
    assert choose_margin_weight(rows, (1e-7, 1e-6), None, 1.0) == 1e-7


def test_rows_without_weight_have_no_say_in_the_weight_of_the_margin():
    rows = out_of_fold_rows()
    # As many rows again of which the regressions know nothing, but the classifiers do.
    both = PredictedRows(
        np.vstack([rows.labels, rows.labels]),
        np.vstack([rows.predicted, np.tile([3.0, -2.0, 3.0, -2.0], (300, 1))]),
        np.vstack([rows.log_odds, rows.labels - 0.5]),
        np.ones(600),
        np.tile(rows.fold, 2),
    )
    for first, second, chosen in ((1.0, 0.0, 30.0), (0.0, 1.0, 1e-6), (1.0, 1.0, 1e-6)):
        weighted = replace(both, weight=np.repeat([first, second], 300))
        assert choose_margin_weight(weighted, (30.0, 1e-6), None, 1.0) == chosen


def test_a_weight_of_nothing_leaves_no_codes():
    X, Y = sample()
    model = MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=0.0).fit(X, Y)
    assert np.abs(model.codes_).max(initial=0.0) < 1e-3
    # What is left are the labels' own classifiers.
    scores = model.classifiers_.scores(X)
    sure = np.abs(scores) > 1e-3
    np.testing.assert_array_equal(model.predict(X)[sure], (scores > 0)[sure])


def test_codes_are_the_strongest_and_as_many_as_asked():
    X, Y = sample()
    options = {"C": 1.0, "ridge": 1.0, "margin_weight": 30.0}
    everything = MaxMarginOutputCoding(**options).fit(X, Y).codes_
    two = MaxMarginOutputCoding(**options, n_codes=2).fit(X, Y).codes_
    np.testing.assert_array_equal(two, everything[:, :2])
    lengths = np.linalg.norm(everything, axis=0)
    assert (np.diff(lengths) <= 1e-12).all()


def test_decoding_weight_weighs_the_classifiers():
    X, Y = sample()
    options = {"C": 1.0, "ridge": 1.0, "margin_weight": 30.0}
    codes = MaxMarginOutputCoding(**options, decoding_weight=0.0).fit(X, Y)
    labels = MaxMarginOutputCoding(**options, decoding_weight=1e6).fit(X, Y)
    np.testing.assert_array_equal(labels.predict(X), labels.classifiers_.scores(X) > 0)
    metric = Codes(codes.codes_, codes.code_variances_).metric()
    nearest = decode(metric, codes.regressions_.scores(X) @ metric)
    np.testing.assert_array_equal(codes.predict(X), nearest)


def test_the_decision_function_is_the_cost_of_another_label():
    X, Y = sample()
    model = MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=30.0).fit(X, Y)
    labels, margins = model.predict(X), model.decision_function(X)
    np.testing.assert_array_equal(margins > 0, labels)
    metric, linear = model._decoding_cost(X)
    for row in range(3):
        flipped = np.abs(labels[row] - np.eye(labels.shape[1]))
        farther = costs_of(metric, linear[row : row + 1], flipped) - costs_of(
            metric, linear[row : row + 1], labels[row : row + 1].astype(float)
        )
        np.testing.assert_allclose(np.abs(margins[row]), farther[0], rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_dependent_labels_are_decoded_better_than_one_by_one():
    """Exact matches on held-out rows of emotions: well above the labels' own classifiers."""
    data = load("emotions")
    X = scale(data.X)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:400], rows[400:]
    model = MaxMarginOutputCoding().fit(X[train], data.Y[train])
    alone = model.classifiers_.scores(X[test]) > 0
    match = (model.predict(X[test]) == data.Y[test]).all(axis=1).mean()
    assert match > (alone == data.Y[test]).all(axis=1).mean() + 0.02


def test_it_has_no_probabilities():
    X, Y = sample()
    model = MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=30.0).fit(X, Y)
    for name in ("predict_proba", "predict_joint"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(model, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin_weight": -1}, "margin_weight must be"),
        ({"margin_weight": "some"}, "margin_weight must be 'cv' or a finite number of at least 0"),
        ({"decoding_weight": np.inf}, "decoding_weight must be"),
        ({"n_codes": 0}, "n_codes must be"),
        ({"ridge": "much"}, "ridge must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MaxMarginOutputCoding(**options).fit(*sample())
