"""Random chains with evidence, for the tests of strategies."""

import numpy as np
from hypothesis import strategies as st

from labelweave.joint import ChainJoint
from tests.joint.cases import chain_parameters

scales = st.sampled_from([0.3, 1.0, 3.0, 30.0])


def random_chain(seed, n, L, scale=1.0, evidence=False):
    """Return a chain over a random order; with evidence on about a third of the labels."""
    rng = np.random.default_rng(seed)
    joint = ChainJoint(*chain_parameters(rng, n, L, scale=scale))
    if not evidence:
        return joint
    known = np.where(rng.random((n, L)) < 0.3, rng.integers(0, 2, (n, L)), -1)
    return joint.condition({label: known[:, label] for label in range(L)})


def as_general(joint):
    """Return the same distributions, seen only through their conditionals."""
    general = ChainJoint.of_functions(
        joint.conditionals.log_odds_of, joint.n_rows, joint.n_labels, joint.order
    )
    return general.condition({label: joint.known[:, label] for label in range(joint.n_labels)})


def true_maximum(joint):
    """Return the log-probability of the mode from the table of all label vectors."""
    free = np.arange(joint.n_labels)
    tables = [joint[row]._table(free) for row in range(joint.n_rows)]
    return np.array([table.max() for table in tables]).reshape(joint.n_rows)


def assert_valid(mode, joint, maximum):
    """Labels agree with the evidence, have the probability stated, and the bound holds."""
    assert mode.labels.dtype == np.int8
    assert np.isin(mode.labels, (0, 1)).all()
    assert ((joint.known < 0) | (joint.known == mode.labels)).all()
    np.testing.assert_allclose(mode.log_prob, joint.log_prob(mode.labels), rtol=1e-10, atol=1e-12)
    slack = 1e-9 * (1 + np.abs(maximum))
    assert (mode.log_prob <= maximum + slack).all()
    assert (mode.upper_bound >= maximum - slack).all()
    assert (mode.upper_bound >= mode.log_prob).all()
    assert np.isfinite(mode.upper_bound).all()
