"""The default strategy: exact where that is cheap, the best of several elsewhere."""

import re
import warnings

import numpy as np
import pytest

from labelweave import ClassifierChain
from labelweave.decision import SubsetLoss, UnprovenModeWarning
from labelweave.inference import Annealing, Auto, Beam, BestFirst, Exhaustive, Greedy, MonteCarlo
from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint


def chain(n, L, scale=2.0, seed=0):
    rng = np.random.default_rng(seed)
    coupling = np.tril(rng.normal(size=(L, L)), -1)
    return ChainJoint(rng.normal(size=(n, L)), scale * coupling)


def as_general(joint):
    return ChainJoint.of_functions(joint.conditionals.log_odds_of, joint.n_rows, joint.n_labels)


def test_few_labels_are_settled_and_certified():
    joint = chain(200, 7)
    mode = Auto()(joint)
    assert mode.optimal.all()
    np.testing.assert_array_equal(mode.labels, Exhaustive()(joint).labels)
    assert (mode.log_prob > Greedy()(joint).log_prob + 1e-9).any()


def test_many_confident_labels_are_settled_too():
    joint = ChainJoint(
        *(
            6 * part
            for part in (chain(20, 60).conditionals.scores, chain(20, 60).conditionals.coupling / 9)
        )
    )
    assert Auto()(joint).optimal.all()


def test_flat_rows_get_the_best_of_all_strategies():
    joint = chain(12, 60, scale=0.2)
    mode = Auto(budget=300)(joint)
    assert not mode.optimal.any()
    for strategy in (Greedy(), BestFirst(300), Beam(32), MonteCarlo(100)):
        other = strategy(joint)
        assert (mode.log_prob >= other.log_prob - 1e-12).all()
        assert (mode.upper_bound <= other.upper_bound).all()
    # Both kinds of strategy earn their place somewhere.
    assert (mode.log_prob > BestFirst(300)(joint).log_prob + 1e-9).any()
    np.testing.assert_array_equal(mode.log_prob, joint.log_prob(mode.labels))


def test_chains_of_python_functions():
    few = as_general(chain(30, 6))
    np.testing.assert_array_equal(Auto()(few).labels, Exhaustive()(few).labels)
    assert Auto()(few).optimal.all()
    many = as_general(chain(4, 24, scale=0.3))
    mode = Auto(budget=50)(many)
    assert (mode.log_prob >= Greedy()(many).log_prob - 1e-12).all()
    assert not mode.optimal.any()


def test_rows_do_not_meet():
    """Evidence settles some rows; what a row gets does not depend on the others."""
    joint = chain(20, 24, scale=0.3)
    even = np.arange(20) % 2 == 0
    given = joint.condition({label: np.where(even, 1, -1) for label in range(20)})
    strategy = Auto(budget=30)
    mode = strategy(given)
    assert mode.optimal[even].all()
    assert not mode.optimal.all()
    for row in range(20):
        alone = strategy(given[row])
        np.testing.assert_array_equal(alone.labels[0], mode.labels[row])
        np.testing.assert_array_equal(alone.upper_bound[0], mode.upper_bound[row])


def test_other_forms():
    independent = IndependentJoint(np.random.default_rng(0).normal(size=(3, 50)))
    assert Auto()(independent).optimal.all()
    mixture = MixtureJoint([0.5, 0.5], [independent, IndependentJoint(-independent.scores)])
    # Opposite components with nothing in common: each has its mode, and no proof is in reach.
    assert (Auto()(mixture).log_prob >= Greedy()(mixture).log_prob - 1e-12).all()
    assert (Auto()(mixture).upper_bound <= Greedy()(mixture).upper_bound).all()
    small = MixtureJoint([0.3, 0.7], [chain(9, 5), chain(9, 5, seed=1)])
    np.testing.assert_array_equal(Auto()(small).labels, Exhaustive()(small).labels)


