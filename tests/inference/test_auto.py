"""The default strategy: exact where that is cheap."""

from __future__ import annotations

import numpy as np

from labelweave.inference import Auto, Exhaustive, Greedy
from labelweave.joint import ChainJoint, GeneralChain


def chain(n: int, n_labels: int, seed: int = 0) -> ChainJoint:
    random = np.random.default_rng(seed)
    coupling = np.tril(random.normal(size=(n_labels, n_labels)), -1)
    return ChainJoint(random.normal(size=(n, n_labels)), 2.0 * coupling)


def as_general(joint: ChainJoint) -> GeneralChain:
    return GeneralChain(joint._log_odds, joint.n_rows, joint.n_labels)


def test_few_labels_are_searched_exactly_and_certified():
    joint = chain(200, 7)
    mode = Auto()(joint)
    assert mode.optimal.all()
    np.testing.assert_array_equal(mode.labels, Exhaustive()(joint).labels)
    assert (mode.log_prob > Greedy()(joint).log_prob + 1e-9).any()


def test_many_labels_are_greedy():
    joint = chain(20, 21)
    mode, greedy = Auto()(joint), Greedy()(joint)
    np.testing.assert_array_equal(mode.labels, greedy.labels)
    np.testing.assert_array_equal(mode.upper_bound, greedy.upper_bound)
    assert not mode.optimal.all()


def test_the_limit_is_an_argument():
    joint = chain(50, 7)
    np.testing.assert_array_equal(Auto(max_labels=6)(joint).labels, Greedy()(joint).labels)
    np.testing.assert_array_equal(Auto(max_labels=7)(joint).labels, Exhaustive()(joint).labels)


def test_chains_of_python_functions_have_a_limit_of_their_own():
    joint = as_general(chain(30, 11))
    np.testing.assert_array_equal(Auto()(joint).labels, Greedy()(joint).labels)
    np.testing.assert_array_equal(Auto(max_general=11)(joint).labels, Exhaustive()(joint).labels)
    few = as_general(chain(30, 6))
    assert Auto()(few).optimal.all()


def test_known_labels_do_not_count_and_rows_do_not_meet():
    """Evidence leaves some rows few unknown labels: those are exact, whatever the others are."""
    joint = chain(40, 9)
    evidence = np.where(np.arange(40) % 2 == 0, 1, -1)
    given = joint.condition({0: evidence, 4: evidence, 7: evidence})
    strategy = Auto(max_labels=6)
    mode = strategy(given)
    even = np.arange(40) % 2 == 0
    np.testing.assert_array_equal(mode.labels[even], Exhaustive()(given[even]).labels)
    np.testing.assert_array_equal(mode.labels[~even], Greedy()(given[~even]).labels)
    assert mode.optimal[even].all()
    for row in range(40):
        alone = strategy(given[row])
        np.testing.assert_array_equal(alone.labels[0], mode.labels[row])
        np.testing.assert_array_equal(alone.upper_bound[0], mode.upper_bound[row])


def test_no_rows():
    mode = Auto()(chain(3, 4)[:0])
    assert mode.labels.shape == (0, 4)
