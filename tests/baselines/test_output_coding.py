"""Output codes: the programmes over the box, the metric, and labels decoded from codes."""

import itertools

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from labelweave.baselines import MaxMarginOutputCoding
from labelweave.baselines._box_qp import solve_boxes
from labelweave.baselines._max_margin_metric import MarginRisk, learn_metric, nearest_metric
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


def toy_risk(n=40, L=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, (n, L)).astype(float)
    labels[:, 1] = labels[:, 0]
    return MarginRisk(labels, labels + rng.normal(scale=0.3, size=(n, L)), np.full(n, 1 / n))


def exact_risk(risk, Q):
    """Mean violation over the corners of the box only: never above the relaxation."""
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=risk.labels.shape[1])))
    total = 0.0
    for y, predicted, weight in zip(risk.labels, risk.predicted, risk.weight, strict=True):
        own = (y - predicted) @ Q @ (y - predicted)
        gaps = [np.abs(y - t).sum() + own - (t - predicted) @ Q @ (t - predicted) for t in corners]
        total += weight * max(gaps)
    return total


def test_planes_lie_below_the_risk_and_touch_it():
    risk = toy_risk()
    rng = np.random.default_rng(1)
    metrics = [nearest_metric(rng.normal(size=(3, 3))) + 0.1 * np.eye(3) for _ in range(6)]
    planes = [risk.plane(risk.violators(Q)) for Q in metrics]
    values = [a + (G * Q).sum() for Q, (a, G) in zip(metrics, planes, strict=True)]
    for Q, value in zip(metrics, values, strict=True):
        assert value >= exact_risk(risk, Q) - 1e-3
        for a, G in planes:
            assert a + (G * Q).sum() <= value + 1e-3


def test_the_metric_is_as_good_as_one_found_without_planes():
    """Against a random search around the answer and some common metrics."""
    risk = toy_risk()

    def objective(Q):
        a, G = risk.plane(risk.violators(Q))
        return np.trace(Q) / 2 + 30 * (a + (G * Q).sum())

    Q = learn_metric(risk, 30.0)
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
    everything = MaxMarginOutputCoding(C=1.0, ridge=1.0).fit(X, Y).codes_
    two = MaxMarginOutputCoding(C=1.0, ridge=1.0, n_codes=2).fit(X, Y).codes_
    np.testing.assert_array_equal(two, everything[:, :2])
    lengths = np.linalg.norm(everything, axis=0)
    assert (np.diff(lengths) <= 1e-12).all()


def test_decoding_weight_weighs_the_classifiers():
    X, Y = sample()
    codes = MaxMarginOutputCoding(C=1.0, ridge=1.0, decoding_weight=0.0).fit(X, Y)
    labels = MaxMarginOutputCoding(C=1.0, ridge=1.0, decoding_weight=1e6).fit(X, Y)
    np.testing.assert_array_equal(labels.predict(X), labels.classifiers_.scores(X) > 0)
    metric = codes.codes_ @ codes.codes_.T
    nearest = solve_boxes(metric, codes.regressions_.scores(X) @ metric) > 0.5
    np.testing.assert_array_equal(codes.predict(X), nearest)


def test_it_has_no_probabilities():
    X, Y = sample()
    model = MaxMarginOutputCoding(C=1.0, ridge=1.0).fit(X, Y)
    for name in ("predict_proba", "predict_joint"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match="MaxMarginOutputCoding has no probabilities"):
            getattr(model, name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin_weight": -1}, "margin_weight must be"),
        ({"decoding_weight": np.inf}, "decoding_weight must be"),
        ({"n_codes": 0}, "n_codes must be"),
        ({"ridge": "much"}, "ridge must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        MaxMarginOutputCoding(**options).fit(*sample())
