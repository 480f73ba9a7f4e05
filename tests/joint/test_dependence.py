"""Dependence of the pairs of labels of a row, from the definition of each measure."""

import math

import numpy as np
from hypothesis import given

from labelweave.joint import IndependentJoint, ListedJoint, TreeJoint
from tests.joint.cases import forms, label_counts, make_with_oracle, row_counts, seeds
from tests.reference import tree as tree_reference


def cell(table, i, j, a, b):
    return sum(p for y, p in table.items() if (y[i], y[j]) == (a, b))


def information(table, i, j):
    total = 0.0
    for a in (0, 1):
        for b in (0, 1):
            both = cell(table, i, j, a, b)
            apart = cell(table, i, i, a, a) * cell(table, j, j, b, b)
            total += both * math.log(both / apart) if both > 0 else 0.0
    return total


@given(forms, seeds, row_counts, label_counts)
def test_mutual_information_is_that_of_the_pairs(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L)
    found = joint.mutual_information()
    assert found.shape == (n, L, L)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-12)
    for i, j in np.ndindex(L, L):
        expected = [information(table, i, j) for table in rows]
        np.testing.assert_allclose(found[:, i, j], expected, rtol=1e-6, atol=1e-9)


@given(forms, seeds, row_counts, label_counts)
def test_log_odds_ratios_are_those_of_the_pairs(form, seed, n, L):
    joint, rows = make_with_oracle(form, seed, n, L, scale=1.0)
    found = joint.log_odds_ratios()
    for i, j in np.ndindex(L, L):
        for row, table in enumerate(rows):
            cells = [cell(table, i, j, a, b) for a, b in ((1, 1), (0, 0), (1, 0), (0, 1))]
            if min(cells) > 1e-9:
                expected = math.log(cells[0] * cells[1] / (cells[2] * cells[3]))
                np.testing.assert_allclose(found[row, i, j], expected, atol=1e-5)


def test_a_tree_has_the_log_odds_ratio_of_its_edge_and_less_along_a_path():
    logits, parents = tree_reference.random_forest(np.random.default_rng(0), 3, 30, 1.0)
    found = TreeJoint(logits, parents).log_odds_ratios()
    for child, parent in enumerate(parents):
        if parent >= 0:
            coupling = logits[:, child, 1] - logits[:, child, 0]
            np.testing.assert_allclose(found[:, child, parent], coupling, atol=1e-8)


def test_certain_and_exclusive_labels():
    exclusive = ListedJoint([[1, 0], [0, 1], [0, 0]], np.log([[0.3, 0.3, 0.4]]))
    assert exclusive.log_odds_ratios()[0, 0, 1] == -np.inf
    certain = IndependentJoint([[0.5, 0.5, 0.5]]).condition({1: 1})
    assert certain.log_odds_ratios()[0, 0, 1] == 0
    assert certain.mutual_information()[0, 1].max() == 0


def test_rare_labels_keep_their_digits():
    rare = IndependentJoint([[-45.0, -50.0]])
    np.testing.assert_allclose(rare.log_odds_ratios()[0, 0, 1], 0, atol=1e-9)
