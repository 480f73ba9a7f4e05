"""Log-odds as large as numbers can be: certainty, not NaN."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.joint import ChainJoint, FieldJoint, IndependentJoint, MixtureJoint, TreeJoint

HUGE = 1.7e308
EXTREMES = [0.0, 1.0, -1.0, HUGE, -HUGE, HUGE / 2, -HUGE / 2, 1e-300, 700.0, -700.0]
ROWS = 3


def joints(seed):
    """Return one joint of every form, over the same number of labels."""
    rng = np.random.default_rng(seed)
    n_labels = int(rng.integers(1, 6))

    def draw(*shape):
        return rng.choice(EXTREMES, size=shape)

    parents = np.array([-1, *(int(rng.integers(i)) for i in range(1, n_labels))])
    pairs = np.triu(draw(n_labels, n_labels), 1)
    trees = [TreeJoint(draw(ROWS, n_labels, 2), parents) for _ in range(3)]
    return [
        IndependentJoint(draw(ROWS, n_labels)),
        ChainJoint(draw(ROWS, n_labels), np.tril(draw(n_labels, n_labels), -1)),
        FieldJoint(draw(ROWS, n_labels), pairs + pairs.T),
        trees[0],
        MixtureJoint(np.full((ROWS, 2), 0.5), trees[1:]),
    ]


@pytest.mark.filterwarnings("ignore:overflow")  # a log-probability of -inf is right here
@given(st.integers(0, 2**32 - 1))
def test_every_answer_is_a_number(seed):
    for joint in joints(seed):
        everything = np.ones((ROWS, joint.n_labels), dtype=np.int8)
        for answer in (joint.marginals(), joint.pairwise(), joint.cardinality()):
            assert ((answer >= 0) & (answer <= 1 + 1e-9)).all(), joint
        assert (joint.entropy() >= -1e-9).all(), joint
        assert (joint.log_prob(everything) <= 1e-9).all(), joint
        assert (joint.mode().log_prob <= 1e-9).all(), joint
        assert set(np.unique(joint.sample(2, random_state=0))) <= {0, 1}


@pytest.mark.parametrize("size", [1e4, 1e200, HUGE])
def test_certainty_is_the_same_at_any_size(size):
    coupling = np.array([[0, 0, 0], [-1, 0, 0], [1, -1, 0]]) * size
    joint = ChainJoint(np.array([[1.0, -0.5, 0.5]]) * size, coupling)
    assert joint.marginals().tolist() == [[1, 0, 1]]
    assert joint.mode().labels.tolist() == [[1, 0, 1]]
