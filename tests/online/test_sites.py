"""Sites of parts: they add up to the posterior, and a cavity is what the other parts know."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.models.online.evidence import merge_states
from labelweave.models.online.partitions import (
    calibrate,
    cavity,
    damped,
    learn_partition,
    posterior_of,
)
from labelweave.models.online.settings import ProbitModel
from labelweave.models.online.state import OnlineState
from tests.online.make import stream

MODELS = [
    ProbitModel(),
    ProbitModel.of(coupled=False, scale_rows=False),
    ProbitModel.of(likelihood="pairwise"),
]


def parts_of(X, Y, k):
    return [(X[i::k], Y[i::k]) for i in range(k)]


def learned(X, Y, k, model):
    return [learn_partition(part, model, n_sampled=20) for part in parts_of(X, Y, k)]


def assert_close(one, other, tolerance=2e-5):
    for name in ("mean", "variance", "bias_mean", "bias_variance", "offset_mean"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance, err_msg=name
        )
    assert one.n_rows == other.n_rows
    np.testing.assert_array_equal(one.positives, other.positives)


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=15)
@given(n_parts=st.integers(1, 4), seed=st.integers(0, 99))
def test_sites_add_up_to_the_merged_posterior(model, n_parts, seed):
    # Comparisons of labels are learned in plain Python.
    n = 60 if model.likelihood == "bias" else 12
    X, Y = stream(n=n, n_features=12, n_labels=3, seed=seed)
    states = []
    for part in parts_of(X, Y, n_parts):
        states.append(OnlineState(12, 3, model=model))
        states[-1].update(*part)
    sites = [part.site for part in learned(X, Y, n_parts, model)]
    posterior, labels = posterior_of(sites, model, 12)
    assert labels == (0, 1, 2)
    assert_close(posterior, merge_states(states))


@pytest.mark.parametrize("coupled", [True, False])
def test_parts_may_bring_features_and_labels_that_earlier_ones_lack(coupled):
    model = ProbitModel.of(coupled=coupled)
    X, Y = stream(n=90, n_features=300, n_labels=70)
    states, sites = [], []
    for number, (n_features, n_labels) in enumerate([(20, 2), (300, 70), (100, 66)]):
        rows = slice(30 * number, 30 * number + 30)
        part = X[rows, :n_features], Y[rows, :n_labels]
        sites.append(learn_partition(part, model).site)
        states.append(OnlineState(n_features, n_labels, model=model))
        states[-1].update(*part)
    posterior, labels = posterior_of(sites, model, 300)
    assert labels == tuple(range(70))
    assert_close(posterior, merge_states(states))


@pytest.mark.parametrize("model", MODELS)
def test_a_cavity_is_the_posterior_of_the_other_parts(model):
    X, Y = stream(n=90, n_features=12, n_labels=3)
    sites = [part.site for part in learned(X, Y, 3, model)]
    posterior, labels = posterior_of(sites, model, 12)
    others, _ = posterior_of(sites[1:], model, 12)
    without = cavity(posterior, labels, sites[0])
    features = sites[0].features
    for name in ("mean", "variance"):
        np.testing.assert_allclose(
            getattr(without, name), getattr(others, name)[features], rtol=1e-4, atol=1e-5
        )
    np.testing.assert_allclose(without.bias_mean, others.bias_mean, rtol=1e-9)
    np.testing.assert_array_equal(without.observed, others.observed)
    assert without.row_length == pytest.approx(others.row_length)


def test_labels_may_be_numbered_in_any_order():
    X, Y = stream(n=90, n_features=12, n_labels=3)
    model = ProbitModel.of(coupled=False)
    first, second, third = (part.site for part in learned(X, Y, 3, model))
    expected, _ = posterior_of([first, second, third], model, 12)
    order = [2, 0, 1]
    turned = replace(
        second,
        labels=(2, 0, 1),
        precision=second.precision[:, order],
        precision_mean=second.precision_mean[:, order],
        biases=second.biases[:, order],
        counts={
            name: array[order] if name in ("positives", "observed", "calibration") else array
            for name, array in second.counts.items()
        },
    )
    found, labels = posterior_of([first, turned, third], model, 12)
    assert labels == (0, 1, 2)
    np.testing.assert_array_equal(found.mean, expected.mean)
    np.testing.assert_array_equal(found.positives, expected.positives)
    np.testing.assert_allclose(
        cavity(found, labels, turned).mean, cavity(expected, labels, second).mean, atol=1e-6
    )
    known_to = np.full(12, 3)
    moved = damped(turned, first, known_to, 3, coupled=False)
    np.testing.assert_array_equal(
        moved.precision_mean, damped(second, first, known_to, 3, coupled=False).precision_mean
    )


def test_a_part_that_lacks_labels_says_nothing_about_them():
    X, Y = stream(n=60, n_features=12, n_labels=3)
    whole, half = (
        learn_partition((X, Y), ProbitModel()),
        learn_partition((X, Y[:, :2]), ProbitModel()),
    )
    posterior, labels = posterior_of([half.site, whole.site], ProbitModel(), 12)
    alone, _ = posterior_of([whole.site], ProbitModel(), 12)
    assert labels == (0, 1, 2)
    # But for the constant feature, a label's weights are its own.
    np.testing.assert_allclose(posterior.mean[:, 2], alone.mean[:, 2], rtol=1e-5, atol=1e-6)
    assert posterior.observed.tolist() == [120, 120, 60]


def test_a_damped_site_moves_by_one_over_the_parts_that_know_a_feature():
    X, Y = stream(n=90, n_features=12, n_labels=3)
    old, new, _ = (part.site for part in learned(X, Y, 3, ProbitModel.of(scale_rows=False)))
    np.testing.assert_array_equal(
        damped(old, new, np.ones(12, int), 1, coupled=True).precision, new.precision
    )
    still = damped(old, old, np.full(12, 3), 3, coupled=True)
    np.testing.assert_allclose(still.precision_mean, old.precision_mean, rtol=1e-6)
    moved = damped(old, new, np.full(12, 4), 4, coupled=True)
    expected = 0.75 * old.precision_mean + 0.25 * new.precision_mean
    np.testing.assert_allclose(moved.precision_mean, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(moved.biases, 0.75 * old.biases + 0.25 * new.biases)


def test_the_bias_of_a_label_that_was_alone_stays_its_own():
    X, Y = stream(n=60, n_features=12, n_labels=3)
    model = ProbitModel.of(coupled=False)
    old = learn_partition((X, Y[:, :1]), model).site
    new = learn_partition((X, Y), model).site
    moved = damped(old, new, np.full(12, 2), 2, coupled=False)
    np.testing.assert_allclose(moved.biases[:, 1:], new.biases[:, 1:] / 2)
    np.testing.assert_allclose(moved.biases[:, :1], (old.biases + new.biases[:, :1]) / 2)


def test_a_thousand_parts_lose_little_to_rounding():
    """Equal parts are the worst case: all sums are rounded the same way."""
    X, Y = stream(n=40, n_features=12, n_labels=3)
    model = ProbitModel.of(scale_rows=False, calibrate=False)
    site = learn_partition((X, Y), model).site
    posterior, _ = posterior_of([site] * 1000, model, 12)
    precision = 1000 * site.precision[1:].astype(float) + 1 / model.settings.prior_variance
    mean = 1000 * site.precision_mean[1:].astype(float) / precision
    np.testing.assert_allclose(posterior.variance[site.features], 1 / precision, rtol=1e-4)
    np.testing.assert_allclose(posterior.mean[site.features], mean, rtol=1e-4, atol=1e-6)


def test_a_further_round_begins_from_what_the_others_know():
    """One part that begins from another is the stream of both."""
    X, Y = stream(n=120, n_features=12, n_labels=3)
    model = ProbitModel.of(scale_rows=False, calibrate=False)
    first = learn_partition((X[:60], Y[:60]), model).site
    second = learn_partition((X[60:], Y[60:]), model).site
    posterior, labels = posterior_of([first, second], model, 12)
    again = learn_partition((X[60:], Y[60:]), model, (posterior, labels), second).site
    both, _ = posterior_of([first, again], model, 12)
    whole = OnlineState(12, 3, model=model)
    whole.update(X, Y)
    assert_close(both, whole, 2e-4)


def test_a_part_that_changed_between_rounds_is_refused():
    X, Y = stream(n=60, n_features=12, n_labels=3)
    model = ProbitModel()
    site = learn_partition((X, Y), model).site
    posterior, labels = posterior_of([site], model, 12)
    changed = X.toarray()
    changed[:, 3:9] = 0
    with pytest.raises(ValueError, match="has changed since the round before"):
        learn_partition((changed, Y), model, (posterior, labels), site)


def test_rows_that_other_parts_predict_calibrate_the_posterior():
    X, Y = stream(n=3000, n_features=40, seed=1)
    parts = [
        learn_partition(part, ProbitModel(), n_sampled=100)
        for part in parts_of(X[:2000], Y[:2000], 20)
    ]
    state, labels = posterior_of([part.site for part in parts], ProbitModel(), 40)

    def loss():
        p = state.probabilities(X[2000:])
        return -np.where(Y[2000:], np.log(p), np.log1p(-p)).mean()

    before = loss()
    calibrate(state, labels, parts)
    assert state.counts()["calibration"].sum() == 20 * 100 * Y.shape[1]
    assert loss() < before
