"""Expectation maximisation, component selection and the gate of mixtures of trees and chains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from labelweave import ChainMixture, MixtureSettings, TreeEnsemble, TreeMixture, TreeNetwork
from labelweave.data import make_synthetic
from labelweave.joint import ChainJoint, MixtureJoint, TreeJoint
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.conditionals import TrainingRows
from labelweave.models.em import EM, Gate, Tolerances, stick_breaks
from labelweave.models.ensembles import bootstrap_counts
from labelweave.models.mixture_size import cluster_label_vectors, initial_responsibilities
from tests.contract.samples import all_vectors, sample

X, Y = sample(n=90, n_labels=4, seed=2)
LABELS = Y.astype(np.int8)
PENALTIES = PenaltyChoice(C=0.5, label_penalty=0.1)
PRIOR_WEIGHT = 0.01
TO_THE_END = Tolerances(m_step=1e-14, objective=-1.0)
TREES = np.array([[-1, 0, 1, 2], [3, 3, 3, -1], [-1, -1, -1, -1]])


def parent_mask(parents):
    mask = np.zeros((4, 4), dtype=bool)
    mask[parents >= 0, parents[parents >= 0]] = True
    return mask


def em_of(gate_C=0.5, weight=None, n_threads=1, equal=False, prior_weight=PRIOR_WEIGHT):
    settings = MixtureSettings(
        gate="constant" if gate_C is None else "linear",
        weighting="equal" if equal else "share",
        prior_weight=prior_weight,
    )
    rows = TrainingRows(X, LABELS, weight, n_threads=n_threads)
    return EM(rows, PENALTIES, settings)


def started(em, n_components=3, seed=0):
    shares = np.random.default_rng(seed).dirichlet(np.ones(n_components), size=len(X))
    return em.start(np.stack([parent_mask(p) for p in TREES[:n_components]]), shares)


def by_hand(em, mixture):
    """λ_k(x) P_k(y|x) row by row, label by label."""
    joint = np.empty((len(X), mixture.n_components))
    for n, (x, y) in enumerate(zip(X, Y, strict=True)):
        left = 1.0
        for k in range(mixture.n_components):
            share = left
            if k < mixture.n_components - 1:
                z = mixture.gate.weights[k] @ x + mixture.gate.intercept[k]
                share = left / (1 + np.exp(-z))
            left -= share
            probability = share
            for j in range(4):
                z = mixture.weights[k, j] @ x + mixture.intercept[k, j] + mixture.coupling[k, j] @ y
                probability *= 1 / (1 + np.exp(-z if y[j] else z))
            joint[n, k] = probability
    return joint


@pytest.mark.parametrize("gate_C", [None, 0.5])
def test_e_step_by_hand(gate_C):
    em = em_of(gate_C)
    mixture = started(em)
    np.testing.assert_allclose(np.exp(mixture.log_joint(em.rows)), by_hand(em, mixture), rtol=1e-9)


@pytest.mark.parametrize("gate_C", [None, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_penalised_likelihood_never_falls(gate_C, seed):
    weight = np.random.default_rng(seed).gamma(1.0, size=len(X))
    em = replace(em_of(gate_C, weight), tolerances=TO_THE_END)
    mixture, objectives = em.run(started(em, seed=seed), 40)
    assert len(objectives) == 41
    assert objectives[-1] > objectives[0]
    assert np.diff(objectives).min() > -1e-9 * abs(objectives[0])
    # What is reported is the objective, written out.
    penalty = (mixture.weights**2).sum() + 0.1 * (mixture.coupling**2).sum()
    penalty = penalty / 1.0 + (0.0 if gate_C is None else (mixture.gate.weights**2).sum() / 1.0)
    prior = PRIOR_WEIGHT * mixture.log_probs(em.rows).sum(axis=1)
    expected = weight @ (np.log(by_hand(em, mixture).sum(axis=1)) + prior) - penalty
    assert objectives[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("prior_weight", [0.0, PRIOR_WEIGHT])
def test_equal_weights_are_shares_that_sum_to_all_rows(prior_weight):
    """One component after the other, refitted alone to γ_k/Γ_k as a weight of its own."""
    em = em_of(equal=True, prior_weight=prior_weight)
    shares = np.random.default_rng(4).dirichlet([5.0, 1.0, 0.2], size=len(X))
    refitted = em.refit(started(em), shares)
    for k in range(3):
        counted = shares[:, k] + prior_weight
        alone = em_of(weight=counted * len(X) / counted.sum(), prior_weight=prior_weight)
        single = alone.start(refitted.parents[k : k + 1], np.ones((len(X), 1)))
        np.testing.assert_allclose(refitted.weights[k], single.weights[0], atol=1e-6)
        np.testing.assert_allclose(refitted.coupling[k], single.coupling[0], atol=1e-6)
    np.testing.assert_allclose(np.exp(refitted.gate.log_weights(X)).sum(axis=1), 1.0)


@pytest.mark.parametrize("gate_C", [None, 0.5])
def test_equal_weights_climb_nearly_to_the_end(gate_C):
    em = replace(em_of(gate_C, equal=True, prior_weight=0.0), tolerances=TO_THE_END)
    mixture, objectives = em.run(started(em), 40)
    assert objectives[-1] > objectives[0]
    assert np.diff(objectives).min() > -1e-2 * abs(objectives[0])
    joint = by_hand(em, mixture)
    shares = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    cost = (mixture.weights**2).sum(axis=(1, 2)) + 0.1 * (mixture.coupling**2).sum(axis=(1, 2))
    gate = 0.0 if gate_C is None else (mixture.gate.weights**2).sum()
    expected = np.log(joint.sum(axis=1)).sum() - shares @ cost - gate
    assert objectives[-1] == pytest.approx(expected, rel=1e-9)


def test_rough_refits_do_not_fall_either():
    em = replace(em_of(), tolerances=TO_THE_END._replace(m_step=1e-3))
    _, objectives = em.run(started(em), 25)
    assert np.diff(objectives).min() > -1e-9 * abs(objectives[0])


@pytest.mark.parametrize("gate_C", [None, 0.5])
def test_lengthened_steps_lead_further_than_plain_ones(gate_C):
    em = replace(em_of(gate_C), tolerances=TO_THE_END)
    first = started(em)
    plain = first
    for _ in range(6):
        log_joint = plain.log_joint(em.rows)
        plain = em.refit(plain, np.exp(log_joint - logsumexp(log_joint, axis=1, keepdims=True)))
    _, objectives = em.run(first, 6)
    assert objectives[-1] > em.run(plain, 0)[1][0]


def test_a_step_towards_another_mixture():
    em = em_of()
    here, there = started(em, seed=0), started(em, seed=1)
    np.testing.assert_allclose(here.towards(there, 1.0).weights, there.weights)
    twice = here.towards(there, 2.0)
    np.testing.assert_allclose(twice.coupling, 2 * there.coupling - here.coupling)
    np.testing.assert_allclose(twice.gate.weights, 2 * there.gate.weights - here.gate.weights)


def test_a_warm_start_ends_where_a_cold_one_does():
    em = em_of()
    warm = started(em, seed=0)
    shares = np.random.default_rng(9).dirichlet(np.ones(3), size=len(X))
    refitted, cold = em.refit(warm, shares), em.start(warm.parents, shares)
    np.testing.assert_allclose(refitted.weights, cold.weights, atol=1e-6)
    np.testing.assert_allclose(refitted.coupling, cold.coupling, atol=1e-6)
    np.testing.assert_allclose(refitted.gate.weights, cold.gate.weights, atol=1e-6)


@pytest.mark.parametrize("equal", [False, True])
def test_weight_is_repetition(equal):
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), weight.astype(int))
    shares = np.random.default_rng(1).dirichlet(np.ones(2), size=len(X))
    mask = np.stack([parent_mask(p) for p in TREES[:2]])
    weighted = em_of(weight=weight, equal=equal)
    repeated = replace(weighted, rows=TrainingRows(X[rows], LABELS[rows]))
    one, _ = weighted.run(weighted.start(mask, shares), 5)
    two, _ = repeated.run(repeated.start(mask, shares[rows]), 5)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)
    np.testing.assert_allclose(one.gate.intercept, two.gate.intercept, atol=1e-6)


def test_threads_do_not_change_a_bit():
    mixtures = [em.run(started(em), 5)[0] for em in (em_of(n_threads=1), em_of(n_threads=2))]
    for name in ("weights", "intercept", "coupling"):
        np.testing.assert_array_equal(*(getattr(mixture, name) for mixture in mixtures))


def test_a_component_without_rows_leans_on_all_of_them():
    em = em_of()
    shares = np.zeros((len(X), 3))
    shares[:, 0] = 1.0
    refitted = em.refit(started(em), shares)
    lightly = em_of(weight=np.full(len(X), PRIOR_WEIGHT))
    alone = lightly.start(refitted.parents[1:2], np.ones((len(X), 1)))
    np.testing.assert_allclose(refitted.weights[1], alone.weights[0], atol=1e-7)
    np.testing.assert_allclose(refitted.intercept[1], alone.intercept[0], atol=1e-7)
    assert np.isfinite(refitted.log_joint(em.rows)[:, 0]).all()
    assert not np.isnan(refitted.log_joint(em.rows)).any()


# ---------------------------------------------------------------------- the gate


def test_gate_weights_sum_to_one():
    random = np.random.default_rng(0)
    gate = Gate(random.normal(size=(4, 5)), random.normal(size=4), C=1.0)
    weights = np.exp(gate.log_weights(X))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    far = np.exp(Gate(900 * gate.weights, gate.intercept, C=1.0).log_weights(X))
    np.testing.assert_allclose(far.sum(axis=1), 1.0, atol=1e-12)


def test_a_constant_gate_has_the_mean_shares():
    shares = np.random.default_rng(0).dirichlet([3.0, 1.0, 0.5], size=len(X))
    gate = Gate.constant(shares, X.shape[1], None)
    np.testing.assert_allclose(np.exp(gate.log_weights(X[:2])), [shares.mean(axis=0)] * 2)


def test_a_linear_gate_is_a_stationary_point():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), size=len(X))
    em = em_of(gate_C=0.5)
    gate = em.refit(started(em), shares).gate

    def objective(weights, intercept):
        log_weights = Gate(weights, intercept, 0.5).log_weights(X)
        return (shares * log_weights).sum() - (weights**2).sum() / 1.0

    best = objective(gate.weights, gate.intercept)
    random = np.random.default_rng(1)
    for _ in range(20):
        step = 1e-3 * random.normal(size=(2, 6))
        assert objective(gate.weights + step[:, :5], gate.intercept + step[:, 5]) < best


def test_breaks_rebuild_the_shares():
    shares = np.random.default_rng(0).dirichlet([0.1, 1.0, 0.3, 0.1], size=40)
    shares[:5] = 0.0
    taken, left = stick_breaks(shares)
    assert ((taken >= 0) & (taken <= 1)).all()
    np.testing.assert_allclose(taken * left, shares[:, :-1])
    np.testing.assert_allclose(left[:, 0], shares.sum(axis=1))
    np.testing.assert_allclose(left[:, -1] * (1 - taken[:, -1]), shares[:, -1], atol=1e-15)


# ---------------------------------------------------------------------- the start


def test_clusters_separate_what_is_apart():
    labels = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], [7, 4], axis=0).astype(np.int8)
    labels[0] = [1, 0, 0, 0]
    cluster, n_clusters = cluster_label_vectors(labels, np.ones(11), 2)
    assert n_clusters == 2
    np.testing.assert_array_equal(cluster, [0] * 7 + [1] * 4)


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 16, 40])
def test_clusters_depend_on_what_the_rows_are_only(n_clusters):
    order = np.random.default_rng(3).permutation(len(X))
    cluster, found = cluster_label_vectors(LABELS, np.ones(len(X)), n_clusters)
    shuffled, _ = cluster_label_vectors(LABELS[order], np.ones(len(X)), n_clusters)
    np.testing.assert_array_equal(cluster[order], shuffled)
    twice, _ = cluster_label_vectors(np.repeat(LABELS, 2, axis=0), np.ones(2 * len(X)), n_clusters)
    np.testing.assert_array_equal(twice[::2], cluster)
    assert found <= min(n_clusters, len(np.unique(LABELS, axis=0)))
    sizes = np.bincount(cluster, minlength=found)
    assert (sizes > 0).all()
    assert (np.diff(sizes) <= 0).all()
    shares = initial_responsibilities(cluster, found)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(shares.argmax(axis=1), cluster)


# ---------------------------------------------------------------------- the estimators


@pytest.mark.parametrize("gate", ["linear", "constant"])
def test_one_tree_is_a_tree_network(gate):
    single = TreeNetwork().fit(X, Y)
    mixture = TreeMixture(n_components=1, settings=MixtureSettings(gate=gate)).fit(X, Y)
    assert (mixture.C_, mixture.label_penalty_) == (single.C_, single.label_penalty_)
    np.testing.assert_array_equal(mixture.components_[0].parents, single.structure_.parents)
    np.testing.assert_allclose(mixture.predict_proba(X), single.predict_proba(X), atol=1e-7)
    assert isinstance(mixture.predict_joint(X), TreeJoint)


@pytest.mark.parametrize(("kind", "form"), [(TreeMixture, TreeJoint), (ChainMixture, ChainJoint)])
@pytest.mark.parametrize("gate", ["linear", "constant"])
def test_the_joint_is_the_mixture_of_its_components(kind, form, gate):
    options = {"settings": MixtureSettings(gate=gate), "C": 0.5, "label_penalty": 0.1}
    model = kind(n_components=3, **options).fit(X, Y)
    joint = model.predict_joint(X)
    assert isinstance(joint, MixtureJoint)
    assert all(isinstance(component, form) for component in joint.components)
    weights = np.exp(model.gate_.log_weights(X))
    assert (np.ptp(weights, axis=0) > 1e-3).any() == (gate == "linear")
    log_probs = np.stack([component.log_prob(Y) for component in joint.components], axis=1)
    expected = logsumexp(log_probs + np.log(weights), axis=1)
    np.testing.assert_allclose(joint.log_prob(Y), expected, atol=1e-10)
    total = sum(np.exp(joint.log_prob(np.tile(v, (len(X), 1)))) for v in all_vectors(4))
    np.testing.assert_allclose(total, 1.0, atol=1e-10)
    assert np.diff(model.objectives_).min() > -1e-9 * abs(model.objectives_[0])


def test_auto_keeps_the_size_that_explains_held_out_rows_best():
    model = TreeMixture(C=0.5, label_penalty=0.1, settings=MixtureSettings(max_components=6))
    model.fit(X, Y)
    sizes = [step.n_components for step in model.history_]
    assert sizes == [1, 2, 3, 4, 6][: len(sizes)]
    validation = [step.validation for step in model.history_]
    assert model.n_components_ == sizes[int(np.argmax(validation))]
    if len(sizes) < 5:  # it stopped after two that were worse, or one that was clearly so
        assert len(validation) - 3 <= np.argmax(validation) < len(validation) - 1
    for step in model.history_:
        assert step.train > step.validation
        for objectives in step.objectives:
            assert np.diff(objectives).min(initial=0.0) > -1e-9 * abs(objectives[0])
    fixed = TreeMixture(n_components=model.n_components_, C=0.5, label_penalty=0.1).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), fixed.predict_proba(X))


@pytest.mark.parametrize("gate", ["linear", "constant"])
def test_a_single_split_keeps_its_components(gate):
    settings = MixtureSettings(max_components=4, gate=gate, cv=1, patience=1)
    model = TreeMixture(C=0.5, label_penalty=0.1, settings=settings).fit(X, Y)
    validation = [step.validation for step in model.history_]
    # It ended with the first size that was worse, and kept the one before.
    assert np.argmax(validation) == len(validation) - 2 or len(validation) == 4
    assert model.n_components_ == model.history_[int(np.argmax(validation))].n_components
    assert all(len(step.objectives) == 1 for step in model.history_)


def test_more_components_than_label_vectors():
    labels = np.repeat([[0, 1], [1, 0]], 45, axis=0)
    model = TreeMixture(n_components=9, C=0.5, label_penalty=0.1).fit(X, labels)
    assert model.n_components_ == 2
    assert np.isfinite(model.predict_joint(X).log_prob(labels)).all()


@pytest.mark.parametrize("kind", [TreeMixture, ChainMixture])
@pytest.mark.parametrize("gate", ["linear", "constant"])
def test_the_form_of_the_rows_does_not_change_a_bit(kind, gate):
    """Rows repeated or weighted, in any order, even though M-steps are not exact."""
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(X)), weight))
    settings = MixtureSettings(gate=gate)
    options = {"n_components": 3, "settings": settings, "C": 0.5, "label_penalty": 0.1}
    weighted = kind(**options).fit(X, Y, sample_weight=weight).predict_proba(X)
    np.testing.assert_array_equal(kind(**options).fit(X[rows], Y[rows]).predict_proba(X), weighted)


@pytest.mark.parametrize("kind", [TreeMixture, ChainMixture])
@pytest.mark.parametrize("gate", ["linear", "constant"])
def test_odd_labels(kind, gate):
    """Copies, constants, one label: components may have equal structures and nothing to learn."""
    for labels in (
        np.column_stack([Y[:, 0], Y[:, 0], np.zeros(90, int), np.ones(90, int)]),
        Y[:, :1],
        Y[:, :2],
        np.ones((90, 3), dtype=int),
    ):
        options = {"settings": MixtureSettings(gate=gate), "C": 0.5, "label_penalty": 0.1}
        model = kind(n_components=3, **options).fit(X, labels)
        assert np.isfinite(model.predict_joint(X).log_prob(labels)).all()
        assert np.diff(model.objectives_).min(initial=0.0) > -1e-7
        assert model.predict(X).shape == labels.shape


def test_random_orders_differ_by_chain_and_a_given_one_holds_for_all():
    options = {"n_components": 3, "C": 0.5, "label_penalty": 0.1}
    drawn = ChainMixture(order="random", **options).fit(X, Y).components_
    assert len({tuple(component.order) for component in drawn}) > 1
    given = ChainMixture(order=[3, 1, 0, 2], **options).fit(X, Y).components_
    assert all(component.order.tolist() == [3, 1, 0, 2] for component in given)
    with pytest.raises(ValueError, match="order must be None, 'random', 'auto'"):
        ChainMixture(order="best", **options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n_components": 0}, "n_components must be 'auto' or a whole number of at least 1; got 0"),
        ({"n_components": "many"}, "n_components must be 'auto' or a whole number of at least 1"),
        ({"n_components": True}, "n_components"),
        ({"settings": {"gate": "linear"}}, "settings must be a MixtureSettings or None"),
    ],
)
@pytest.mark.parametrize("kind", [TreeMixture, ChainMixture])
def test_bad_parameters_are_named(kind, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        kind(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_components": 0}, "max_components must be a whole number of at least 1"),
        ({"gate": "square"}, "gate must be 'linear' or 'constant'; got 'square'"),
        ({"weighting": "none"}, "weighting must be 'share' or 'equal'; got 'none'"),
        ({"prior_weight": -0.1}, "prior_weight must be a finite number of at least 0; got -0.1"),
        ({"prior_weight": True}, "prior_weight must be a finite number"),
        ({"cv": 0}, "cv must be a whole number of at least 1"),
        ({"patience": 0}, "patience must be a whole number of at least 1"),
    ],
)
def test_bad_settings_are_named(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        MixtureSettings(**options)
    with pytest.raises(ValueError, match=complaint):
        TreeMixture().set_params(**{f"settings__{name}": value for name, value in options.items()})


def test_an_ensemble_averages_its_trees():
    options = {"n_estimators": 3, "C": 0.5, "label_penalty": 0.1, "bootstrap": False}
    model = TreeEnsemble(**options).fit(X, Y)
    members = [
        TreeNetwork(C=0.5, label_penalty=0.1, structure=structure.parents).fit(X, Y)
        for structure in model.structures_
    ]
    averaged = np.mean([member.predict_proba(X) for member in members], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), averaged, atol=1e-8)
    assert len({tuple(structure.parents) for structure in model.structures_}) > 1
    with pytest.raises(ValueError, match="structure must be 'random' or 'learned'"):
        TreeEnsemble(structure="drawn").fit(X, Y)


def test_bagged_trees_are_learned_from_their_bootstrap_counts():
    options = {"C": 0.5, "label_penalty": 0.1}
    model = TreeEnsemble(n_estimators=2, structure="learned", **options).fit(X, Y)
    counts = bootstrap_counts(X, 2, 0)
    for structure, count in zip(model.structures_, counts.T, strict=True):
        alone = TreeNetwork(**options).fit(X, Y, sample_weight=count)
        assert np.isfinite(structure.gains).all()
        # Rows that were not drawn have folds too, so gains need not be equal to the last digit.
        assert structure.gains.sum() == pytest.approx(alone.structure_.gains.sum(), rel=0.5)


@pytest.mark.slow
def test_the_likelihood_approaches_that_of_the_true_mixture():
    """A mixture of two known trees: the regret shrinks as rows grow, below that of one tree.

    How many components are chosen depends on the draw, and so does the regret: hence three draws.
    """
    one = TreeNetwork(C=1.0, label_penalty=0.1)
    two = TreeMixture(
        n_components=2, settings=MixtureSettings(gate="constant"), C=1.0, label_penalty=0.1
    )
    auto = TreeMixture(C=1.0, label_penalty=0.1)
    for model, seeds in ((two, (3,)), (auto, (3, 4, 5))):
        few, many = (np.mean([_regret(model, n, seed) for seed in seeds]) for n in (300, 6000))
        assert many < few
        assert many < np.mean([_regret(one, 6000, seed) for seed in seeds])
        assert many < 0.05


def _regret(model, n, seed):
    """Return what a model fitted to n rows loses to the true mixture, in nats per row."""
    data = make_synthetic("mixture", n, 4, 5, n_components=2, coupling=5.0, random_state=seed)
    rows = np.random.default_rng(1).normal(size=(3000, 4))
    truth = data.joint_of(rows)
    labels = truth.sample(1, 7)[:, 0]
    fitted = model.fit(data.X, data.Y).predict_joint(rows)
    return (truth.log_prob(labels) - fitted.log_prob(labels)).mean()
