"""Probabilities that hold: the scale of rows, and the map from scores to what comes true."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from labelweave import BayesianOnlineClassifier, BinaryRelevance, load
from labelweave.models.online.calibration import Calibration, prequential_rows
from labelweave.models.online.evidence import merge_states
from labelweave.models.online.rows import csr_batches, row_lengths
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream, varied


def dense(n=1200, n_features=40, n_labels=4, seed=0):
    """Standardised rows whose features depend on each other, and noisy labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)) @ rng.normal(size=(6, n_features)) / 2
    X += rng.normal(size=(n, n_features))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    weights = rng.normal(size=(n_features, n_labels)) / 4
    offsets = np.linspace(0.0, -3.0, n_labels)
    return X, (rng.random((n, n_labels)) < expit(X @ weights + offsets)).astype(np.int8)


def cll_loss(model, X, Y):
    return -model.predict_joint(X).log_prob(Y).mean()


@pytest.mark.parametrize("coupled", [True, False])
def test_one_pass_is_as_calibrated_as_a_tuned_batch_learner(coupled):
    X, Y = dense()
    model = BayesianOnlineClassifier(coupled=coupled).fit(X[:800], Y[:800])
    tuned = BinaryRelevance(random_state=0).fit(X[:800], Y[:800])
    assert cll_loss(model, X[800:], Y[800:]) < 1.1 * cll_loss(tuned, X[800:], Y[800:])
    sure = model.predict_proba(X[800:]) > 0.9
    # Some thirty labels are that sure: their frequency has a standard error of 0.05.
    assert Y[800:][sure].mean() > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "yeast", "scene"])
def test_real_measurements(shared_data, name):
    data = load(name)
    X, Y = np.asarray(data.X), np.asarray(data.Y)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) * 2 // 3], order[len(X) * 2 // 3 :]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0).clip(1e-9)
    model = BayesianOnlineClassifier().fit(X[train], Y[train])
    tuned = BinaryRelevance(random_state=0).fit(X[train], Y[train])
    assert cll_loss(model, X[test], Y[test]) < 1.15 * cll_loss(tuned, X[test], Y[test])


@settings(max_examples=20)
@given(st.lists(st.integers(1, 700), min_size=1, max_size=6), st.sampled_from([0.0, 0.01]))
def test_batches_and_threads_do_not_matter(sizes, forgetting):
    X, Y = dense()
    options = ProbitModel.of(forgetting=forgetting)
    whole, parts = (OnlineState(40, 4, model=options) for _ in range(2))
    whole.update(sp.csr_matrix(X), Y, 3)
    ends = np.unique(np.minimum([0, *np.cumsum(sizes), 1200], 1200))
    for first, last in pairwise(ends.tolist()):
        parts.update(X[first:last], Y[first:last])
    same(whole, parts)
    np.testing.assert_array_equal(whole.probabilities(X), parts.probabilities(X))


def test_the_unit_of_measurement_does_not_matter():
    """Multiplying all features by a power of two changes no probability."""
    X, Y = dense(n=300)
    expected = BayesianOnlineClassifier().partial_fit(X, Y).predict_proba(X)
    for unit in (2.0**-40, 2.0**40):
        model = BayesianOnlineClassifier().partial_fit(X * unit, Y)
        np.testing.assert_allclose(model.predict_proba(X * unit), expected, rtol=1e-12)
        rows = X * unit / model.state_.row_length
        score = rows @ model.mean_.astype(np.float64) + model.state_.offset_mean
        np.testing.assert_allclose(score, model.state_.moments(X * unit)[0], rtol=1e-4, atol=1e-5)


def test_rows_of_unit_length_are_learned_as_they_are():
    X, Y = stream()
    states = [OnlineState(30, 5, model=ProbitModel.of(scale_rows=flag)) for flag in (True, False)]
    for state in states:
        state.update(X, Y)
    np.testing.assert_allclose(states[0].mean, states[1].mean, rtol=1e-4, atol=1e-5)
    assert states[0].row_length == pytest.approx(1.0)


@given(st.lists(st.floats(-1e300, 1e300), min_size=4, max_size=4))
def test_lengths_of_any_size(values):
    X = np.array([values, [0.0] * 4, [3.0, 0.0, 4.0, 0.0]])
    ((_, _, rows),) = csr_batches(X, 4)
    lengths = row_lengths(rows)
    with np.errstate(over="ignore"):
        assert lengths[0] == pytest.approx(np.hypot.reduce(values))
    assert lengths[1:].tolist() == [0.0, 5.0]


def test_empty_rows_do_not_count_as_short():
    state = OnlineState(2, 1)
    state.update(np.zeros((3, 2)), np.ones((3, 1)))
    assert state.row_length == 1.0
    state.update(np.array([[3.0, 4.0]]), np.ones((1, 1)))
    assert state.row_length == 5.0


