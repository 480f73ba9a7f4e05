"""The EP update: against NumPy and integration, for any batches, threads, sizes and scales."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream, varied
from tests.reference.online import Reference

SETTINGS = {
    "coupled": ProbitModel(),
    "independent": ProbitModel.of(coupled=False),
    "plain margin": ProbitModel.of(skew_margin=False, margin=0.5, noise=0.1),
    "flips": ProbitModel.of(flip_probability=0.05),
    "independent flips": ProbitModel.of(coupled=False, flip_probability=0.05),
    "flips beyond a margin": ProbitModel.of(flip_probability=0.05, margin=0.3),
    "known ratios": ProbitModel.of(label_ratios=[0.02 * 1.01**label for label in range(400)]),
    "drift": ProbitModel.of(forgetting=0.01),
    "independent drift": ProbitModel.of(coupled=False, forgetting=0.01, prior_variance=0.5),
    "published": ProbitModel.of(
        noise=0.01,
        prior_variance=1.0,
        bias_variance=1e4,
        label_offset=0.0,
        scale_rows=False,
        calibrate=False,
    ),
    "vague": ProbitModel.of(prior_variance=100.0),
}
each = pytest.mark.parametrize("kind", SETTINGS)


def learned(X, Y, kind="coupled", n_threads=1):
    state = OnlineState(X.shape[1], Y.shape[1], model=SETTINGS[kind])
    state.update(X, Y, n_threads)
    return state


@each
@pytest.mark.parametrize("n", [250, pytest.param(2500, marks=pytest.mark.slow)])
def test_many_updates_agree_with_numpy(kind, n):
    X, Y = stream(n=n, n_features=40, n_labels=5, seed=3)
    state = learned(X, Y, kind)
    reference = Reference(40, 5, SETTINGS[kind])
    for x, y in zip(X.toarray(), Y, strict=True):
        reference.update(x, y)
    # Float32 keeps seven digits; roundings of thousands of updates add up to a few of the last.
    np.testing.assert_allclose(state.variance, reference.variance, rtol=2e-4)
    error = (state.mean - reference.mean) / np.sqrt(reference.variance)
    assert np.abs(error).max() < 2e-2
    assert np.sqrt((error**2).mean()) < 2e-3
    np.testing.assert_allclose(state.bias_mean, reference.bias.squeeze(), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(state.bias_variance, reference.bias_variance.squeeze(), rtol=1e-3)
    probability = reference.probabilities(X.toarray())
    np.testing.assert_allclose(state.noise_free(X).probabilities(), probability, atol=2e-3)


def posterior_on_grid(x, y, options, points=61):
    """Moments of the true posterior of two weights and the bias after one row, by summation."""
    w = np.linspace(-6, 6, points) * np.sqrt(options.prior_variance)
    b = np.linspace(-6, 6, 241) * np.sqrt(options.bias_variance)
    first, second, bias = np.meshgrid(w, w, b, indexing="ij")
    score = x[0] * first + x[1] * second
    sign = 1 if y == 1 else -1
    weight = norm.cdf((sign * (score - bias) - options.margin) / options.noise)
    weight *= norm.pdf(first, scale=np.sqrt(options.prior_variance))
    weight *= norm.pdf(second, scale=np.sqrt(options.prior_variance))
    weight *= norm.pdf(bias, scale=np.sqrt(options.bias_variance))
    weight /= weight.sum()
    means = [(weight * v).sum() for v in (first, second, bias)]
    return means, [
        (weight * (v - m) ** 2).sum() for v, m in zip((first, second, bias), means, strict=True)
    ]


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("y", [0, 1])
def test_one_label_and_one_row_give_the_moments_of_the_true_posterior(coupled, y):
    """With one label there is one truncation: no approximation but that moments are matched."""
    options = ProbitModel.of(
        coupled=coupled,
        skew_margin=False,
        noise=0.3,
        bias_variance=2.0,
        prior_variance=0.7,
        label_offset=0.0,
        scale_rows=False,
    )
    x = np.array([0.8, -1.3])
    state = OnlineState(2, 1, model=options)
    state.update(x[None], np.array([[y]], dtype=np.int8))
    means, variances = posterior_on_grid(x, y, options.settings)
    np.testing.assert_allclose(state.mean[:, 0], means[:2], atol=2e-4)
    np.testing.assert_allclose(state.variance[:, 0], variances[:2], atol=2e-4)
    assert float(np.squeeze(state.bias_mean)) == pytest.approx(means[2], abs=2e-4)
    assert float(np.squeeze(state.bias_variance)) == pytest.approx(variances[2], abs=2e-4)


def test_coupled_labels_come_close_to_the_true_posterior():
    """Three labels share the bias: EP is approximate, within 3 % of the true moments here.

    Given the bias, labels are independent, so the truth needs only sums over one-dimensional grids.
    """
    options = ProbitModel.of(
        skew_margin=False,
        noise=0.2,
        bias_variance=4.0,
        prior_variance=1.0,
        label_offset=0.0,
        scale_rows=False,
    )
    y, x = np.array([1, 0, 0]), 0.9
    state = OnlineState(1, 3, model=options)
    state.update(np.array([[x]]), y[None].astype(np.int8))
    b, w = np.linspace(-14, 14, 1401), np.linspace(-7, 7, 701)
    sign = np.where(y == 1, 1.0, -1.0)
    likelihood = norm.cdf(
        (sign[:, None, None] * (x * w[:, None] - b) - options.settings.margin)
        / options.settings.noise
    )
    prior = norm.pdf(w)[:, None]
    evidence = np.maximum((likelihood * prior).sum(axis=1), 1e-300)
    of_bias = norm.pdf(b, scale=2.0) * evidence.prod(axis=0)
    of_bias /= of_bias.sum()
    mean = (of_bias * b).sum()
    assert float(state.bias_mean) == pytest.approx(mean, abs=0.05)
    assert float(state.bias_variance) == pytest.approx((of_bias * (b - mean) ** 2).sum(), rel=0.03)
    first = (of_bias * (likelihood * prior * w[:, None]).sum(axis=1) / evidence).sum(axis=1)
    np.testing.assert_allclose(state.mean[0], first, atol=0.02)
    second = (of_bias * (likelihood * prior * w[:, None] ** 2).sum(axis=1) / evidence).sum(axis=1)
    np.testing.assert_allclose(state.variance[0], second - first**2, rtol=0.03)


@pytest.mark.parametrize("forgetting", [0.0, 0.01])
def test_offsets_are_the_weights_of_a_constant_column(forgetting):
    X, Y = stream(n=400)
    options = ProbitModel.of(label_offset=0.7, forgetting=forgetting, scale_rows=False)
    state = OnlineState(30, 5, model=options)
    state.update(X, Y)
    column = sp.csr_matrix(np.full((400, 1), 0.7))
    by_hand = OnlineState(31, 5, model=varied(options, label_offset=0.0))
    by_hand.update(sp.hstack([X, column]).tocsr(), Y)
    np.testing.assert_allclose(state.mean, by_hand.mean[:30], atol=1e-4)
    np.testing.assert_allclose(state.offset_mean, 0.7 * by_hand.mean[30], atol=1e-4)
    np.testing.assert_allclose(state.offset_variance, 0.49 * by_hand.variance[30], rtol=1e-3)
    assert not by_hand.offset_mean.any()
    with_column = sp.hstack([X, column]).tocsr()
    np.testing.assert_allclose(
        state.probabilities(X), by_hand.probabilities(with_column), atol=1e-4
    )


def test_labels_with_biases_of_their_own_have_no_offset():
    X, Y = stream()
    learned_with = [
        OnlineState(30, 5, model=ProbitModel.of(coupled=False, label_offset=offset))
        for offset in (0.0, 3.0)
    ]
    for state in learned_with:
        state.update(X, Y)
    np.testing.assert_array_equal(learned_with[0].mean, learned_with[1].mean)
    assert not learned_with[1].offset_variance.any()


@each
@pytest.mark.parametrize(
    ("n", "sizes"),
    [
        (60, [1]),
        pytest.param(160, [1], marks=pytest.mark.slow),
        (160, [7, 1, 100]),
        (160, [150]),
    ],
)
def test_batches_of_any_size_give_the_same_bits(kind, n, sizes):
    X, Y = stream(n=n)
    whole = learned(X, Y, kind)
    parts = OnlineState(X.shape[1], Y.shape[1], model=SETTINGS[kind])
    first = 0
    while first < X.shape[0]:
        size = sizes[first % len(sizes)]
        parts.update(X[first : first + size], Y[first : first + size])
        parts.probabilities(X[:3])  # being asked changes nothing
        first += size
    same(whole, parts)


@each
@pytest.mark.parametrize(
    "n_labels", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (16, 64, 150)), 65, 330]
)
def test_threads_give_the_same_bits(kind, n_labels):
    X, Y = stream(n=150, n_labels=n_labels)
    one = learned(X, Y, kind)
    same(one, learned(X, Y, kind, n_threads=2))
    same(one, learned(X, Y, kind, n_threads=5))
    np.testing.assert_array_equal(one.probabilities(X, 3), one.probabilities(X))


@each
def test_dense_and_sparse_rows_are_alike(kind):
    X, Y = stream()
    same(learned(X, Y, kind), learned(X.toarray(), Y, kind))
    with_zeros = X.copy()
    with_zeros.data[::3] = 0.0
    same(learned(with_zeros, Y, kind), learned(with_zeros.toarray(), Y, kind))


@each
def test_features_and_labels_that_come_later(kind):
    """As if they had been there: features without values, labels unknown."""
    X, Y = stream(n=120, n_features=60, n_labels=70)
    early = X.toarray()
    early[:60, 40:] = 0.0
    labels = Y.copy()
    labels[:60, 3:] = -1
    whole = learned(sp.csr_matrix(early), labels, kind)
    growing = OnlineState(40, 3, model=SETTINGS[kind])
    growing.update(early[:60, :40], labels[:60, :3])
    for n_features, n_labels in ((41, 3), (50, 17), (55, 66), (60, 70)):
        growing.grow(n_features, n_labels)
    growing.update(early[60:], labels[60:])
    same(whole, growing)
    np.testing.assert_array_equal(whole.observed, [120] * 3 + [60] * 67)


def test_growing_is_amortised():
    state = OnlineState(1, 1)
    allocations = set()
    for size in range(1, 3000):
        state.grow(n_features=size)
        allocations.add(state.to_arrays()["panel_0"].ctypes.data)
    assert len(allocations) < 30
    with pytest.raises(ValueError, match="a state can only grow"):
        state.grow(n_features=5)


def test_unknown_labels_teach_nothing():
    X, Y = stream(n=50)
    state = learned(X, np.full_like(Y, -1))
    assert (state.mean == 0).all()
    assert (state.variance == SETTINGS["coupled"].settings.prior_variance).all()
    assert (float(state.bias_mean), float(state.bias_variance)) == (0.0, pytest.approx(1.0))


def check_sound(state, rows):
    assert np.isfinite(state.mean).all()
    assert np.isfinite(state.variance).all()
    assert (state.variance > 0).all()
    assert np.isfinite(state.bias_mean).all()
    assert (np.asarray(state.bias_variance) > 0).all()
    probability = state.probabilities(rows)
    assert ((probability > 0) & (probability < 1)).all()


LARGE = st.floats(min_value=-1e300, max_value=1e300)
NUMBERS = st.one_of(st.just(0.0), st.floats(-10, 10), LARGE, st.sampled_from([1e-300, 1e30, -1e30]))


@given(
    rows=arrays(np.float64, (6, 4), elements=NUMBERS),
    labels=arrays(np.int8, (6, 3), elements=st.integers(-1, 1)),
    kind=st.sampled_from(sorted(SETTINGS)),
    noise=st.sampled_from([0.0, 0.01, 1e5]),
    variance=st.sampled_from([1e-15, 1.0, 1e15]),
)
def test_no_scale_and_no_order_breaks_it(rows, labels, kind, noise, variance):
    options = varied(SETTINGS[kind], noise=noise, prior_variance=variance)
    state = OnlineState(4, 3, model=options)
    for _ in range(3):
        state.update(rows, labels)
        check_sound(state, rows)


@each
@pytest.mark.parametrize(
    "scale", [1.0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1e30, 1e-30, 0.0))]
)
def test_the_same_row_a_hundred_thousand_times(kind, scale):
    X = np.tile([[scale, -scale, 0.0]], (100_000, 1))
    Y = np.tile(np.array([[1, 0]], dtype=np.int8), (100_000, 1))
    state = learned(sp.csr_matrix(X), Y, kind)
    check_sound(state, X[:1])
    if scale == 1.0:
        assert state.probabilities(X[:1])[0, 0] > 0.9
        assert state.probabilities(X[:1])[0, 1] < 0.1


def test_contradictions_do_not_break_it():
    X = np.ones((20_000, 1))
    Y = (np.arange(20_000) % 2)[:, None].astype(np.int8)
    for kind in SETTINGS:
        check_sound(learned(sp.csr_matrix(X), Y, kind), X[:1])


def test_forgetting_brings_back_the_prior():
    X, Y = stream(n=100, n_features=10)
    X = sp.hstack([X, sp.csr_matrix((100, 1))]).tocsr()
    options = ProbitModel.of(forgetting=0.2, prior_variance=1.0)
    state = OnlineState(11, 5, model=options)
    state.update(X, Y)
    before = state.variance.copy()
    assert (before[0] < 0.9).any()
    # A hundred rows that show only the last feature.
    state.update(np.tile(np.eye(11)[10], (100, 1)), np.tile(Y[:1], (100, 1)))
    np.testing.assert_allclose(state.variance[:10], 1.0, rtol=1e-5)
    assert (state.variance[10] < 1.0).any()


def test_bad_input_is_named():
    X, Y = stream(n=10)
    state = OnlineState(X.shape[1], Y.shape[1])
    with pytest.raises(ValueError, match=r"Y must have one row for each row of X.*grow"):
        state.update(X, Y[:, :2])
    with pytest.raises(ValueError, match="at most 30 columns"):
        state.update(sp.hstack([X, X]), Y)
    for bad in (np.nan, np.inf):
        X.data[5] = bad
        with pytest.raises(ValueError, match="NaN or infinity"):
            state.update(X, Y)
    with pytest.raises(ValueError, match="no labels to learn"):
        OnlineState(3, 0).update(np.ones((2, 3)), np.zeros((2, 0)))
    assert state.n_rows == 0
    for name, value in {
        "margin": -1.0,
        "prior_variance": 0.0,
        "bias_variance": np.inf,
        "flip_probability": 0.5,
        "forgetting": 1.0,
        "coupled": "yes",
        "scale_rows": 1,
        "calibrate": None,
        "noise": None,
        "label_ratios": [0.5, 0.0],
    }.items():
        with pytest.raises(ValueError, match=f"{name} must be"):
            ProbitModel.of(**{name: value})


@pytest.mark.parametrize("wrong", [0.5, 256, 2, -2, np.nan])
def test_labels_that_are_none(wrong):
    state = OnlineState(2, 1)
    with pytest.raises(ValueError, match="Y must be 0 or 1"):
        state.update(np.eye(2), np.array([[1.0], [wrong]]))
    assert state.n_rows == 0
