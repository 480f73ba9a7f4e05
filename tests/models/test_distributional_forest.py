"""Leaf mates against a loop over trees and rows, and the mixture that they are a part of."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from labelweave import ClassifierChain, DistributionalForest, LabelPowerset
from labelweave.data import make_synthetic
from labelweave.inference import Exhaustive
from labelweave.joint import IndependentJoint, ListedJoint, MixtureJoint
from labelweave.models import forest as distributional_forest
from labelweave.models.forest import (
    ForestRows,
    LeafMates,
    best_weight,
    choose_smoothing,
    leaves_of,
    tempered,
    unseen_by,
)
from tests.reference import leaf_mates as reference

DATA = make_synthetic("mixture", 160, 6, 4, signal=4.0, random_state=0)
X, Y = DATA.X[:120], DATA.Y[:120].astype(np.int8)
TEST, TRUTH = DATA.X[120:], DATA.Y[120:]
WEIGHT = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
VECTORS, PLACE = np.unique(Y, axis=0, return_inverse=True)
PLACE = PLACE.ravel()
FORESTS = {
    "extra": ExtraTreesClassifier(7, random_state=0),
    "random": RandomForestClassifier(7, min_samples_leaf=3, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
}
SMALL = ExtraTreesClassifier(20, min_samples_leaf=2, bootstrap=True)


def mates_of(forest, weight):
    forest.fit(X, Y, sample_weight=weight)
    leaves = leaves_of(forest, X)
    return leaves, LeafMates.of(leaves, PLACE, weight, len(VECTORS))


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("weight", [np.ones(len(X)), WEIGHT], ids=["equal", "weighted"])
def test_shares_are_those_of_a_loop_over_trees_and_rows(name, weight):
    leaves, mates = mates_of(FORESTS[name], weight)
    asked = leaves_of(FORESTS[name], TEST)
    expected = reference.shares(leaves, PLACE, weight, len(VECTORS), asked)
    np.testing.assert_allclose(mates.shares(asked).toarray(), expected, atol=1e-14)


def test_marginals_of_the_shares_are_those_of_the_forest():
    forest = FORESTS["extra"]
    _, mates = mates_of(forest, WEIGHT)
    marginals = mates.shares(leaves_of(forest, TEST)) @ VECTORS
    expected = np.column_stack([part[:, 1] for part in forest.predict_proba(TEST)])
    np.testing.assert_allclose(marginals, expected, atol=1e-12)


def test_out_of_bag_shares_leave_the_row_out():
    forest = FORESTS["random"]
    leaves, mates = mates_of(forest, WEIGHT)
    unseen = unseen_by(forest, len(X))
    shares, judged = mates.shares_without(leaves, unseen, PLACE, WEIGHT)
    expected = reference.shares_without(leaves, unseen, PLACE, WEIGHT, len(VECTORS))
    assert judged.mean() > 0.8
    np.testing.assert_array_equal(judged, unseen.any(axis=1))
    np.testing.assert_allclose(shares.toarray()[judged], expected[judged], atol=1e-12)


def test_a_label_of_the_row_has_no_say_in_its_own_shares():
    """The other rows' shares may change with it; its own, by trees that never saw it, may not."""
    forest = FORESTS["random"]
    leaves, mates = mates_of(forest, np.ones(len(X)))
    unseen = unseen_by(forest, len(X))
    row = int(np.flatnonzero(unseen.any(axis=1))[0])
    changed = PLACE.copy()
    changed[row] = (changed[row] + 1) % len(VECTORS)
    other = LeafMates.of(leaves, changed, np.ones(len(X)), len(VECTORS))
    first = mates.shares_without(leaves, unseen, PLACE, np.ones(len(X)))[0]
    second = other.shares_without(leaves, unseen, changed, np.ones(len(X)))[0]
    np.testing.assert_allclose(first.toarray()[row], second.toarray()[row], atol=1e-12)


def test_every_tree_of_a_forest_without_bootstrap_has_seen_every_row():
    for name in ("extra", "tree"):
        mates_of(FORESTS[name], WEIGHT)
        assert unseen_by(FORESTS[name], len(X)) is None


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.01, 3.0])
def test_tempered_shares(temperature):
    shares = np.array([[0.2, 0.0, 0.8], [1e-200, 1.0, 0.0], [0.0, 0.0, 1.0]])
    power = shares ** (1 / temperature)
    expected = power / power.sum(axis=1, keepdims=True)
    found = tempered(sp.csr_array(shares), temperature).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_the_joint_is_the_mixture_it_is_said_to_be():
    model = DistributionalForest(estimator=SMALL).fit(X, Y)
    joint = model.predict_joint(TEST)
    shares = model.leaf_mates_.shares(leaves_of(model.forest_, TEST))
    power = shares.toarray() ** (1 / model.temperature_)
    power /= power.sum(axis=1, keepdims=True)
    marginals = power @ model.vectors_
    marginals += model.shrinkage_ * (model.frequencies_ - marginals)
    for place, vector in enumerate(model.vectors_):
        independent = np.where(vector == 1, marginals, 1 - marginals).prod(axis=1)
        expected = (1 - model.smooth_weight_) * power[:, place]
        expected += model.smooth_weight_ * independent
        found = joint.log_prob(np.tile(vector, (len(TEST), 1)))
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9)
    assert np.isfinite(joint.log_prob(TRUTH)).all()