def test_the_fit_is_the_optimum():
    """Against a general optimiser: the common map first, then each label's around it."""
    rng = np.random.default_rng(1)
    calibration = Calibration()
    calibration.grow(3)
    for z in rng.normal(size=(400, 3), scale=5):
        y = rng.random(3) < expit(np.array([0.3, 0.5, 0.1]) * z + [0.0, -2.0, 1.0])
        calibration.add(z[None], y[None].astype(np.int8))
    found = calibration.fit()
    centres = np.sinh(np.arange(-32, 33) * 0.125)

    def optimum(counts, start, spread, scale):
        def loss(at):
            log_odds = at[0] * scale * centres + at[1]
            data = counts.sum(axis=0) * np.logaddexp(0, log_odds) - counts[1] * log_odds
            return data.sum() + 0.5 * (((at - start) / spread) ** 2).sum()

        return minimize(loss, start, tol=1e-12).x

    common = optimum(calibration.counts.sum(axis=0), np.array([1.7, 0.0]), np.array([1, 10]), 1.0)
    for label in range(3):
        start = np.array([1.0, common[1]])
        slope, offset = optimum(calibration.counts[label], start, np.array([0.3, 1.0]), common[0])
        assert found.slope[label] == pytest.approx(slope * common[0], rel=1e-3)
        assert found.offset[label] == pytest.approx(offset, abs=1e-3)


def test_scores_that_tell_it_all_have_a_finite_map():
    calibration = Calibration()
    calibration.grow(2)
    for z in np.linspace(-25, 25, 301):
        calibration.add(np.array([[z, -z]]), np.array([[z > 0, z > 0]], dtype=np.int8))
    found = calibration.fit()
    assert np.isfinite(found).all()
    assert (found.slope > 0).all()  # labels keep the order of their scores, even a wrong one


def test_which_rows_are_predicted_first():
    rows = prequential_rows(0, 100_000, 0.0).rows
    assert rows[:1024].tolist() == list(range(1024))
    per_octave = np.histogram(rows, [1024, 2048, 4096, 8192, 16384])[0][:3]
    assert per_octave.tolist() == [512] * 3
    forgetting = prequential_rows(90_000, 90_016, 0.01)
    assert forgetting.rows.tolist() == [90_000, 90_008]
    assert forgetting.retained == pytest.approx((1 - 1 / 4096) ** 8)
    pieces = [*prequential_rows(0, 3000, 0.0).rows, *prequential_rows(3000, 5000, 0.0).rows]
    assert pieces == prequential_rows(0, 5000, 0.0).rows.tolist()


@pytest.mark.parametrize("forgetting", [0.0, 0.01])
@pytest.mark.parametrize(
    ("likelihood", "coupled"), [("bias", True), ("bias", False), ("pairwise", True)]
)
def test_trials_are_predictions_of_the_rows_before(likelihood, coupled, forgetting):
    """Counts are those of a model that is asked before each row, up to what the row forgets."""
    X, Y = stream(n=60)
    options = ProbitModel.of(likelihood=likelihood, coupled=coupled, forgetting=forgetting)
    state, asked = (OnlineState(30, 5, model=options) for _ in range(2))
    state.update(X, Y)
    expected = Calibration()
    expected.grow(5)
    for row in range(60):
        lengths = row_lengths(next(csr_batches(X[: row + 1], 30))[2])
        scaled = X[row : row + 1] * (asked.row_length / lengths.mean())
        z = asked.latent_of(*asked.moments(scaled)).z
        expected.add(z, Y[row : row + 1], np.array([1 - min(forgetting, 1 / 4096)]))
        asked.update(X[row : row + 1], Y[row : row + 1])
    counts = state.to_arrays()["calibration"]
    # A score that lies on the edge of a bin may fall into the next one.
    assert np.abs(counts - expected.counts).sum() <= 0.02 * counts.sum()
    if not forgetting:
        np.testing.assert_array_equal(counts.sum(axis=2), expected.counts.sum(axis=2))


def test_rows_seen_before_are_not_prequential():
    X, Y = stream()
    state = OnlineState(30, 5)
    state.update(X, Y)
    counted = state.to_arrays()["calibration"].copy()
    state.update(X, Y, seen=True)
    np.testing.assert_array_equal(state.to_arrays()["calibration"], counted)
    assert counted.sum() == 300 * 5


def test_shards_of_different_units_are_merged():
    """What was learned of long rows and of short ones, in the units of all rows."""
    X, Y = dense(n=600)
    X[:300] *= 2
    halves = [OnlineState(40, 4) for _ in range(2)]
    for state, part in zip(halves, (slice(0, 300), slice(300, 600)), strict=True):
        state.update(X[part], Y[part])
    merged = merge_states(halves)
    assert merged.row_length == pytest.approx(np.linalg.norm(X, axis=1).mean())
    evidence = sum((1 / s.variance - 10) * s.row_length**2 for s in halves)
    np.testing.assert_allclose(
        (1 / merged.variance - 10) * merged.row_length**2, evidence, rtol=1e-4, atol=1e-4
    )
    same(merged, merge_states(halves[::-1]))
    counts = [s.to_arrays()["calibration"] for s in (*halves, merged)]
    np.testing.assert_array_equal(counts[0] + counts[1], counts[2])


def test_published_settings_are_the_published_formula():
    X, Y = stream()
    published = ProbitModel.of(
        noise=0.01, prior_variance=1.0, label_offset=0.0, scale_rows=False, calibrate=False
    )
    state = OnlineState(30, 5, model=published)
    state.update(X, Y)
    np.testing.assert_array_equal(state.probabilities(X), state.noise_free(X).probabilities())
    other = OnlineState(30, 5, model=varied(published, calibrate=True))
    other.update(X, Y)
    np.testing.assert_array_equal(state.mean, other.mean)
