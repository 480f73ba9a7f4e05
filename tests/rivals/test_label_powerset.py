"""Label powerset and RAkEL against plain scikit-learn code, and what their labelsets are."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from labelweave import BinaryRelevance, LabelPowerset, RAkEL
from labelweave.joint import ListedJoint
from tests.contract.samples import all_vectors, sample
from tests.reference import powerset as reference

X, Y = sample(n=120, seed=3)
X_NEW, Y_NEW = sample(n=30, seed=4)
BASE = LogisticRegression(C=0.3, tol=1e-8, max_iter=10_000)


def test_probabilities_agree_with_plain_code():
    for model, base in (
        (LabelPowerset(C=0.3), BASE),
        (LabelPowerset(GaussianNB(var_smoothing=0.1)), GaussianNB(var_smoothing=0.1)),
    ):
        joint = model.fit(X, Y).predict_joint(X_NEW)
        for labels in (Y_NEW, np.zeros_like(Y_NEW), np.ones_like(Y_NEW)):
            expected = reference.log_prob(base, X, Y, X_NEW, labels)
            np.testing.assert_allclose(joint.log_prob(labels), expected, atol=1e-3)
        expected = reference.marginals(base, X, Y, X_NEW)
        np.testing.assert_allclose(joint.marginals(), expected, atol=1e-3)


def test_only_vectors_seen_in_training_are_predicted():
    few = Y.copy()
    few[:, 1] = few[:, 0]
    model = LabelPowerset().fit(X, few)
    seen = {tuple(vector) for vector in few}
    assert {tuple(vector) for vector in model.vectors_} == seen
    assert {tuple(vector) for vector in model.predict(X_NEW)} <= seen
    joint = model.predict_joint(X_NEW)
    assert joint.mode().optimal.all()
    total = sum(np.exp(joint.log_prob(np.tile(y, (30, 1)))) for y in all_vectors(4))
    np.testing.assert_allclose(total, 1.0)


def test_the_most_probable_vector_of_many_labels_is_found_at_once():
    rng = np.random.default_rng(0)
    labels = (rng.random((20, 60)) < 0.3)[rng.integers(20, size=120)].astype(int)
    model = LabelPowerset(C=1.0).fit(X, labels)
    mode = model.predict_joint(X_NEW).mode()
    assert mode.optimal.all()
    best = model.estimator_.predict(X_NEW)
    np.testing.assert_array_equal(mode.labels, model.vectors_[best])


def test_the_penalty_is_that_of_single_labels():
    assert LabelPowerset().fit(X, Y).C_ == BinaryRelevance().fit(X, Y).C_
    assert RAkEL().fit(X, Y).C_ == BinaryRelevance().fit(X, Y).C_


def test_votes_agree_with_plain_code():
    model = RAkEL.preset("published", C=0.3).fit(X, Y)
    given, cast = reference.votes(BASE, X, Y, X_NEW, model.labelsets_)
    np.testing.assert_allclose(model.predict_proba(X_NEW), (given + 1) / (cast + 2))
    np.testing.assert_array_equal(model.predict(X_NEW), given / cast > 0.5)


def test_averages_agree_with_plain_code():
    model = RAkEL(C=0.3, n_labelsets=3).fit(X, Y)
    parts = [np.full((30, 4), np.nan) for _ in model.labelsets_]
    for part, labelset in zip(parts, model.labelsets_, strict=True):
        part[:, labelset] = reference.marginals(BASE, X, Y[:, labelset], X_NEW)
    np.testing.assert_allclose(model.predict_proba(X_NEW), np.nanmean(parts, axis=0), atol=1e-3)


def labelsets(n_labels, **options):
    labels = np.random.default_rng(1).integers(0, 2, (40, n_labels))
    model = RAkEL(estimator=GaussianNB(), **options).fit(X[:40], labels)
    return [tuple(labelset) for labelset in model.labelsets_]


def test_labelsets():
    found = labelsets(12)
    assert len(set(found)) == len(found) >= 24
    assert {len(labelset) for labelset in found[:24]} <= {3}
    assert labelsets(12, random_state=5) != found
    assert len(labelsets(5, n_labelsets=1000)) == comb(5, 3)
    assert labelsets(2) == [(0, 1)]
    parts = labelsets(11, overlapping=False)
    assert sorted(np.concatenate(parts)) == list(range(11))
    assert sorted(map(len, parts)) == [2, 3, 3, 3]
    # A single draw of two labels leaves nine: they share further labelsets.
    few = labelsets(11, n_labelsets=1, labelset_size=2)
    assert sorted(np.concatenate(few)) == list(range(11))


@pytest.mark.parametrize(
    ("name", "value"),
    [("labelset_size", 0), ("n_labelsets", 1.5), ("overlapping", "yes"), ("outputs", "mode")],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        RAkEL(**{name: value}).fit(X, Y)


def test_bad_lists_are_named():
    for vectors, weights, message in (
        ([[1, 0], [1, 0]], [[0.5, 0.5]], "vectors must be distinct"),
        ([[1, 0], [0, 1]], [[0.5, 0.4]], "log_weights must be normalised"),
        ([[1, 0], [0, 2]], [[0.5, 0.5]], "vectors must only contain"),
        ([[1, 0]], [[0.5, 0.5]], r"vectors must be \(V, L\), one row for each of the 2 columns"),
    ):
        with pytest.raises(ValueError, match=message):
            ListedJoint(vectors, np.log(weights))
