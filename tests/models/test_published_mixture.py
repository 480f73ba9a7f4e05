"""The published mixture of trees against an independent implementation of its algorithm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from labelweave import ChainMixture, MixtureSettings, TreeMixture
from labelweave.data import load, make_synthetic
from labelweave.inference import Annealing
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.conditionals import TrainingRows
from labelweave.models.mixture_size import MixtureLearner, compare_sizes, selection_splits
from labelweave.models.structure_learning import TreeLearner
from tests.reference.tree_mixture import PlainMixture, learn

C = 3.0


def mixed(n, seed):
    data = make_synthetic("mixture", n, 3, 4, n_components=3, coupling=6.0, random_state=seed)
    return data.X, np.asarray(data.Y, dtype=np.int64)


def published(n_components="auto"):
    settings = MixtureSettings.preset("published", max_components=3)
    return TreeMixture.preset("published", C=C, n_components=n_components, settings=settings)


def learner_of(model, X, Y):
    """Return the learner of trees as the estimator makes it."""
    rows = TrainingRows(X, Y.astype(np.int8), seed=model._seed())
    return TreeLearner(rows, None, model.screen, model.settings.cv)


def splits_of(model, X, Y):
    """Return the rows of the split, and which of them weigh edges, as the estimator takes them."""
    penalties = PenaltyChoice(model.C, model.label_penalty)
    learner = MixtureLearner(learner_of(model, X, Y), penalties, model.settings)
    [(part, outside)] = selection_splits(learner)
    inside = np.ones(len(X), dtype=bool)
    inside[outside] = False
    return inside, part.structures.held_out()[0]


def assert_same_joint(model, trees, shares, fitted, X, Y):
    assert [component.parents.tolist() for component in model.components_] == trees
    weights = np.exp(model.gate_.log_weights(X[:1]))[0]
    np.testing.assert_allclose(weights, shares, atol=1e-4)
    plain = PlainMixture(X, Y, C, 1.0)
    expected = np.log(np.exp(plain.log_joint(trees, (shares, fitted), X, Y)).sum(axis=1))
    np.testing.assert_allclose(model.predict_joint(X).log_prob(Y), expected, atol=1e-3)


@pytest.fixture(autouse=True)
def one_thread():
    """Keep BLAS from starting threads for matrices that are not worth one."""
    with threadpool_limits(limits=1):
        yield


@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in (1, 2))])
def test_selection_stops_where_the_plain_algorithm_does(seed):
    X, Y = mixed(200, seed)
    model = published().fit(X, Y)
    *found, validation = learn(X, Y, C, 1.0, *splits_of(model, X, Y), 3)
    np.testing.assert_allclose([step.validation for step in model.history_], validation, atol=1e-4)
    assert_same_joint(model, *found, X, Y)


def test_a_given_number_of_trees_is_grown_from_all_rows():
    X, Y = mixed(120, 5)
    model = published(n_components=2).fit(X, Y)
    plain = PlainMixture(X, Y, C, 1.0)
    held_out = learner_of(model, X, Y).held_out()
    assert held_out.shape == (1, 120)
    *_, (trees, (shares, fitted)) = plain.sizes(held_out[0], 2)
    assert_same_joint(model, trees, shares, fitted, X, Y)


def test_it_is_decoded_by_annealing_from_the_best_of_the_trees():
    X, Y = mixed(200, 5)
    model = published(n_components=3).fit(X, Y)
    joint = model.predict_joint(X)
    np.testing.assert_array_equal(model.predict(X), Annealing.preset("published")(joint).labels)


@pytest.mark.parametrize("size", ["auto", pytest.param(2, marks=pytest.mark.slow)])
def test_no_penalty_next_to_the_held_out_one_is_better(size):
    """By rows held out as often as the choice holds them out, for the size at each penalty."""
    X, Y = mixed(150, 3)
    settings = MixtureSettings(max_components=3, cv=3)
    model = TreeMixture(C="held-out", n_components=size, settings=settings, label_penalty=1.0)
    model.fit(X, Y)
    penalties = PenaltyChoice(model.C_, 1.0)
    learner = MixtureLearner(learner_of(model, X, Y), penalties, settings)

    def validation(C):
        given = replace(learner, penalties=PenaltyChoice(C, 1.0))
        return compare_sizes(given, None if size == "auto" else size).best.validation

    around = [validation(model.C_ * 10.0**step) for step in (-0.5, 0.0, 0.5)]
    assert around[1] == max(around)


@pytest.mark.slow
def test_equal_weights_keep_small_trees_alive():
    """By share, penalties shrink all trees but one away; weighed alike, they share the rows."""
    data = load("emotions")
    X = scale(data.X)
    largest = {}
    for weighting in ("share", "equal"):
        settings = MixtureSettings(gate="constant", weighting=weighting)
        model = TreeMixture(n_components=6, settings=settings, C=0.01, label_penalty=0.03)
        model.fit(X, data.Y)
        largest[weighting] = np.exp(model.gate_.log_weights(X[:1])).max()
    assert largest["equal"] < 0.5 < 0.8 < largest["share"]


@pytest.mark.parametrize("model", [TreeMixture, ChainMixture])
def test_wrong_penalties_are_told_what_there_is(model):
    with pytest.raises(ValueError, match="C must be 'held-out', 'cv' or a finite number above 0"):
        model(C="heldout").fit(*mixed(20, 3))
    with pytest.raises(ValueError, match="label_penalty must be 'cv' or a finite number above 0"):
        model(label_penalty="held-out").fit(*mixed(20, 3))
