"""The kernel of the F-measure against its formula, for more labels than can be enumerated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.decision import FLoss
from labelweave.joint import IndependentJoint, MixtureJoint
from tests.reference.f_measure import best_f_measure


def joint_of(seed, n_labels, offset):
    random = np.random.default_rng(seed)
    parts = [IndependentJoint(random.normal(offset, 2.0, size=(7, n_labels))) for _ in range(2)]
    return MixtureJoint([0.3, 0.7], parts)


@given(
    st.integers(0, 99),
    st.sampled_from([1, 7, 8, 9, 17, 40]),
    st.sampled_from([-4.0, -1.0, 1.0]),
    st.sampled_from([0.5, 1.0, 3.0]),
)
def test_the_kernel_agrees_with_the_formula(seed, n_labels, offset, beta):
    joint = joint_of(seed, n_labels, offset)
    expected = best_f_measure(joint.cardinality_by_label(), joint.cardinality(), beta)
    loss = FLoss(beta)
    decided = loss(joint)
    # Where sums are rounded differently, equally good vectors may differ.
    same = (decided == expected).all(axis=1)
    np.testing.assert_allclose(
        loss.risk(joint, decided)[~same], loss.risk(joint, expected)[~same], atol=1e-12
    )
    assert same.mean() > 0.5


def test_threads_and_batches_do_not_matter():
    joint = joint_of(0, 30, -2.0)
    decided = FLoss()(joint)
    joint.n_threads = 3
    np.testing.assert_array_equal(FLoss()(joint), decided)
    np.testing.assert_array_equal(FLoss()(joint[4:]), decided[4:])


def test_certain_rows():
    certain = IndependentJoint(np.full((2, 3), -np.inf))
    assert not FLoss()(certain).any()
    assert FLoss()(IndependentJoint(np.full((2, 3), np.inf))).all()


def test_the_kernel_checks_shapes():
    out = np.zeros((2, 3), dtype=np.int8)
    with pytest.raises(ValueError, match="by_label must be"):
        native.best_f_measure(np.zeros((2, 3, 3)), np.zeros((2, 4)), 1.0, out)
    with pytest.raises(ValueError, match="cardinality must be"):
        native.best_f_measure(np.zeros((2, 3, 4)), np.zeros((2, 3)), 1.0, out)
    with pytest.raises(ValueError, match="beta must be"):
        native.best_f_measure(np.zeros((2, 3, 4)), np.zeros((2, 4)), 0.0, out)