def test_a_chain_of_many_labels_predicts_by_default():
    """Beyond 20 labels the default of an estimator still finds, and proves, the mode."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6))
    Y = (X @ rng.normal(size=(6, 30)) - 2 + rng.normal(size=(150, 30)) > 0).astype(int)
    model = ClassifierChain(C=0.1, label_penalty=0.1).fit(X[:100], Y[:100])
    joint = model.predict_joint(X[100:])
    mode = BestFirst()(joint)
    assert mode.optimal.all()
    np.testing.assert_array_equal(model.predict(X[100:]), mode.labels)
    np.testing.assert_array_equal(joint.mode().labels, mode.labels)
    assert (mode.labels != Greedy()(joint).labels).any()


def test_no_rows():
    mode = Auto()(chain(3, 4)[:0])
    assert mode.labels.shape == (0, 4)


@pytest.mark.parametrize("budget", [0, 1.5, True, "many"])
def test_bad_budget(budget):
    with pytest.raises(ValueError, match="budget"):
        Auto(budget)


@pytest.mark.parametrize("form", [lambda joint: joint, as_general])
def test_flat_rows_of_few_labels_are_enumerated(form):
    joint = form(chain(5, 12, scale=0.1))
    assert not BestFirst(20)(joint).optimal.all()
    found = Auto(budget=20)(joint)
    assert found.optimal.all()
    np.testing.assert_array_equal(found.labels, Exhaustive()(joint).labels)


@pytest.mark.parametrize("n_labels", [6, 18, 30])
def test_the_mode_of_a_joint_is_that_of_the_default_strategy(n_labels):
    joint = chain(6, n_labels, scale=0.3)
    mixture = MixtureJoint([0.4, 0.6], [joint, chain(6, n_labels, seed=1)])
    for each in (joint, mixture, joint.tempered(2.0), joint.condition({0: 1})):
        mode, expected = each.mode(), Auto()(each)
        np.testing.assert_array_equal(mode.labels, expected.labels)
        np.testing.assert_array_equal(mode.upper_bound, expected.upper_bound)
        np.testing.assert_array_equal(each.decide("subset").labels, mode.labels)


def test_what_is_made_of_a_joint_keeps_its_strategy():
    joint = chain(3, 5).with_inference(Greedy())
    for each in (joint[1:], joint.condition({0: 1}), joint.tempered(2.0), joint.tempered(1.0)):
        assert each.inference == Greedy()
    assert joint.with_inference(None).inference is None


@pytest.fixture(scope="module")
def flat_model():
    """Return a chain of 120 labels whose mode no small budget proves, and new rows."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(120, 8)), rng.normal(size=(120, 120))
    Y = (0.3 * X @ rng.normal(size=(8, 120)) + noise + np.roll(noise, 1, axis=1) > 0.5).astype(int)
    return ClassifierChain(C=0.01, label_penalty=0.03).fit(X, Y), rng.normal(size=(12, 8))


@pytest.mark.parametrize("strategy", [Beam(1), Auto(budget=10), BestFirst(budget=20)])
def test_subset_by_name_and_by_class_is_one_search_on_flat_rows(flat_model, strategy):
    model, rows = flat_model
    model.set_params(inference=strategy)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnprovenModeWarning)
        joint = model.predict_joint(rows)
        labels = [
            model.set_params(decision="subset").predict(rows),
            model.set_params(decision=SubsetLoss()).predict(rows),
            model.decide(rows, "subset").labels,
            model.decide(rows, SubsetLoss()).labels,
            joint.decide("subset").labels,
            joint.decide(SubsetLoss()).labels,
        ]
    for one in labels:
        np.testing.assert_array_equal(one, strategy(joint).labels)
    assert (joint.mode().labels != labels[0]).any()  # it is not the search by default
    assert len(caught) == (6 if strategy != Beam(1) else 0)
    for warning in caught:
        call = re.search(r"predict_joint\(X\)\.mode\((.*)\)\.gap", str(warning.message))
        assert call.group(1) == repr(strategy)


def test_flat_mixtures_of_chains_merge_lists_and_are_annealed():
    parts = [chain(5, 40, seed=s) for s in range(3)]
    mixture = MixtureJoint(
        np.ones(3) / 3,
        [ChainJoint(0.2 * p.conditionals.scores, 0.1 * p.conditionals.coupling) for p in parts],
    )
    listed, walked = BestFirst(10_000)(mixture), Annealing()(mixture)
    assert not listed.optimal.any()
    found = mixture.mode()
    np.testing.assert_array_equal(found.log_prob, listed.or_better(walked).log_prob)
    assert (found.log_prob > Greedy()(mixture).log_prob + 0.1).any()
