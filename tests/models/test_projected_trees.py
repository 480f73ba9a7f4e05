"""Trees on random projections of many labels: what their leaves say, and that it is as good."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier

from labelweave import ClassifierChain, DistributionalForest, JointClassifierCV
from labelweave.data import make_synthetic
from labelweave.models import forest as projected_trees
from labelweave.models.forest import (
    N_PROJECTIONS,
    ProjectedExtraTrees,
    leaves_of,
    projected_forest,
    unseen_by,
)

DATA = make_synthetic("mixture", 240, 8, 30, signal=4.0, random_state=0)
X, Y = DATA.X[:160], DATA.Y[:160].astype(np.int64)
TEST, TRUTH = DATA.X[160:], DATA.Y[160:]
FEW = Y[:, :5]
WEIGHT = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)


def log_loss(probabilities, truth, votes=50):
    smoothed = (votes * probabilities + 1) / (votes + 2)
    return -np.log(np.where(truth == 1, smoothed, 1 - smoothed)).sum(axis=1).mean()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_probabilities_are_the_frequencies_in_the_leaves(weight):
    trees = ProjectedExtraTrees(n_estimators=7, random_state=3).fit(X, Y, weight)
    assert trees.forest_.n_outputs_ == N_PROJECTIONS
    own, asked = leaves_of(trees.forest_, X), leaves_of(trees.forest_, TEST)
    mass = np.ones(len(X)) if weight is None else weight
    expected = np.zeros(TRUTH.shape)
    for i, row in enumerate(asked):
        for tree, leaf in enumerate(row):
            mates = own[:, tree] == leaf
            expected[i] += np.average(Y[mates], axis=0, weights=mass[mates]) / 7
    np.testing.assert_allclose(trees.predict_proba(TEST), expected, atol=1e-12)


def test_out_of_bag_predictions_leave_the_row_out():
    trees = ProjectedExtraTrees(n_estimators=9, oob_score=True, random_state=1).fit(X, Y)
    own, unseen = leaves_of(trees.forest_, X), unseen_by(trees.forest_, len(X))
    for i in range(0, len(X), 13):
        shares = [
            np.delete(Y, i, axis=0)[np.delete(own[:, tree], i) == own[i, tree]].mean(axis=0)
            for tree in np.flatnonzero(unseen[i])
        ]
        found = trees.oob_decision_function_[i]
        np.testing.assert_allclose(found.sum(axis=0), 1.0 if shares else 0.0)
        if shares:
            np.testing.assert_allclose(found[1], np.mean(shares, axis=0), atol=1e-12)


def test_few_labels_are_the_trees_classes():
    theirs = ExtraTreesClassifier(60, bootstrap=True, oob_score=True, random_state=0).fit(X, FEW)
    ours = ProjectedExtraTrees(n_estimators=60, oob_score=True, random_state=0).fit(X, FEW)
    np.testing.assert_array_equal(ours.predict_proba(TEST), theirs.predict_proba(TEST))
    np.testing.assert_array_equal(ours.predict(TEST), theirs.predict(TEST))
    np.testing.assert_array_equal(ours.oob_decision_function_, theirs.oob_decision_function_)


def test_projections_lose_little():
    whole = ExtraTreesClassifier(50, bootstrap=True, random_state=0).fit(X, Y)
    ours = ProjectedExtraTrees(n_estimators=50, random_state=0).fit(X, Y)
    losses = [
        log_loss(probabilities, TRUTH)
        for probabilities in (
            np.column_stack([part[:, 1] for part in whole.predict_proba(TEST)]),
            ours.predict_proba(TEST),
            np.tile(Y.mean(axis=0), (len(TEST), 1)),
        )
    ]
    assert losses[1] < losses[0] + 0.05 * (losses[2] - losses[0])
    np.testing.assert_array_equal(ours.predict(TEST), ours.predict_proba(TEST) > 0.5)


def test_pure_nodes_are_not_split():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, (3, 40))[random.integers(0, 3, 300)]
    forest = projected_forest(random.normal(size=(300, 4)), labels, None, seed=0, n_trees=5)
    for tree in forest.estimators_:
        inner = tree.tree_.children_left >= 0
        assert (tree.tree_.impurity[inner] > 1e-6).all()


@pytest.mark.parametrize("share", [0.0, 1.0], ids=["made dense", "kept sparse"])
def test_sparse_features_grow_the_same_kind_of_trees(monkeypatch, share):
    monkeypatch.setattr(projected_trees, "DENSE_SHARE", share)
    positive = np.where(X > 0, X, 0.0)
    dense = projected_forest(positive, Y, None, seed=0, n_trees=5)
    sparse = projected_forest(sp.csr_array(positive), Y, None, seed=0, n_trees=5)
    assert [tree.tree_.node_count for tree in sparse.estimators_] == pytest.approx(
        [tree.tree_.node_count for tree in dense.estimators_], rel=0.05
    )
    if share == 0.0:
        np.testing.assert_array_equal(sparse.apply(positive), dense.apply(positive))


def test_joint_models_of_many_labels_use_them():
    chain = ClassifierChain(C=1.0, label_penalty=1.0)
    woven = JointClassifierCV(joint=chain, random_state=0).fit(X, Y)
    forest = DistributionalForest(random_state=0).fit(X, Y)
    rates = np.tile((Y.sum(axis=0) + 1) / (len(Y) + 2), (len(TEST), 1))
    independent = np.log(np.where(TRUTH == 1, rates, 1 - rates)).sum(axis=1).mean()
    for model in (woven, forest):
        assert model.predict_joint(TEST).log_prob(TRUTH).mean() > independent + 1
    assert isinstance(woven.bases_[0].classifier, ProjectedExtraTrees)
    assert forest.forest_.n_outputs_ == N_PROJECTIONS
