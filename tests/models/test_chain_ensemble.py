"""Ensembles are the uniform mixture of their chains."""

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB

from labelweave import ChainEnsemble, ClassifierChain
from labelweave.data import load
from labelweave.decision import MajorityVote
from labelweave.inference import Greedy
from labelweave.joint import MixtureJoint
from labelweave.models.ensembles import bootstrap_counts


@pytest.fixture(scope="module")
def data():
    emotions = load("emotions")
    X = (emotions.X - emotions.X.mean(axis=0)) / emotions.X.std(axis=0)
    return X[:300], emotions.Y[:300], X[300:340]


def fitted(data, **options):
    X, Y, _ = data
    return ChainEnsemble(**({"n_estimators": 4, "C": 0.03, "label_penalty": 0.1} | options)).fit(
        X, Y
    )


def test_without_resampling_members_are_plain_chains(data):
    X, Y, X_new = data
    model = fitted(data, bootstrap=False)
    joint = model.predict_joint(X_new)
    assert isinstance(joint, MixtureJoint)
    for order, member in zip(model.orders_, joint.components, strict=True):
        chain = ClassifierChain(C=0.03, label_penalty=0.1, order=order).fit(X, Y)
        np.testing.assert_allclose(
            member.marginals(), chain.predict_joint(X_new).marginals(), atol=1e-9
        )


def test_resampling_is_a_chain_on_repeated_rows(data):
    X, Y, X_new = data
    model = fitted(data, n_estimators=1)
    counts = bootstrap_counts(X, model.n_estimators, model._seed())[:, 0].astype(int)
    rows = np.repeat(np.arange(len(X)), counts)
    chain = ClassifierChain(C=0.03, label_penalty=0.1, order=model.orders_[0]).fit(X[rows], Y[rows])
    np.testing.assert_allclose(
        model.predict_proba(X_new), chain.predict_proba(X_new), rtol=1e-5, atol=1e-7
    )


def test_rows_are_drawn_as_poisson_says(data):
    counts = bootstrap_counts(data[0], 200, 0)
    for times, share in enumerate([0.368, 0.368, 0.184, 0.061, 0.015]):
        assert (counts == times).mean() == pytest.approx(share, abs=0.01)
    assert np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(0.0, abs=0.15)


def test_epcc_averages_marginals_and_ecc_counts_votes(data):
    X_new = data[2]
    joint = fitted(data).predict_joint(X_new)
    averaged = np.mean([c.marginals() for c in joint.components], axis=0)
    np.testing.assert_allclose(fitted(data).predict_proba(X_new), averaged)
    np.testing.assert_array_equal(fitted(data).predict(X_new), (averaged > 0.5).astype(int))
    votes = np.mean([c.mode(Greedy()).labels for c in joint.components], axis=0)
    np.testing.assert_allclose(MajorityVote().shares(joint), votes)
    ecc = fitted(data, decision=MajorityVote(threshold=0.4))
    np.testing.assert_array_equal(ecc.predict(X_new), (votes > 0.4).astype(int))


def test_any_base_classifier(data):
    X, Y, X_new = data
    model = ChainEnsemble(n_estimators=3, estimator=BernoulliNB()).fit(X, Y)
    members = model.predict_joint(X_new).components
    assert len(members) == 3
    averaged = np.mean([m.marginals() for m in members], axis=0)
    np.testing.assert_allclose(model.predict_proba(X_new), averaged)


def test_rows_without_weight_are_never_drawn(data):
    X, Y, X_new = data
    weight = np.r_[np.ones(200), np.zeros(100)]
    kept = ChainEnsemble(n_estimators=2, C=0.1, label_penalty=1.0).fit(X[:200], Y[:200])
    weighted = ChainEnsemble(n_estimators=2, C=0.1, label_penalty=1.0).fit(X, Y, weight)
    np.testing.assert_allclose(
        kept.predict_proba(X_new), weighted.predict_proba(X_new), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("n_estimators", [0, -1, 2.5, "many"])
def test_a_bad_number_of_chains_is_named(data, n_estimators):
    with pytest.raises(ValueError, match="n_estimators must be a whole number of at least 1"):
        fitted(data, n_estimators=n_estimators)
