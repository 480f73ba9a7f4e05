"""Best-first search: exact, admissible when cut short, and the same however it is run."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.inference import BestFirst, Exhaustive, Greedy
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint, MixtureJoint
from tests.inference.chains import (
    as_general,
    assert_valid,
    random_chain,
    scales,
    true_maximum,
)
from tests.joint.cases import forms, make, seeds

rows = st.integers(0, 4)
labels = st.integers(1, 10)


@given(seeds, rows, labels, scales, st.booleans())
def test_exact(seed, n, L, scale, evidence):
    joint = random_chain(seed, n, L, scale, evidence)
    mode = BestFirst()(joint)
    maximum = true_maximum(joint)
    assert_valid(mode, joint, maximum)
    np.testing.assert_allclose(mode.log_prob, maximum, rtol=1e-10, atol=1e-10)
    assert mode.optimal.all()


@given(seeds, rows, st.integers(1, 6), scales, st.booleans())
def test_exact_through_conditionals_only(seed, n, L, scale, evidence):
    joint = as_general(random_chain(seed, n, L, scale, evidence))
    mode = BestFirst()(joint)
    maximum = true_maximum(joint)
    assert_valid(mode, joint, maximum)
    np.testing.assert_allclose(mode.log_prob, maximum, rtol=1e-10, atol=1e-10)
    assert mode.optimal.all()


@given(seeds, rows, labels, scales, st.booleans(), st.integers(1, 40), st.booleans())
def test_bounds_hold_whenever_the_budget_ends(seed, n, L, scale, evidence, budget, general):
    joint = random_chain(seed, n, L, scale, evidence)
    joint = as_general(joint) if general else joint
    mode, greedy = BestFirst(budget=budget)(joint), Greedy()(joint)
    assert_valid(mode, joint, true_maximum(joint))
    assert (mode.nodes <= budget).all()
    assert (mode.log_prob >= greedy.log_prob - 1e-12).all()


@given(seeds, labels, scales, st.floats(0.0, 3.0), st.booleans())
def test_epsilon_is_what_may_be_missing(seed, L, scale, epsilon, general):
    joint = random_chain(seed, 4, L, scale)
    joint = as_general(joint) if general else joint
    mode, maximum = BestFirst(epsilon=epsilon)(joint), true_maximum(joint)
    assert_valid(mode, joint, maximum)
    assert (mode.gap <= epsilon + 1e-9).all()
    assert (mode.log_prob >= maximum - epsilon - 1e-9).all()


def test_epsilon_and_budget_buy_time():
    joint = random_chain(0, 40, 24, scale=0.5)
    exact = BestFirst()(joint)
    rough = BestFirst(epsilon=1.0)(joint)
    assert rough.nodes.sum() < exact.nodes.sum() / 2
    assert not rough.optimal.all()
    cut = BestFirst(budget=50)(joint)
    assert (exact.upper_bound <= cut.upper_bound).all()
    assert (cut.gap > 0).any()


def test_the_bound_tightens_with_the_budget():
    joint = random_chain(1, 10, 40, scale=0.5)
    bounds = [BestFirst(budget)(joint).upper_bound for budget in (1, 30, 1000, 30_000)]
    for loose, tight in itertools.pairwise(bounds):
        assert (tight <= loose + 1e-12).all()
    assert (bounds[-1] < bounds[0] - 0.1).all()


def test_nodes_count_the_work():
    """Few for confident rows, none where the greedy vector has most of the mass."""
    sure = ChainJoint([[9.0, -9.0, 9.0]], np.zeros((3, 3)))
    assert BestFirst()(sure).nodes.tolist() == [0]
    joint = random_chain(2, 50, 12, scale=0.5)
    nodes = BestFirst()(joint).nodes
    assert nodes.dtype == np.int64
    assert ((nodes >= 0) & (nodes < 2**12)).all()
    assert len(np.unique(nodes)) > 10


@pytest.mark.parametrize("n_threads", [2, 3, 7])
def test_threads_and_batches_change_nothing(n_threads):
    joint = random_chain(3, 45, 20, scale=0.6, evidence=True)
    parallel = ChainJoint(
        joint.conditionals.scores, joint.conditionals.coupling, joint.order, n_threads=n_threads
    )
    parallel = parallel.condition({j: joint.known[:, j] for j in range(20)})
    strategy = BestFirst(budget=200)
    mode, other = strategy(joint), strategy(parallel)
    assert not mode.optimal.all()
    halves = [strategy(joint[:13]), strategy(joint[13:])]
    for name in ("labels", "log_prob", "upper_bound", "nodes"):
        np.testing.assert_array_equal(getattr(mode, name), getattr(other, name))
        parts = np.concatenate([getattr(half, name) for half in halves])
        np.testing.assert_array_equal(getattr(mode, name), parts)


def test_log_prob_is_that_of_the_joint_to_the_last_bit():
    joint = random_chain(4, 60, 30, scale=1.0)
    mode = BestFirst()(joint)
    np.testing.assert_array_equal(mode.log_prob, joint.log_prob(mode.labels))
    assert (mode.log_prob > Greedy()(joint).log_prob).any()


@pytest.mark.parametrize("L", [1, 5, 30])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_extreme_scores(L, size):
    rng = np.random.default_rng(L)
    scores = size * rng.choice([-1.0, 1.0], size=(20, L)) * rng.random((20, L))
    coupling = size * np.tril(rng.normal(size=(L, L)), -1)
    joint = ChainJoint(scores, coupling)
    mode = BestFirst(budget=20_000)(joint)
    assert np.isfinite(mode.log_prob).all()
    assert np.isfinite(mode.upper_bound).all()
    assert (mode.log_prob >= Greedy()(joint).log_prob - 1e-12).all()
    if L <= 5:
        np.testing.assert_allclose(mode.log_prob, true_maximum(joint), atol=1e-9)


@pytest.mark.parametrize("L", [1, 12, 200, 1000])
def test_ties_without_couplings_are_settled_at_once(L):
    """All vectors are equally probable: rounding must not send the search through all of them."""
    mode = BestFirst()(ChainJoint(np.zeros((3, L)), np.zeros((L, L))))
    assert mode.optimal.all()
    assert mode.nodes.tolist() == [0, 0, 0]
    np.testing.assert_allclose(mode.log_prob, -L * np.log(2.0))


def test_equal_scores_everywhere_end_with_the_budget():
    """The worst case: nothing tells the vectors apart until the end."""
    L = 300
    coupling = np.tril(np.where(np.arange(L) % 2, 0.01, -0.01) * np.ones((L, L)), -1)
    joint = ChainJoint(np.zeros((4, L)), coupling)
    mode = BestFirst(budget=500)(joint)
    assert (mode.nodes == 500).all()
    assert (mode.upper_bound > mode.log_prob).all()
    assert (mode.upper_bound < 0).all()


def test_a_thousand_labels():
    joint = random_chain(5, 3, 1000, scale=1.0)
    mode = BestFirst(budget=3000)(joint)
    assert (mode.log_prob >= Greedy()(joint).log_prob - 1e-12).all()
    assert (mode.upper_bound <= 0).all()
    weak = ChainJoint(
        10 * joint.conditionals.scores, 1e-5 * joint.conditionals.coupling, joint.order
    )
    assert BestFirst()(weak).optimal.all()


def test_no_time_still_gives_an_answer_and_a_bound():
    joint = random_chain(6, 30, 40, scale=0.5)
    mode = BestFirst(budget=10**9, seconds=0.0)(joint)
    assert (mode.log_prob >= Greedy()(joint).log_prob - 1e-12).all()
    assert (mode.upper_bound >= mode.log_prob).all()
    assert (mode.nodes <= 40).all()
    general = BestFirst(budget=10**6, seconds=0.0)(as_general(joint))
    assert (general.upper_bound >= mode.log_prob - 1e-12).all()


def test_exhaustive_search_is_the_same_search():
    joint = random_chain(7, 30, 18, scale=0.4, evidence=True)
    np.testing.assert_array_equal(Exhaustive()(joint).labels, BestFirst()(joint).labels)
    np.testing.assert_array_equal(joint.mode().labels, BestFirst()(joint).labels)


@given(forms, seeds, rows, st.integers(1, 5))
def test_every_form_has_an_answer(form, seed, n, L):
    joint, _ = make(form, seed, n, L)
    mode = BestFirst()(joint)
    np.testing.assert_allclose(mode.log_prob, joint.mode().log_prob, atol=1e-12)
    assert mode.nodes.shape == (n,)


def test_mixtures_of_too_many_labels_say_so():
    flat = 0.01 * np.random.default_rng(0).normal(size=(2, 2, 60))
    mixture = MixtureJoint([0.5, 0.5], [IndependentJoint(scores) for scores in flat])
    assert not BestFirst()(mixture).optimal.any()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 2.5}, "budget"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"epsilon": "small"}, "epsilon"),
        ({"seconds": -1.0}, "seconds"),
        ({"seconds": True}, "seconds"),
    ],
)
def test_bad_arguments(arguments, name):
    with pytest.raises(ValueError, match=name):
        BestFirst(**arguments)


@given(seeds, st.integers(1, 3), st.integers(1, 7), scales)
def test_conditioning_agrees_with_bayes_rule_on_the_table(seed, n, L, scale):
    """The mode given some labels, from the table of all vectors and from the search."""
    free = random_chain(seed, n, L, scale)
    table = ListedJoint.of_table(free._table(np.arange(L)))
    rng = np.random.default_rng(seed)
    known = np.where(rng.random((n, L)) < 0.5, table.sample(1, seed)[:, 0], -1)
    evidence = {label: known[:, label] for label in range(L)}
    mode = BestFirst()(free.condition(evidence))
    expected = table.condition(evidence).mode()
    np.testing.assert_allclose(mode.log_prob, expected.log_prob, rtol=1e-8, atol=1e-8)
    assert ((known < 0) | (mode.labels == known)).all()
    assert mode.optimal.all()


def test_long_evidence_is_searched_though_it_cannot_be_normalised_exactly():
    joint = random_chain(8, 5, 60, scale=1.0)
    posterior = joint.condition({int(label): 1 for label in joint.order[40:44]})
    mode = BestFirst(budget=20_000)(posterior)
    assert (mode.labels[:, joint.order[40:44]] == 1).all()
    assert (mode.log_prob >= Greedy()(posterior).log_prob - 1e-12).all()
    assert (mode.upper_bound >= mode.log_prob).all()


@pytest.mark.parametrize("size", [1e150, 1e300, 1.7e308])
def test_scores_beyond_all_reason_do_not_crash(size):
    rng = np.random.default_rng(0)
    coupling = size * np.tril(rng.choice([-1.0, 1.0], size=(12, 12)), -1)
    joint = ChainJoint(size * rng.choice([-1.0, 1.0], size=(4, 12)), coupling)
    mode = BestFirst(budget=100)(joint)
    assert np.isin(mode.labels, (0, 1)).all()
    assert (mode.nodes <= 100).all()