def test_the_smoothing_is_the_best_of_the_candidates():
    """More or less of the smooth joint, or another temperature, makes held-out rows less likely."""
    model = DistributionalForest(estimator=SMALL).fit(X, Y)
    rng = np.random.default_rng(1)
    shares = sp.csr_array(rng.dirichlet(np.full(len(VECTORS), 0.3), size=len(X)))
    rows = ForestRows(X, Y, VECTORS, PLACE, WEIGHT)
    chosen = choose_smoothing(shares, rows, model.frequencies_, (1.0, 0.5), 1e-3)

    def likelihood(temperature, weight):
        power = shares.toarray() ** (1 / temperature)
        power /= power.sum(axis=1, keepdims=True)
        marginals = power @ VECTORS
        marginals += chosen.shrinkage * (model.frequencies_ - marginals)
        smooth = np.where(Y == 1, marginals, 1 - marginals).prod(axis=1)
        listed = power[np.arange(len(X)), PLACE]
        return WEIGHT @ np.log((1 - weight) * listed + weight * smooth)

    best = likelihood(chosen.temperature, chosen.weight)
    for temperature in (1.0, 0.5):
        for weight in np.linspace(0.01, 0.99, 50):
            assert likelihood(temperature, weight) <= best + 1e-9


def test_weights_at_the_ends():
    impossible, likely = np.full(5, -np.inf), np.zeros(5)
    assert best_weight(impossible, likely, np.ones(5), 0.1) == pytest.approx(1.0)
    assert best_weight(likely, likely - 1, np.ones(5), 0.1) == pytest.approx(0.1)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_order_of_rows_has_no_say_even_in_bootstrap_samples(bootstrap):
    forest = ExtraTreesClassifier(5, bootstrap=bootstrap)
    order = np.random.default_rng(3).permutation(len(X))
    first = DistributionalForest(estimator=forest).fit(X, Y).predict_joint(TEST)
    second = DistributionalForest(estimator=forest).fit(X[order], Y[order]).predict_joint(TEST)
    np.testing.assert_allclose(first.log_prob(TRUTH), second.log_prob(TRUTH), atol=1e-9)


@pytest.mark.parametrize("forest", [SMALL, ExtraTreesClassifier(8)], ids=["out-of-bag", "folds"])
def test_modes_are_proven_and_agree_with_enumeration(forest):
    model = DistributionalForest(estimator=forest, cv=2).fit(X, Y)
    joint = model.predict_joint(TEST)
    mode = joint.mode()
    assert mode.optimal.all()
    np.testing.assert_allclose(mode.log_prob, Exhaustive(4)(joint).log_prob, atol=1e-12)
    np.testing.assert_array_equal(model.predict(TEST), mode.labels)


def test_it_is_a_component_of_mixtures():
    """Beside any other joint, and the mode of the whole is still exact."""
    forest = DistributionalForest(estimator=SMALL).fit(X, Y).predict_joint(TEST)
    powerset = LabelPowerset(C=1.0).fit(X, Y).predict_joint(TEST)
    chain = ClassifierChain(C=1.0, label_penalty=0.1).fit(X, Y).predict_joint(TEST)
    joint = MixtureJoint([0.5, 0.2, 0.3], [forest, powerset, chain])
    expected = np.logaddexp(
        np.logaddexp(np.log(0.5) + forest.log_prob(TRUTH), np.log(0.2) + powerset.log_prob(TRUTH)),
        np.log(0.3) + chain.log_prob(TRUTH),
    )
    np.testing.assert_allclose(joint.log_prob(TRUTH), expected, rtol=1e-12)
    mode = joint.mode()
    assert mode.optimal.all()
    np.testing.assert_allclose(mode.log_prob, Exhaustive(4)(joint).log_prob, atol=1e-12)


