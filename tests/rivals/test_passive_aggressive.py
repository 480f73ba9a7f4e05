"""Passive-aggressive learning against scikit-learn's, its own laws, and streams."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from labelweave import PassiveAggressive
from labelweave.decision import ClassMassNormalization, TunedThresholds
from tests.contract.samples import sample
from tests.decision.tuning import tune_thresholds

X, Y = sample(n=80, n_features=7, n_labels=11)
FORMS = [np.asarray, sp.csr_array]


def plain(C=0.3, **options):
    return PassiveAggressive(C=C, decision="fixed", shuffle=False, **options)


def scikit_learn(rows, target, C, passes=1, weight=None):
    """PA-I as scikit-learn has it, without intercept; it stops at no tolerance."""
    model = SGDClassifier(
        loss="hinge",
        penalty=None,
        learning_rate="pa1",
        eta0=C,
        shuffle=False,
        max_iter=passes,
        tol=None,
        fit_intercept=False,
    )
    return model.fit(rows, target).coef_[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("C", [0.01, 0.3, 100.0])
def test_the_weights_are_those_of_scikit_learn(form, passes, C):
    rows = np.where(np.abs(X) < 0.4, 0.0, X)
    model = plain(C, passes=passes, fit_intercept=False).fit(form(rows), Y)
    for label in range(11):
        expected = scikit_learn(rows, Y[:, label], C, passes)
        np.testing.assert_allclose(model.coef_[label], expected, atol=1e-12)
    np.testing.assert_array_equal(model.intercept_, 0.0)


def test_the_intercept_is_a_feature_that_is_always_one():
    model = plain().fit(X, Y)
    extended = np.hstack([X, np.ones((80, 1))])
    for label in range(11):
        expected = scikit_learn(extended, Y[:, label], 0.3)
        np.testing.assert_allclose(model.coef_[label], expected[:-1], atol=1e-12)
        np.testing.assert_allclose(model.intercept_[label], expected[-1], atol=1e-12)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), C=st.floats(1e-3, 1e3))
def test_a_row_is_right_after_it_was_learned_unless_C_forbids(seed, C):
    random = np.random.default_rng(seed)
    rows, labels = random.normal(size=(20, 4)), random.integers(0, 2, (20, 9))
    model = plain(C)
    for i in range(20):
        before = (model.coef_.copy(), model.intercept_.copy()) if i else (np.zeros((9, 4)), 0.0)
        model.partial_fit(rows[[i]], labels[[i]])
        sign, square = 2.0 * labels[i] - 1, rows[i] @ rows[i] + 1
        loss = np.maximum(0, 1 - sign * (before[0] @ rows[i] + before[1]))
        after = np.maximum(0, 1 - sign * (model.coef_ @ rows[i] + model.intercept_))
        np.testing.assert_allclose(after, np.maximum(0, loss - C * square), atol=1e-9)
        # Passive: labels without loss keep their weights.
        kept = loss == 0
        np.testing.assert_array_equal(model.coef_[kept], before[0][kept])


def test_a_weight_is_so_many_times_in_a_row():
    weight = np.random.default_rng(0).integers(1, 4, 80)
    repeated = np.repeat(np.arange(80), weight)
    weighted = plain(0.05).fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(
        weighted.coef_, plain(0.05).fit(X[repeated], Y[repeated]).coef_, atol=1e-12
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sizes", [[80], [1] * 80, [7, 70, 3]])
def test_batches_of_any_size_give_the_same_stream(form, sizes):
    whole = plain().fit(form(X), Y)
    stream = plain()
    first = 0
    for size in sizes:
        stream.partial_fit(form(X[first : first + size]), Y[first : first + size])
        first += size
    np.testing.assert_array_equal(stream.coef_, whole.coef_)
    np.testing.assert_array_equal(stream.intercept_, whole.intercept_)


@pytest.mark.parametrize("n_labels", [1, 8, 9, 40])
def test_threads_share_the_labels(n_labels):
    rows, labels = sample(n=60, n_labels=n_labels)
    one = PassiveAggressive(n_jobs=1).fit(rows, labels)
    three = PassiveAggressive(n_jobs=3).fit(rows, labels)
    np.testing.assert_array_equal(one.coef_, three.coef_)
    np.testing.assert_array_equal(one.thresholds_, three.thresholds_)


def test_thresholds_of_a_stream_come_from_scores_before_learning():
    model = PassiveAggressive(C=0.3, window=30)
    seen = []
    for i in range(80):
        if i:
            seen.append(model.coef_ @ X[i] + model.intercept_)
        model.partial_fit(X[[i]], Y[[i]])
    expected = tune_thresholds(np.array(seen[-30:]), Y[-30:])
    finite = np.isfinite(expected)
    assert finite.any()
    np.testing.assert_allclose(model.thresholds_[finite], expected[finite], atol=1e-9)


def test_fit_then_stream_goes_on_from_there():
    model = plain().fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    np.testing.assert_array_equal(model.coef_, plain().fit(X, Y).coef_)
    tuned = PassiveAggressive(C=0.3).fit(X[:50], Y[:50])
    before = tuned.thresholds_
    assert not np.array_equal(tuned.partial_fit(X[50:], Y[50:]).thresholds_, before)


def test_frequencies_of_a_stream_are_those_of_all_rows():
    rule = ClassMassNormalization(fallback=0.0)
    stream = PassiveAggressive(C=0.3, decision=rule)
    for half in (slice(0, 40), slice(40, 80)):
        stream.partial_fit(X[half], Y[half])
    given = stream.predict(X).mean(axis=0)
    np.testing.assert_allclose(given, Y.mean(axis=0), atol=1 / 80)


def test_a_label_not_seen_yet_is_given_to_nobody():
    labels = Y.copy()
    labels[:40, 3] = 0
    model = plain().partial_fit(X[:40], labels[:40])
    np.testing.assert_array_equal(model.decision_function(X)[:, 3], -1.0)
    model.partial_fit(X[40:], labels[40:])
    assert len(np.unique(model.decision_function(X)[:, 3])) > 1


def test_a_stream_of_one_class_names_both():
    target = np.array(["no", "yes"])[Y[:, 0]]
    one = np.flatnonzero(target == "no")[:3]
    with pytest.raises(ValueError, match="only one class in y: name both in classes="):
        plain().partial_fit(X[one], target[one])
    model = plain().partial_fit(X[one], target[one], classes=["no", "yes"])
    assert set(model.predict(X)) == {"no"}
    model.partial_fit(X, target)
    assert set(model.predict(X)) == {"no", "yes"}
    with pytest.raises(ValueError, match="only the classes 'no' and 'yes' in every batch"):
        model.partial_fit(X, np.where(target == "no", "no", "perhaps"))


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (X[:, :3], Y, "3 features"),
        (X, Y[:, :4], "y has 4 labels, but the model has learned 11"),
        (X, Y[:, 0], "y has 1 labels, but the model has learned 11"),
        (X, Y + 1, "only 0 and 1"),
    ],
)
def test_a_batch_that_fails_leaves_the_model_as_it_was(rows, labels, message):
    model = PassiveAggressive(C=0.3).partial_fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(rows, labels)
    np.testing.assert_array_equal(model.decision_function(X), before)
    fresh = PassiveAggressive()
    with pytest.raises(ValueError):
        fresh.partial_fit(X, Y + 1)
    assert not hasattr(fresh, "n_features_in_")


def test_batch_thresholds_need_all_rows():
    model = PassiveAggressive(tuned_with="batch")
    assert not hasattr(model, "partial_fit")
    assert hasattr(PassiveAggressive(tuned_with="batch", decision="cmn"), "partial_fit")


def test_batch_thresholds_are_those_of_machines_trained_in_batches():
    model = PassiveAggressive(C=0.3, tuned_with="batch", cv=2).fit(X, Y)
    online = PassiveAggressive(C=0.3, cv=2).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, online.coef_)
    assert not np.allclose(model.thresholds_, online.thresholds_)


def test_given_thresholds_are_taken_off():
    rule = TunedThresholds(values=np.linspace(-1, 1, 11))
    given = PassiveAggressive(C=0.3, decision=rule, shuffle=False).fit(X, Y)
    at_zero = plain().fit(X, Y)
    np.testing.assert_allclose(
        given.decision_function(X), at_zero.decision_function(X) - rule.values, atol=1e-12
    )
