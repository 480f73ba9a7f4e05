"""Scores of queries against enumeration, and the laws of information."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.evaluation import information_about_others, label_uncertainty, row_uncertainty
from labelweave.joint import IndependentJoint, MixtureJoint
from tests.joint.cases import FORMS, MAKERS
from tests.reference import table as reference


def entropy(p):
    return -sum(q * math.log(q) for q in (p, 1 - p) if q > 0)


def of_labels(table):
    """Return the entropy of each label of one distribution."""
    return np.array([entropy(p) for p in reference.marginals([table])[0]])


def expected_after(table, label, measure):
    """Return the mean of a measure once the value of a label is known."""
    L = len(next(iter(table)))
    total = 0.0
    for value in (0, 1):
        p = sum(q for y, q in table.items() if y[label] == value)
        if p > 0:
            known = np.full((1, L), -1)
            known[0, label] = value
            total = total + p * measure(reference.condition([table], known)[0])
    return total


@st.composite
def joints(draw):
    form, L = draw(st.sampled_from(FORMS)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    joint, log_prob = MAKERS[form](rng, 2, L, 2.0)
    return joint, reference.from_log_prob(log_prob, 2, L)


@given(joints())
def test_a_label_reduces_the_entropy_of_the_vector_by_its_own(case):
    joint, tables = case
    found = label_uncertainty(joint)
    for row, table in enumerate(tables):
        before = reference.entropy([table])[0]
        for label in range(joint.n_labels):
            after = expected_after(table, label, lambda t: reference.entropy([t])[0])
            assert found[row, label] == pytest.approx(before - after, abs=1e-8)


@given(joints())
def test_information_about_others_is_the_reduction_of_their_entropies(case):
    joint, tables = case
    found = information_about_others(joint)
    for row, table in enumerate(tables):
        before = of_labels(table)
        for label in range(joint.n_labels):
            others = np.arange(joint.n_labels) != label
            gain = (before - expected_after(table, label, of_labels))[others].sum()
            assert found[row, label] == pytest.approx(gain, abs=1e-8)


@given(joints())
def test_uncertainty_of_rows(case):
    joint, tables = case
    by = {
        name: row_uncertainty(joint, name) for name in ("entropy", "labels", "confidence", "margin")
    }
    for row, table in enumerate(tables):
        first, second = sorted(table.values())[:-3:-1]
        assert by["entropy"][row] == pytest.approx(reference.entropy([table])[0], abs=1e-8)
        assert by["labels"][row] == pytest.approx(of_labels(table).sum(), abs=1e-8)
        assert by["confidence"][row] == pytest.approx(1 - first, abs=1e-8)
        assert by["margin"][row] == pytest.approx(1 - (first - second), abs=1e-8)
    assert (by["entropy"] <= by["labels"] + 1e-9).all()


@given(joints(), st.integers(1, 3))
def test_members_that_agree_do_not_disagree(case, n):
    joint, _ = case
    same = MixtureJoint(np.full(n, 1 / n), [joint] * n)
    np.testing.assert_allclose(row_uncertainty(same, "disagreement"), 0.0, atol=1e-8)


def test_disagreement_is_what_the_labels_tell_about_the_member():
    rng = np.random.default_rng(0)
    parts = [MAKERS[form](rng, 3, 3, 2.0) for form in ("chain", "forest", "independent")]
    weights = rng.dirichlet(np.ones(3), size=3)
    found = row_uncertainty(MixtureJoint(weights, [joint for joint, _ in parts]), "disagreement")
    tables = [reference.from_log_prob(log_prob, 3, 3) for _, log_prob in parts]
    for row in range(3):
        expected = 0.0
        for y in tables[0][row]:
            each = np.array([table[row][y] for table in tables])
            joint = weights[row] * each
            expected += sum(
                p * math.log(q / joint.sum()) for p, q in zip(joint, each, strict=True) if p > 0
            )
        assert found[row] == pytest.approx(expected)


def test_known_labels_are_not_asked_again():
    rng = np.random.default_rng(1)
    joint, _ = MAKERS["chain"](rng, 5, 4, 1.0)
    known = joint.condition({2: [0, 1, 1, 0, 1]})
    assert not label_uncertainty(known)[:, 2].any()
    np.testing.assert_allclose(information_about_others(known)[:, 2], 0.0, atol=1e-12)


def test_independent_labels_say_nothing_about_each_other():
    joint = IndependentJoint(np.random.default_rng(0).normal(size=(4, 5)))
    np.testing.assert_allclose(information_about_others(joint), 0.0, atol=1e-12)


def test_bad_input_is_named():
    joint = IndependentJoint([[0.0]])
    with pytest.raises(ValueError, match=r"by must be 'entropy', .*'margin' or 'disagreement'"):
        row_uncertainty(joint, "doubt")
    with pytest.raises(ValueError, match="joint must be a MixtureJoint"):
        row_uncertainty(joint, "disagreement")
