"""Annealing: never worse than its start, the same walk however it is computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.inference import Annealing, BestFirst, Exhaustive, Greedy
from labelweave.inference.random import _walk_of_vectors
from labelweave.joint import IndependentJoint, MixtureJoint
from tests.inference.test_threshold_algorithm import trees
from tests.joint.cases import forms, make, seeds


@given(forms, seeds, st.integers(0, 4), st.integers(1, 5), st.integers(0, 60))
def test_the_answer_is_never_worse_than_the_start(form, seed, n, L, steps):
    joint, _ = make(form, seed, n, L)
    mode, start = Annealing(steps=steps)(joint), Greedy()(joint)
    assert (mode.log_prob >= start.log_prob - 1e-12).all()
    np.testing.assert_allclose(joint.log_prob(mode.labels), mode.log_prob, atol=1e-9)
    assert (mode.upper_bound >= Exhaustive()(joint).log_prob - 1e-9).all()
    if steps == 0:
        np.testing.assert_array_equal(mode.labels, start.labels)


@given(seeds, st.integers(1, 12), st.integers(1, 4), st.sampled_from([0.0, 0.2]))
def test_the_compiled_walk_is_the_walk_of_whole_vectors(seed, L, K, infinite):
    joint = trees(seed, 5, L, K, infinite=infinite)
    strategy = Annealing(steps=80, temperature=3.0, reanneal=30, random_state=seed)
    start = Greedy()(joint).labels
    temperatures = strategy._temperatures()
    compiled = joint.as_trees().anneal(joint, start, temperatures, seed)
    plain = _walk_of_vectors(joint, start, temperatures, seed)
    np.testing.assert_array_equal(compiled, plain)


def test_it_starts_at_the_best_mode_of_the_components_and_improves_on_it():
    joint = trees(0, 200, 10, 4, scale=1.0)
    modes = np.stack([part.mode().labels for part in joint.components], axis=1)
    best = joint._log_prob(modes).max(axis=1)
    np.testing.assert_allclose(Annealing(steps=0)(joint).log_prob, best)
    annealed, exact = Annealing()(joint), BestFirst(10_000)(joint)
    assert exact.optimal.all()
    assert (annealed.log_prob > best + 1e-9).any()
    found = annealed.log_prob >= exact.log_prob - 1e-9
    assert (best >= exact.log_prob - 1e-9).mean() < found.mean()
    # A longer walk finds more of the modes.
    longer = Annealing(steps=1500)(joint)
    assert (longer.log_prob >= exact.log_prob - 1e-9).mean() > found.mean()


@pytest.mark.parametrize(("labels", "scale"), [(8, 1.0), (14, 1.0), (14, 0.5)])
def test_the_default_finds_more_modes_than_the_published_schedule(labels, scale):
    """Mixtures that had no part in the choice of the schedule."""
    joint = trees(31, 300, labels, 8, scale=scale)
    exact = BestFirst(200_000)(joint)
    missed, published = (
        (strategy(joint).log_prob < exact.log_prob - 1e-9)[exact.optimal].mean()
        for strategy in (Annealing(), Annealing.preset("published"))
    )
    assert missed < 0.75 * published
    assert missed < 0.2


def test_temperatures():
    strategy = Annealing(steps=5, temperature=8.0, reanneal=3, cooling=0.5)
    assert strategy._temperatures().tolist() == [8.0, 4.0, 2.0, 8.0, 4.0]
    first, last = Annealing()._temperatures()[[0, 49]]
    assert (first, round(last, 2)) == (0.5, 0.02)
    published = Annealing.preset("published")._temperatures()
    np.testing.assert_allclose(published[[0, 49, 50, 149]], [100.0, 8.1, 100.0, 8.1], rtol=1e-2)


def test_cold_walks_only_climb():
    """At a temperature of almost nothing every accepted flip is an improvement."""
    joint = IndependentJoint(np.random.default_rng(0).normal(size=(30, 8)))
    start = np.zeros((30, 8), dtype=np.int8)
    strategy = Annealing(steps=400, temperature=1e-9, reanneal=400)
    ends = joint.as_trees().anneal(joint, start, strategy._temperatures(), 0)
    np.testing.assert_array_equal(ends, joint.mode().labels)


def test_known_labels_stay():
    joint = trees(1, 20, 8, 3).condition({0: 1, 3: 0})
    labels = Annealing(steps=300)(joint).labels
    assert (labels[:, 0] == 1).all()
    assert (labels[:, 3] == 0).all()
    everything = joint.condition(dict.fromkeys((1, 2, 4, 5, 6, 7), 1))
    assert (Annealing()(everything).labels[:, 1] == 1).all()


def test_seeds_batches_and_threads():
    joint = trees(6, 50, 12, 3, scale=0.5)
    strategy = Annealing(random_state=4)
    mode = strategy(joint)
    np.testing.assert_array_equal(strategy(joint).labels, mode.labels)
    np.testing.assert_array_equal(strategy(joint[7:19]).labels, mode.labels[7:19])
    assert (Annealing(random_state=5)(joint).labels != mode.labels).any()
    joint.n_threads = 3
    np.testing.assert_array_equal(strategy(joint).labels, mode.labels)
    generators = [Annealing(random_state=np.random.default_rng(1))(joint) for _ in range(2)]
    np.testing.assert_array_equal(generators[0].labels, generators[1].labels)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"steps": -1}, "steps"),
        ({"steps": 2**32}, "steps"),
        ({"temperature": 0}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"reanneal": 0}, "reanneal"),
        ({"cooling": 0.0}, "cooling"),
        ({"cooling": 1.5}, "cooling"),
    ],
)
def test_bad_settings(arguments, name):
    with pytest.raises(ValueError, match=name):
        Annealing(**arguments)


def test_a_mixture_of_one_is_that_one():
    joint = trees(2, 10, 6, 1)
    np.testing.assert_array_equal(Annealing()(joint).labels, joint.components[0].mode().labels)
    alone = MixtureJoint([1.0], [IndependentJoint(np.ones((2, 3)))])
    assert Annealing()(alone).labels.tolist() == [[1, 1, 1]] * 2
