"""Random joint distributions of every form, each with an independent account of what it is."""

import itertools

import numpy as np
from hypothesis import strategies as st

from labelweave.joint import (
    ChainJoint,
    FieldJoint,
    IndependentJoint,
    ListedJoint,
    MixtureJoint,
    TreeJoint,
)
from tests.reference import chain as chain_reference
from tests.reference import field as field_reference
from tests.reference import table as table_reference
from tests.reference import tree as tree_reference


def chain_parameters(rng, n, L, scale=2.0, tree=False):
    order = rng.permutation(L)
    along = np.tril(rng.normal(scale=scale, size=(L, L)), -1)
    if tree:
        parent = [rng.integers(max(position, 1)) for position in range(L)]
        along *= np.arange(L)[None, :] == np.array(parent)[:, None]
    coupling = np.zeros((L, L))
    coupling[np.ix_(order, order)] = along
    return rng.normal(scale=scale, size=(n, L)), coupling, order


def _independent(rng, n, L, scale):
    scores = rng.normal(scale=scale, size=(n, L))
    zero = np.zeros((L, L))
    order = np.arange(L)
    return IndependentJoint(scores), lambda i, y: chain_reference.log_prob(
        scores[i], zero, order, y
    )


def _table(rng, n, L, scale):
    logits = rng.normal(scale=scale, size=(n, 2**L))
    # Some vectors are impossible.
    logits[rng.random(logits.shape) < 0.2] = -np.inf
    logits[:, 0] = 0.0
    log_table = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return ListedJoint.of_table(log_table), lambda i, y: log_table[i, int(y @ 2 ** np.arange(L))]


def _listed(rng, n, L, scale):
    codes = rng.permutation(2**L)[: rng.integers(1, 2**L + 1)]
    vectors = (codes[:, None] >> np.arange(L)) & 1
    logits = rng.normal(scale=scale, size=(n, len(codes)))
    log_weights = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    place = {code: v for v, code in enumerate(codes.tolist())}

    def log_prob(i, y):
        code = int(y @ 2 ** np.arange(L))
        return log_weights[i, place[code]] if code in place else -np.inf

    return ListedJoint(vectors, log_weights), log_prob


def _chain(rng, n, L, scale, tree=False):
    scores, coupling, order = chain_parameters(rng, n, L, scale, tree)
    joint = ChainJoint(scores, coupling, order)
    return joint, lambda i, y: chain_reference.log_prob(scores[i], coupling, order, y)


def _forest(rng, n, L, scale):
    logits, parents = tree_reference.random_forest(rng, n, L, scale)
    # Some labels are certain once their parent is known.
    certain = rng.random(logits.shape) < 0.1
    logits = np.where(certain, np.copysign(np.inf, logits), logits)
    joint = TreeJoint(logits, parents)
    return joint, lambda i, y: tree_reference.log_prob(logits[i], parents, y)


def field_parameters(rng, n, L, scale=2.0):
    upper = np.triu(rng.normal(scale=scale, size=(L, L)), 1)
    upper *= rng.random((L, L)) < rng.random()  # from forests to all pairs
    return rng.normal(scale=scale, size=(n, L)), upper + upper.T


def _field(rng, n, L, scale):
    scores, coupling = field_parameters(rng, n, L, scale)
    log_z = [
        np.log(
            sum(
                np.exp(field_reference.energy(row, coupling, np.array(y)))
                for y in itertools.product((0, 1), repeat=L)
            )
        )
        for row in scores
    ]
    joint = FieldJoint(scores, coupling)
    return joint, lambda i, y: field_reference.energy(scores[i], coupling, y) - log_z[i]


def _general(rng, n, L, scale):
    """Conditionals that are not linear: the number of earlier labels enters squared."""
    scores = rng.normal(scale=scale, size=(n, L))
    bend = rng.normal(scale=scale, size=L)
    order = rng.permutation(L)

    def log_odds(label, rows, prefix):
        return scores[rows, label] + bend[label] * prefix.sum(axis=1) ** 2

    def log_prob(i, y):
        return sum(
            chain_reference.label_log_prob(
                y[label], scores[i, label] + bend[label] * y[order[:position]].sum() ** 2
            )
            for position, label in enumerate(order)
        )

    return ChainJoint.of_functions(log_odds, n, L, order), log_prob


def _mixture(rng, n, L, scale):
    makers = (_chain, _independent, _table, _forest, _listed)
    parts = [maker(rng, n, L, scale) for maker in makers]
    weights = rng.dirichlet(np.ones(len(parts)), size=n)
    joint = MixtureJoint(weights, [part for part, _ in parts])

    def log_prob(i, y):
        total = sum(weights[i, k] * np.exp(parts[k][1](i, y)) for k in range(len(parts)))
        return np.log(total) if total > 0 else -np.inf

    return joint, log_prob


def _powers_of(*makers):
    """Make a form whose powers are no closed form, or one of those that stay what they are."""

    def make_power(rng, n, L, scale):
        base, log_prob = makers[rng.integers(len(makers))](rng, n, L, scale)
        temperature = np.exp(rng.uniform(-0.3, 1.0))
        vectors = np.array(list(itertools.product((0, 1), repeat=L)))
        log_z = [
            np.logaddexp.reduce([log_prob(i, y) / temperature for y in vectors]) for i in range(n)
        ]
        return base.tempered(temperature), lambda i, y: log_prob(i, y) / temperature - log_z[i]

    return make_power


MAKERS = {
    "independent": _independent,
    "table": _table,
    "chain": _chain,
    "tree": lambda rng, n, L, scale: _chain(rng, n, L, scale, tree=True),
    "forest": _forest,
    "general": _general,
    "mixture": _mixture,
    "field": _field,
    "listed": _listed,
    "tempered": _powers_of(_chain, _general, _mixture),
    "power": _powers_of(_independent, _table, _listed, _forest, _field),
}
FORMS = tuple(MAKERS)


def make(form, seed, n, L, scale=2.0):
    """Return a joint of the form and ``log_prob(row, y)`` computed without it."""
    return MAKERS[form](np.random.default_rng(seed), n, L, scale)


def make_with_oracle(form, seed, n, L, scale=2.0):
    joint, log_prob = make(form, seed, n, L, scale)
    return joint, table_reference.from_log_prob(log_prob, n, L)


def evidence_for(joint, rows, seed):
    """Possible evidence with unknown entries: hides labels of vectors that can happen."""
    rng = np.random.default_rng(seed)
    known = np.full((joint.n_rows, joint.n_labels), -1, dtype=np.int8)
    for i, table in enumerate(rows):
        possible = [y for y, p in table.items() if p > 1e-12]
        y = np.array(possible[rng.integers(len(possible))])
        shown = rng.random(joint.n_labels) < 0.5
        known[i, shown] = y[shown]
    return known, {label: known[:, label] for label in range(joint.n_labels)}


forms = st.sampled_from(FORMS)
seeds = st.integers(0, 2**32 - 1)
row_counts = st.integers(0, 4)
label_counts = st.integers(1, 5)
