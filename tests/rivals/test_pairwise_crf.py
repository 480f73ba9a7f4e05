"""The pairwise field learned from data: gradients, optima, recovery, structure."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from labelweave import BinaryRelevance, PairwiseCRF
from labelweave.joint import FieldJoint
from labelweave.joint.enumeration import label_vectors
from labelweave.models.rivals import pairwise_crf as module
from labelweave.models.rivals.pairwise_crf import (
    ExactLikelihood,
    FieldData,
    LabelMoments,
    PseudoLikelihood,
    strongest_pairs,
)
from tests.contract.samples import sample
from tests.reference.field import energy


def data(seed=0, n=20, D=3, L=4, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    Y = rng.integers(0, 2, (n, L)).astype(float)
    pairs = np.array([p for p in itertools.combinations(range(L), 2) if rng.random() < 0.8])
    weight = rng.uniform(0.5, 2, n)
    return FieldData(sp.csr_array(X) if sparse else X, Y, weight, pairs, 0.7, 0.3)


def brute_force(kind, field, parameters):
    """Return the penalised loss from its definition, one row and one vector at a time."""
    W, b, v = field.unpack(parameters)
    V = field.matrix(v)
    X = field.X.toarray() if sp.issparse(field.X) else field.X
    loss = 0.0
    for x, y, weight in zip(X, field.Y, field.weight, strict=True):
        s = W @ x + b
        if kind is ExactLikelihood:
            vectors = itertools.product((0.0, 1.0), repeat=len(y))
            log_z = np.log(sum(np.exp(energy(s, V, np.array(t))) for t in vectors))
            loss += weight * (log_z - energy(s, V, y))
        else:
            for j in range(len(y)):
                p = expit(s[j] + V[j] @ y)
                loss -= weight * np.log(p if y[j] else 1 - p)
    times_seen = 1 if kind is ExactLikelihood else 2
    return loss + ((W**2).sum() + times_seen * field.label_penalty * (v**2).sum()) / (2 * field.C)


@pytest.mark.parametrize("kind", [PseudoLikelihood, ExactLikelihood])
@pytest.mark.parametrize("sparse", [False, True])
def test_value_gradient_and_hessian(kind, sparse):
    field = data(sparse=sparse)
    objective = kind(field)
    rng = np.random.default_rng(1)
    n_labels, n_features, n_edges = field.shape
    theta = rng.normal(size=n_labels * (n_features + 1) + n_edges)
    value, gradient = objective.value_and_gradient(theta)
    assert value == pytest.approx(brute_force(kind, field, theta), rel=1e-10)
    step = 1e-5
    for k in range(len(theta)):
        e = np.eye(len(theta))[k] * step
        slope = (brute_force(kind, field, theta + e) - brute_force(kind, field, theta - e)) / 2e-5
        assert gradient[k] == pytest.approx(slope, abs=1e-5)
    direction = rng.normal(size=len(theta))
    ahead = objective.value_and_gradient(theta + step * direction)[1]
    behind = objective.value_and_gradient(theta - step * direction)[1]
    objective.value_and_gradient(theta)
    np.testing.assert_allclose(
        objective.hessian_product(direction), (ahead - behind) / (2 * step), atol=1e-5
    )


def hessian(objective, theta):
    objective.value_and_gradient(theta)
    return np.array([objective.hessian_product(e) for e in np.eye(len(theta))])


@pytest.mark.parametrize("kind", [PseudoLikelihood, ExactLikelihood])
def test_the_preconditioner_inverts_the_blocks_of_labels_and_couplings(kind):
    field = data()
    objective = kind(field)
    n_labels, n_features, n_edges = field.shape
    theta = np.random.default_rng(2).normal(size=n_labels * (n_features + 1) + n_edges)
    whole = hessian(objective, theta)
    # Weights of label j, then all intercepts, then all couplings: who shares a block.
    labels = np.arange(n_labels)
    owner = np.concatenate([np.repeat(labels, n_features), labels, np.full(n_edges, n_labels)])
    blocks = np.where(owner[:, None] == owner, whole, 0.0)
    precondition = objective.preconditioner()
    for vector in np.random.default_rng(3).normal(size=(5, len(theta))):
        np.testing.assert_allclose(precondition(blocks @ vector), vector, atol=1e-3)


@pytest.mark.parametrize("kind", [PseudoLikelihood, ExactLikelihood])
def test_for_sparse_features_it_inverts_their_diagonal_and_the_block_of_the_rest(kind):
    field = data(sparse=True)
    objective = kind(field)
    n_labels, n_features, n_edges = field.shape
    n_weights = n_labels * n_features
    theta = np.random.default_rng(2).normal(size=n_weights + n_labels + n_edges)
    whole = hessian(objective, theta)
    precondition = objective.preconditioner()
    inverse = precondition(np.ones(len(theta)))[:n_weights]
    np.testing.assert_allclose(inverse, 1 / whole.diagonal()[:n_weights], rtol=1e-9)
    blocks = np.diag(whole.diagonal())
    blocks[n_weights:, n_weights:] = whole[n_weights:, n_weights:]
    for vector in np.random.default_rng(3).normal(size=(5, len(theta))):
        np.testing.assert_allclose(precondition(blocks @ vector), vector, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_many_couplings_are_preconditioned_one_by_one(monkeypatch, form):
    X, Y = sample(n=60)
    X = form(X)
    options = {"C": 0.5, "label_penalty": 0.2, "likelihood": "pseudo"}
    together = PairwiseCRF(**options).fit(X, Y).field_
    monkeypatch.setattr(module, "_LARGEST_BLOCK", 2)
    one_by_one = PairwiseCRF(**options).fit(X, Y).field_
    np.testing.assert_allclose(one_by_one.coupling, together.coupling, atol=1e-7)


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
def test_moments_are_sums_over_the_vectors_that_contain_a_set(n_labels):
    vectors = label_vectors(n_labels)
    probability = np.random.default_rng(4).dirichlet(np.ones(len(vectors)), size=6)
    moments = LabelMoments(n_labels)
    subsets = [s for size in (1, 2, 3) for s in itertools.combinations(range(n_labels), size)]
    numbers = np.array([sum(2**label for label in subset) for subset in subsets])
    np.testing.assert_array_equal(np.sort(numbers), moments.sets)
    expected = [probability @ vectors[:, subset].all(axis=1) for subset in subsets]
    found = moments.of(probability)[:, moments.sets.searchsorted(numbers)]
    np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-12)


def test_features_that_no_row_has_change_nothing():
    X, Y = sample(n=60)
    empty = np.zeros_like(X)
    narrow, wide = sp.csr_array(X), sp.csr_array(np.hstack([empty, X, empty]))
    fits = [PairwiseCRF(C=1.0, label_penalty=0.5).fit(Z, Y).field_ for Z in (narrow, wide)]
    before, inner, after = np.split(fits[1].weights, 3, axis=1)
    assert not before.any()
    assert not after.any()
    np.testing.assert_allclose(inner, fits[0].weights, atol=1e-9)
    np.testing.assert_allclose(fits[1].coupling, fits[0].coupling, atol=1e-9)


def test_duplicated_and_constant_features_do_not_harm():
    X, Y = sample(n=60)
    plain = PairwiseCRF(C=1.0, label_penalty=0.5).fit(X, Y)
    # A column twice, each divided by the root of two, is that column once.
    twice = np.column_stack([X / np.sqrt(2), X / np.sqrt(2), np.zeros(60)])
    doubled = PairwiseCRF(C=1.0, label_penalty=0.5).fit(twice, Y)
    np.testing.assert_allclose(doubled.field_.coupling, plain.field_.coupling, atol=1e-6)


@pytest.mark.parametrize(
    ("likelihood", "kind"), [("pseudo", PseudoLikelihood), ("exact", ExactLikelihood)]
)
def test_fit_reaches_the_optimum_that_scipy_finds(likelihood, kind):
    X, Y = sample(n=60)
    model = PairwiseCRF(C=0.5, label_penalty=0.2, likelihood=likelihood).fit(X, Y)
    edges = np.argwhere(np.triu(model.edges_, 1))
    field = FieldData(X, Y.astype(float), np.ones(60), edges, 0.5, 0.2)
    # The gradient is proven above; the way to the optimum is another one.
    objective = kind(field).value_and_gradient
    found = minimize(objective, np.zeros(4 * 6 + 6), jac=True, method="L-BFGS-B", tol=1e-12)
    fitted = model.field_
    theta = field.pack(fitted.weights, fitted.intercept, fitted.coupling[tuple(edges.T)])
    assert brute_force(kind, field, theta) <= found.fun + 1e-8
    np.testing.assert_allclose(theta, found.x, atol=1e-3)
    assert (fitted.coupling == fitted.coupling.T).all()


@pytest.mark.parametrize("likelihood", ["pseudo", "exact"])
def test_a_known_field_is_recovered(likelihood):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(4, 2))
    V = np.zeros((4, 4))
    V[0, 1] = V[1, 0] = 2.0
    V[1, 2] = V[2, 1] = -1.5
    X = rng.normal(size=(5000, 2))
    Y = FieldJoint(X @ W.T - 0.3, V).sample(1, 0)[:, 0]
    model = PairwiseCRF(C=100.0, label_penalty=0.01, likelihood=likelihood).fit(X, Y)
    np.testing.assert_allclose(model.field_.coupling, V, atol=0.35)
    np.testing.assert_allclose(model.field_.weights, W, atol=0.2)
    np.testing.assert_allclose(model.field_.intercept, -0.3, atol=0.25)
    screened = PairwiseCRF(C=100.0, label_penalty=0.01, max_edges=2).fit(X, Y)
    assert {tuple(e) for e in np.argwhere(np.triu(screened.edges_))} == {(0, 1), (1, 2)}


def test_without_edges_it_is_binary_relevance():
    X, Y = sample()
    for options in ({"edges": np.zeros((4, 4), dtype=bool)}, {"max_edges": 0}):
        model = PairwiseCRF(C=1.0, **options).fit(X, Y)
        alone = BinaryRelevance(C=1.0).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_only_given_edges_are_coupled():
    X, Y = sample()
    edges = np.zeros((4, 4), dtype=int)
    edges[0, 1] = edges[1, 0] = 1
    model = PairwiseCRF(C=1.0, label_penalty=0.1, edges=edges).fit(X, Y)
    np.testing.assert_array_equal(model.field_.coupling != 0, edges == 1)


def test_a_constant_label_is_coupled_with_none():
    X, Y = sample()
    Y = Y.copy()
    Y[:, 2] = 1
    model = PairwiseCRF(C=1.0, label_penalty=0.1).fit(X, Y)
    assert not model.field_.coupling[2].any()
    np.testing.assert_allclose(model.predict_proba(X)[:, 2], 49 / 50)


def test_the_strongest_pair_is_the_dependent_one():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, (400, 5)).astype(np.int8)
    labels[:, 3] = np.where(rng.random(400) < 0.9, labels[:, 1], labels[:, 3])
    scores = np.zeros((400, 5))
    allowed = ~np.eye(5, dtype=bool)
    chosen = strongest_pairs(scores, labels, None, allowed, 1)
    np.testing.assert_array_equal(np.argwhere(np.triu(chosen)), [[1, 3]])
    allowed[1, 3] = allowed[3, 1] = False
    assert not strongest_pairs(scores, labels, None, allowed, 1)[1, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": "likely"}, "likelihood must be"),
        ({"edges": np.ones((3, 3))}, "edges must be a 4 by 4"),
        ({"edges": np.triu(np.ones((4, 4)), 1)}, "edges must be symmetric"),
        ({"edges": np.ones((4, 4))}, "edges must be symmetric with an empty diagonal"),
        ({"max_edges": "many"}, "max_edges must be"),
        ({"max_edges": -1}, "max_edges must be"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        PairwiseCRF(**options).fit(*sample())


def test_exact_likelihood_refuses_many_labels():
    X, Y = sample(n_labels=17)
    with pytest.raises(ValueError, match="at most 16 labels; y has 17"):
        PairwiseCRF(likelihood="exact").fit(X, Y)
