"""Tree networks against plain scikit-learn, and whether they find the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit
from sklearn.naive_bayes import GaussianNB

from labelweave import BinaryRelevance, TreeNetwork
from labelweave._common.folds import assign_folds
from labelweave.data import make_synthetic
from labelweave.joint import TreeJoint
from labelweave.logistic.conditionals import fit_conditionals
from labelweave.models.structure_learning import N_FOLDS
from tests.contract.samples import all_vectors, sample

X, Y = sample(n=80)


def undirected(parents):
    return {frozenset((int(p), i)) for i, p in enumerate(parents) if p >= 0}


def test_conditionals_are_those_of_the_structure():
    parents = [2, 0, -1, 0]
    model = TreeNetwork(C=0.7, label_penalty=0.2, structure=parents).fit(X, Y)
    expected = fit_conditionals(X, Y, model.structure_.graph(), C=0.7, label_penalty=0.2)
    np.testing.assert_allclose(model.conditionals_.weights, expected.weights, atol=1e-9)
    np.testing.assert_allclose(model.conditionals_.coupling, expected.coupling, atol=1e-9)
    assert np.isnan(model.structure_.gains).all()
    joint = model.predict_joint(X)
    assert isinstance(joint, TreeJoint)
    z = model.conditionals_.scores(X) + Y @ model.conditionals_.coupling.T
    expected_log_prob = (Y * z - np.logaddexp(0, z)).sum(axis=1)
    np.testing.assert_allclose(joint.log_prob(Y), expected_log_prob, atol=1e-12)


def test_edge_gains_are_held_out_likelihoods_of_plain_fits():
    """The whole search by scikit-learn, pair by pair, and all forests by enumeration."""
    model = TreeNetwork(C=0.5, label_penalty=1.0).fit(X, Y)
    fold, _ = assign_folds(X, np.ones(len(X)), N_FOLDS, model._seed())

    def weight(target, parent):
        columns = X if parent is None else np.column_stack([X, Y[:, parent]])
        total = 0.0
        for part in range(N_FOLDS):
            inside = fold != part
            solver = LogisticRegression(C=0.5, tol=1e-10, solver="newton-cholesky")
            fitted = solver.fit(columns[inside], Y[inside, target])
            log_proba = fitted.predict_log_proba(columns[~inside])
            total += log_proba[np.arange((~inside).sum()), Y[~inside, target]].sum()
        return total

    alone = np.array([weight(i, None) for i in range(4)])
    gains = np.array(
        [[0 if i == j else weight(i, j) - alone[i] for i in range(4)] for j in range(4)]
    )
    learned = np.where(np.eye(4, dtype=bool), 0.0, model.structure_.pair_gains)
    np.testing.assert_allclose(learned, gains, atol=5e-3)

    def total(parents):
        return sum(gains[p, i] for i, p in enumerate(parents) if p >= 0)

    def acyclic(parents):
        for start in range(4):
            label = start
            for _ in range(5):
                label = parents[label] if label >= 0 else -1
            if label >= 0:
                return False
        return True

    forests = (p for p in itertools.product(range(-1, 4), repeat=4) if acyclic(p))
    assert total(model.structure_.parents) == pytest.approx(max(map(total, forests)), abs=5e-3)


@pytest.mark.parametrize("base", [LogisticRegression(), GaussianNB()])
def test_any_base_classifier_is_asked_for_both_values_of_the_parent(base):
    model = TreeNetwork(estimator=base, structure=[1, -1, 1, 2]).fit(X, Y)
    expected = np.ones(len(X))
    for label, parent in enumerate([1, -1, 1, 2]):
        given = X if parent < 0 else np.column_stack([X, Y[:, parent]])
        probability = model.estimators_[label].predict_proba(given)
        expected *= probability[np.arange(len(X)), Y[:, label]]
    np.testing.assert_allclose(np.exp(model.predict_joint(X).log_prob(Y)), expected, atol=1e-12)


def test_the_general_path_finds_what_the_engine_finds():
    engine = TreeNetwork(C=1.0, label_penalty=1.0).fit(X, Y)
    plain = TreeNetwork(estimator=LogisticRegression(solver="newton-cholesky")).fit(X, Y)
    np.testing.assert_array_equal(plain.structure_.parents, engine.structure_.parents)
    np.testing.assert_allclose(plain.structure_.gains, engine.structure_.gains, atol=5e-3)
    np.testing.assert_allclose(plain.predict_proba(X), engine.predict_proba(X), atol=1e-4)


def test_many_labels_with_a_base_try_the_promising_parents_only():
    rows, labels = sample(n=60, n_labels=12, seed=3)
    model = TreeNetwork(estimator=GaussianNB(), screen=2).fit(rows, labels)
    tried = np.isfinite(model.structure_.pair_gains)
    np.testing.assert_array_equal(tried.sum(axis=0), 2)


def test_a_label_that_copies_another_hangs_on_it():
    labels = np.column_stack([Y, Y[:, 1]])
    model = TreeNetwork(C=0.1, label_penalty=0.01).fit(X, labels)
    assert frozenset((1, 4)) in undirected(model.structure_.parents)
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted[:, 1], predicted[:, 4])


def test_constant_labels_stay_alone():
    labels = Y.copy()
    labels[:, 0], labels[:, 3] = 0, 1
    model = TreeNetwork(C=0.1, label_penalty=0.1).fit(X, labels)
    parents = model.structure_.parents
    assert parents[0] == parents[3] == -1
    assert not np.isin([0, 3], parents).any()


def test_independent_labels_gain_nothing_and_lose_nothing():
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    labels = (random.random((400, 3)) < 0.4).astype(int)
    tree = TreeNetwork(C=0.01, label_penalty=1.0).fit(rows, labels)
    alone = BinaryRelevance(C=0.01).fit(rows, labels)
    assert np.nan_to_num(tree.structure_.gains).sum() < 2.0
    np.testing.assert_allclose(tree.predict_proba(rows), alone.predict_proba(rows), atol=0.03)


def test_names_reach_the_structure():
    frame = pd.DataFrame(Y, columns=["sun", "rain", "wind", "snow"])
    model = TreeNetwork(C=1.0, label_penalty=0.1, structure=["rain", None, "rain", "wind"])
    structure = model.fit(X, frame).structure_
    np.testing.assert_array_equal(structure.parents, [1, -1, 1, 2])
    branches = [line.partition("  ")[0] for line in repr(structure).splitlines()[1:4]]
    assert branches == ["rain", "├─ sun", "└─ wind"]
    assert repr(structure).splitlines()[4].startswith("   └─ snow")


def test_random_structures_follow_the_seed():
    drawn = [
        TreeNetwork(C=1.0, label_penalty=1.0, structure="random", random_state=seed)
        .fit(X, Y)
        .structure_.parents.tolist()
        for seed in (0, 0, 1, 2, 3)
    ]
    assert drawn[0] == drawn[1]
    assert len(set(map(tuple, drawn))) > 1


def test_edges_are_weighed_by_the_splits_that_are_given():
    fold, _ = assign_folds(X, np.ones(len(X)), N_FOLDS, TreeNetwork()._seed())
    dealt = PredefinedSplit(fold)
    expected = TreeNetwork(C=0.5, label_penalty=1.0).fit(X, Y).structure_
    for cv in (dealt, list(dealt.split())):
        found = TreeNetwork(C=0.5, label_penalty=1.0, cv=cv).fit(X, Y).structure_
        np.testing.assert_array_equal(found.pair_gains, expected.pair_gains)


def test_splits_count_the_rows_of_weight_zero():
    weight = np.arange(len(X)) % 3
    kept = np.flatnonzero(weight)
    fold = np.arange(len(X)) % 4
    fixed = {"C": 0.5, "label_penalty": 1.0}
    model = TreeNetwork(cv=PredefinedSplit(fold), **fixed).fit(X, Y, sample_weight=weight)
    alone = TreeNetwork(cv=PredefinedSplit(fold[kept]), **fixed)
    alone.fit(X[kept], Y[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(model.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    ("cv", "complaint"),
    [
        (0, "cv must be a splitter, a list of"),
        ("auto", "cv must be a splitter, a list of"),
        ([([0], [1000])], "cv names rows that X does not have"),
        ([([0], [])], "cv must hold out rows of each fold"),
        ([], "cv must have at least one split"),
    ],
)
def test_bad_folds_are_named(cv, complaint):
    with pytest.raises(ValueError, match=complaint):
        TreeNetwork(cv=cv).fit(X, Y)


@pytest.mark.parametrize("screen", [0, -1, 1.5, True, "some"])
def test_bad_screen_is_named(screen):
    with pytest.raises(ValueError, match="screen must be None, 'auto' or a whole number of at"):
        TreeNetwork(screen=screen).fit(X, Y)


def shares_found(n, seeds):
    found = []
    for seed in seeds:
        data = make_synthetic("tree", n, 5, 8, coupling=3.0, random_state=seed)
        coupling = data.joint.conditionals.coupling
        # An edge too weak to matter cannot be found by anyone.
        truth = {frozenset((i, j)) for i, j in np.argwhere(np.abs(coupling) > 1.5)}
        model = TreeNetwork(C=1.0, label_penalty=0.1).fit(data.X, data.Y)
        found.append(len(truth & undirected(model.structure_.parents)) / len(truth))
    return np.mean(found)


def test_the_true_edges_are_found_as_rows_grow():
    few, many = shares_found(60, range(4)), shares_found(3000, range(4))
    assert few < many
    assert many > 0.95


def test_the_log_likelihood_approaches_the_truth():
    data, fresh = (
        make_synthetic("tree", 3000, 5, 6, random_state=5),
        make_synthetic("tree", 3000, 5, 6, random_state=5),
    )
    model = TreeNetwork(C=1.0, label_penalty=0.1).fit(data.X, data.Y)
    rows = np.random.default_rng(1).normal(size=(2000, 5))
    truth = fresh.joint_of(rows)
    labels = truth.sample(1, 3)[:, 0]
    regret = truth.log_prob(labels).mean() - model.predict_joint(rows).log_prob(labels).mean()
    assert -0.01 < regret < 0.03


def test_marginals_are_sums_over_all_vectors():
    model = TreeNetwork(C=1.0, label_penalty=0.1).fit(X, Y)
    joint = model.predict_joint(X[:10])
    vectors = all_vectors(4)
    table = np.exp([joint.log_prob(np.tile(v, (10, 1))) for v in vectors])
    np.testing.assert_allclose(model.predict_proba(X[:10]), table.T @ vectors, atol=1e-12)
