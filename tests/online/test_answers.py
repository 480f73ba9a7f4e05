"""What a state says about new rows: probabilities, and models drawn from its posterior."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_ndtr, logsumexp, ndtr
from scipy.stats import kstest, norm

from labelweave.models.online.calibration import CalibrationMap, Latent, categorical_log_odds
from labelweave.models.online.classifier import bias_mixture
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream

KINDS = {
    "coupled": ProbitModel(),
    "independent": ProbitModel.of(coupled=False),
    "drift": ProbitModel.of(forgetting=0.01),
}
each = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def learned(kind):
    X, Y = stream(n=200, n_labels=20)
    state = OnlineState(X.shape[1], 20, model=KINDS[kind])
    state.update(X, Y)
    return state, X


@each
def test_probabilities_are_the_probit_formula(learned, kind):
    state, X = learned
    rows = X.toarray() / state.row_length
    mean = rows @ state.mean.astype(np.float64) + state.offset_mean - state.bias_mean
    variance = rows**2 @ state.variance.astype(np.float64) + state.offset_variance
    variance += state.bias_variance
    np.testing.assert_allclose(
        state.noise_free(X).probabilities(), ndtr(mean / np.sqrt(variance)), atol=1e-5
    )


@each
def test_drawn_models_follow_the_posterior(learned, kind):
    """The share of models that give a label is its probability."""
    state, X = learned
    above = state.sample_labels(X[:40], 4000, seed=3)
    assert above.dtype == np.bool_
    np.testing.assert_allclose(
        above.mean(axis=0), state.noise_free(X[:40]).probabilities(), atol=0.04
    )


@each
def test_drawn_models_are_the_same_for_all_batches_and_threads(learned, kind):
    state, X = learned
    whole = state.sample_labels(X, 7, seed=1)
    np.testing.assert_array_equal(state.sample_labels(X, 7, seed=1, n_threads=3), whole)
    np.testing.assert_array_equal(state.sample_labels(X, 3, seed=1), whole[:3])
    for rows in ([4], [9, 4, 9], range(50, 120)):
        np.testing.assert_array_equal(state.sample_labels(X[list(rows)], 7, 1), whole[:, rows])
    assert (state.sample_labels(X, 7, seed=2) != whole).any()


def test_weights_are_drawn_from_independent_normal_distributions():
    """One feature a row shows one weight: its sign against a bias that is all but known."""
    state = OnlineState(400, 8, model=ProbitModel.of(bias_variance=1e-15, label_offset=0.0))
    X = sp.identity(400, format="csr")
    above = state.sample_labels(X, 200, seed=5)  # weights are N(0, 1), the bias 0
    assert above.mean() == pytest.approx(0.5, abs=3 / np.sqrt(above.size))
    flat = above.reshape(200, -1).astype(float) - 0.5
    correlation = np.corrcoef(flat[:, :300].T)
    off = correlation[~np.eye(300, dtype=bool)]
    assert np.abs(off).max() < 6 / np.sqrt(200)
    assert kstest(off * np.sqrt(200), "norm").statistic < 0.05


def test_no_rows_no_answers():
    state = OnlineState(3, 2)
    assert state.probabilities(np.zeros((0, 3))).shape == (0, 2)
    assert state.sample_labels(np.zeros((0, 3)), 4, 0).shape == (4, 0, 2)


@each
def test_arrays_and_back(learned, kind):
    state, X = learned
    again = OnlineState.from_arrays(state.to_arrays(), state.model.as_dict())
    same(state, again)
    for model in (state, again):
        model.grow(n_labels=21)
        model.update(X, np.ones((X.shape[0], 21), dtype=np.int8))
    same(state, again)


@pytest.mark.parametrize("bias_variance", [1e-8, 0.3, 4.0, 1e4])
def test_the_mixture_has_the_marginals_of_the_formula(bias_variance):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(size=(30, 6), scale=3), rng.uniform(0, 2, size=(30, 6))
    variance[0] = 0.0
    joint = bias_mixture(Latent.of(mean, variance, 0.4, bias_variance), nodes=16)
    expected = ndtr((mean - 0.4) / np.sqrt(bias_variance + variance))
    np.testing.assert_allclose(joint.marginals(), expected, rtol=1e-9, atol=1e-14)


def test_the_mixture_integrates_the_bias():
    """Against a fine sum over the bias, all pairs of labels."""
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=(10, 4)), rng.uniform(0.5, 2, size=(10, 4))
    joint = bias_mixture(Latent.of(mean, variance, 0.2, 1.0), nodes=16)
    z = np.linspace(-9, 9, 4001)
    weight = norm.pdf(z) / norm.pdf(z).sum()
    p = ndtr((mean[..., None] - 0.2 - z) / np.sqrt(variance)[..., None])
    expected = np.einsum("nib,njb,b->nij", p, p, weight)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(joint.pairwise()[:, off], expected[:, off], atol=1e-4)


def integrated(latent, vectors):
    """Log ∫ φ(ζ) Π_c Φ(±(z_c − ρ_c ζ)/√(1 − ρ_c²)) dζ of (k, L) vectors in every row, (n, k)."""
    zeta = np.linspace(-45, 45, 20_001)
    own = np.sqrt(1 - latent.loading**2)
    t = (latent.z[..., None] - latent.loading[..., None] * zeta) / own[..., None]
    yes, no = log_ndtr(t), log_ndtr(-t)
    density = norm.logpdf(zeta) + np.log(zeta[1] - zeta[0])
    found = [
        logsumexp(density + np.where(y[:, None] == 1, yes, no).sum(axis=1), axis=1) for y in vectors
    ]
    return np.stack(found, axis=1)


VECTORS = np.array(list(itertools.product((0, 1), repeat=4)), dtype=np.int8)


def log_prob_of_vectors(latent):
    joint = bias_mixture(latent, nodes=16)
    return joint.log_prob(np.tile(VECTORS, (len(latent.z), 1, 1)))


@pytest.mark.parametrize(
    "share", [1e-6, *(pytest.param(s, marks=pytest.mark.slow) for s in (0.1, 0.6)), 0.3, 0.8]
)
@pytest.mark.parametrize("size", [1.0, 3.0])
def test_log_probabilities_are_those_of_a_fine_integral(share, size):
    rng = np.random.default_rng(2)
    z = rng.normal(size=(20, 4), scale=size)
    latent = Latent(z, np.sqrt(share * rng.uniform(0.5, 1, size=z.shape)))
    found, expected = log_prob_of_vectors(latent), integrated(latent, VECTORS)
    likely = expected > -12
    np.testing.assert_allclose(found[likely], expected[likely], atol=0.05)
    # The whole distribution is at hardly any distance.
    distance = (np.exp(expected) * (expected - found)).sum(axis=1)
    assert distance.max() < 1e-3


def test_log_probabilities_of_scores_far_from_the_bias():
    """Next to no dependence: each label has the probability of the formula."""
    z = np.array([[-1600.0, 1600.0, -40.0, 0.3]])
    latent = Latent(z, np.full_like(z, 1e-3))
    np.testing.assert_allclose(log_prob_of_vectors(latent), integrated(latent, VECTORS), rtol=1e-4)


def test_a_row_without_features_has_labels_that_are_merely_unlikely():
    """All scores are the same number: labels depend on the bias alone."""
    latent = Latent(np.full((1, 4), -1600.0), np.ones((1, 4)))
    found = log_prob_of_vectors(latent)[0]
    assert found[0] == pytest.approx(0.0)
    log_marginal = log_ndtr(-1600.0)
    np.testing.assert_allclose(found, VECTORS.sum(axis=1) * log_marginal, rtol=1e-6, atol=1e-9)
    joint = bias_mixture(latent, nodes=16)
    np.testing.assert_allclose(joint.marginal_log_odds(), log_marginal, rtol=1e-9)


@pytest.mark.parametrize("likelihood", ["bias", "multiclass"])
@pytest.mark.parametrize("calibrate", [False, True])
def test_log_odds_are_those_of_the_probabilities(likelihood, calibrate):
    X, Y = stream()
    if likelihood == "multiclass":
        Y = np.eye(5, dtype=np.int8)[np.asarray(X.sum(axis=1)).ravel().argsort().argsort() % 5]
    settings = ProbitModel.of(likelihood=likelihood, calibrate=calibrate)
    state = OnlineState(X.shape[1], 5, model=settings)
    state.update(X, Y)
    np.testing.assert_allclose(expit(state.log_odds(X)), state.probabilities(X), atol=1e-12)


def test_log_odds_of_one_label_among_many_are_never_rounded():
    log_odds = np.array([[1e4, -1e4, 30.0], [0.0, 9e3, 1e4]])
    found = categorical_log_odds(log_odds)
    np.testing.assert_allclose(found, [[9970, -2e4, -9970], [-1e4, -1e3, 1e3]])


def test_calibration_keeps_the_order_of_scores_however_large():
    z = np.linspace(-1e4, 1e4, 101)[:, None]
    latent = Latent(z, np.full_like(z, 0.5)).calibrated(
        CalibrationMap(np.array([2.0]), np.zeros(1))
    )
    np.testing.assert_allclose(latent.log_odds(), 2 * z, rtol=1e-9, atol=1e-9)