def test_it_beats_its_own_marginals_where_labels_depend_on_each_other():
    """Exactly one of six labels, which no rule label by label knows."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(600, 6))
    labels = np.eye(6, dtype=int)[(2 * features + rng.gumbel(size=(600, 6))).argmax(axis=1)]
    model = DistributionalForest(estimator=SMALL).fit(features[:400], labels[:400])
    found, truth = model.predict(features[400:]), labels[400:]
    alone = model.predict_proba(features[400:]) > 0.5
    assert (found == truth).all(axis=1).mean() > (alone == truth).all(axis=1).mean() + 0.1
    assert (found.sum(axis=1) == 1).mean() > 0.95


def test_the_components_are_the_list_and_independent_labels():
    joint = DistributionalForest(estimator=SMALL).fit(X, Y).predict_joint(TEST)
    assert [type(part) for part in joint.components] == [ListedJoint, IndependentJoint]


def test_a_fixed_temperature_is_used():
    model = DistributionalForest(estimator=SMALL, temperature=2.0).fit(X, Y)
    assert model.temperature_ == 2.0


def test_threads_are_passed_on_unless_the_forest_has_its_own():
    ours = DistributionalForest(estimator=SMALL, n_jobs=2).fit(X, Y)
    theirs = DistributionalForest(estimator=ExtraTreesClassifier(3, n_jobs=1), n_jobs=2).fit(X, Y)
    assert (ours.forest_.n_jobs, theirs.forest_.n_jobs) == (2, 1)


BAD = {
    "no leaves": (
        {"estimator": LogisticRegression()},
        "estimator must be a forest or a tree that .* method apply .*LabelPowerset",
    ),
    "one label at a time": (
        {"estimator": GradientBoostingClassifier()},
        "estimator must be a forest or a tree that takes all labels at once",
    ),
    "a class": ({"estimator": RandomForestClassifier}, r"write RandomForestClassifier\(\)"),
    "temperature": ({"temperature": 0}, "temperature must be 'cv' or a finite number above 0"),
    "word": ({"temperature": "auto"}, "temperature must be 'cv' or a finite number above 0"),
    "folds": ({"cv": 1}, "cv must be a splitter, .* a whole number of at least 2; got 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(name):
    parameters, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        DistributionalForest(**parameters).fit(X, Y)


def test_trees_for_label_vectors_are_a_label_powerset_with_smoothing():
    """The estimator sees the rows in an order of its own, which trees on all rows ignore."""
    trees = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = DistributionalForest(estimator=trees, targets="vectors", temperature=1.0).fit(X, Y)
    powerset = LabelPowerset(estimator=trees).fit(X, Y)
    np.testing.assert_array_equal(model.vectors_, powerset.vectors_)
    shares = model.leaf_mates_.shares(leaves_of(model.forest_, TEST)).toarray()
    expected = powerset.estimator_.predict_proba(TEST)
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    listed, smooth = model.predict_joint(TEST).components
    np.testing.assert_allclose(
        np.exp(model.predict_joint(TEST).log_prob(TRUTH)),
        (1 - model.smooth_weight_) * np.exp(listed.log_prob(TRUTH))
        + model.smooth_weight_ * np.exp(smooth.log_prob(TRUTH)),
    )


@pytest.fixture
def few_trees(monkeypatch):
    smaller = partial(distributional_forest.projected_forest, n_trees=20)
    monkeypatch.setattr(distributional_forest, "projected_forest", smaller)


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("targets", ["labels", "vectors"])
def test_without_bootstrap_samples_every_tree_has_seen_every_row(targets):
    model = DistributionalForest(bootstrap=False, targets=targets).fit(X, Y)
    assert unseen_by(model.forest_, len(X)) is None
    # A tree on all rows tells distinct rows apart, down to single ones.
    assert (model.predict(X) == Y).all()
    assert 0 < model.smooth_weight_ < 1


@pytest.mark.usefixtures("few_trees")
def test_many_label_vectors_are_projected():
    many = np.array([[int(bit) for bit in f"{number:06b}"] for number in range(64)] * 2)
    features = np.arange(128.0)[:, None]
    few = DistributionalForest(bootstrap=False, targets="vectors").fit(features, many[:, :2])
    model = DistributionalForest(bootstrap=False, targets="vectors").fit(features, many)
    assert isinstance(few.forest_, ExtraTreesClassifier)
    assert isinstance(model.forest_, ExtraTreesRegressor)
    assert model.forest_.n_outputs_ == 16
    assert (model.predict(features) == many).all()


def test_no_more_rows_are_held_out_than_the_smoothing_needs(monkeypatch):
    data = make_synthetic("mixture", 1000, 3, 3, random_state=0)
    grown = []
    grow = DistributionalForest._grown
    monkeypatch.setattr(
        DistributionalForest, "_grown", lambda self, rows: grown.append(rows) or grow(self, rows)
    )
    trees = ExtraTreesClassifier(3, random_state=0)
    DistributionalForest(estimator=trees).fit(data.X, data.Y)
    assert [len(rows.place) for rows in grown] == [1000, 800, 800, 800]


def test_many_vectors_as_targets_take_no_number_for_each_row_and_vector(monkeypatch):
    few_trees = partial(distributional_forest.projected_forest, n_trees=3)
    monkeypatch.setattr(distributional_forest, "projected_forest", few_trees)
    n = 1024
    X, labels = np.arange(float(n))[:, None], (np.arange(n)[:, None] >> np.arange(10)) & 1
    tracemalloc.start()
    try:
        DistributionalForest(targets="vectors").fit(X, labels)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * n * n


def test_projected_vectors_are_those_of_a_matrix_of_indicators():
    place = np.random.default_rng(0).integers(0, 40, 60)
    dense = np.eye(40, dtype=np.int8)[place]
    X = np.random.default_rng(1).normal(size=(60, 2))
    one, other = (
        distributional_forest.projected_forest(X, target, None, seed=0, n_trees=3)
        for target in (dense, sp.csr_array(dense))
    )
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
