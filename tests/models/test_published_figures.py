"""Ten-fold cross-validation reproduces figures found by an independent enumeration.

The reference is plain NumPy over scikit-learn's logistic regressions solved to 1e-10: all label
vectors of every test row, C = 1 for features and labels alike, label order of the file.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from labelweave import BinaryRelevance, ClassifierChain, load
from labelweave.inference import Exhaustive, Greedy

# Exact match of BR, CC and PCC, then the CLL-loss a row of BR and PCC.
FIGURES = {
    "emotions": ((0.2479, 0.2868, 0.2936), (2.9007, 2.5715)),
    "scene": ((0.4923, 0.5870, 0.6003), (2.0983, 1.5582)),
    "yeast": ((0.1357, 0.1916, 0.2176), (6.4481, 4.0632)),
}


def folds(data):
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
    Y = np.asarray(data.Y.toarray() if hasattr(data.Y, "toarray") else data.Y)
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        yield scaler.transform(X[train]), Y[train], scaler.transform(X[test]), Y[test]


def log_loss(joint, Y):
    return -joint.log_prob(Y).mean()


def figures(data):
    """Exact match of BR, CC, PCC and CLL-loss of BR, PCC: means over the folds."""
    matches, losses = [], []
    for X, Y, rows, truth in folds(data):
        br = BinaryRelevance(C=1.0).fit(X, Y).predict_joint(rows)
        pcc = ClassifierChain(C=1.0, label_penalty=1.0).fit(X, Y).predict_joint(rows)
        answers = [br.mode(), pcc.mode(Greedy()), pcc.mode(Exhaustive())]
        matches.append([(mode.labels == truth).all(axis=1).mean() for mode in answers])
        losses.append([log_loss(br, truth), log_loss(pcc, truth)])
        assert answers[2].optimal.all()
    return np.mean(matches, axis=0), np.mean(losses, axis=0)


def check(data, name):
    matches, losses = figures(data)
    np.testing.assert_allclose(matches, FIGURES[name][0], atol=1e-4)
    np.testing.assert_allclose(losses, FIGURES[name][1], atol=1e-4)


def test_emotions():
    check(load("emotions"), "emotions")


def test_yeast():
    check(load("yeast"), "yeast")


@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
def test_scene():
    check(load("scene"), "scene")


def tuned(data, **settings):
    """Exact match and CLL-loss of PCC."""
    results = []
    for X, Y, rows, truth in folds(data):
        joint = ClassifierChain(**settings).fit(X, Y).predict_joint(rows)
        match = (joint.mode().labels == truth).all(axis=1).mean()
        results.append([match, log_loss(joint, truth)])
    return np.mean(results, axis=0)


@pytest.mark.slow
def test_chosen_penalties_on_emotions():
    """Label columns with a penalty of their own beat one common penalty, C tuned in both."""
    data = load("emotions")
    match, loss = tuned(data)
    common_match, common_loss = tuned(data, label_penalty=1.0)
    assert round(match, 2) >= 0.32
    assert loss <= 2.27
    assert match > common_match
    assert loss < common_loss < FIGURES["emotions"][1][1]


@pytest.mark.slow
@pytest.mark.usefixtures("shared_data")
def test_chosen_penalties_on_scene():
    data = load("scene")
    match, loss = tuned(data)
    common_match, common_loss = tuned(data, label_penalty=1.0)
    assert round(match, 2) >= 0.69
    assert loss <= 0.95
    assert match > common_match
    assert loss < common_loss < FIGURES["scene"][1][1]
