"""Dependence between labels against scikit-learn, enumeration and exhaustive search."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from labelweave.evaluation import (
    LabelDependence,
    chow_liu,
    conditional_matrix,
    mutual_information,
)
from labelweave.evaluation.dependence import (
    mean_conditional_matrix,
)
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint

RNG = np.random.default_rng(0)
HIDDEN = RNG.integers(0, 2, size=(300, 1))
Y = (RNG.uniform(size=(300, 5)) < np.where(HIDDEN, 0.7, 0.2)).astype(int)


def test_mutual_information_is_scikit_learns_and_the_diagonal_entropy():
    information = mutual_information(Y)
    for i, j in np.ndindex(5, 5):
        assert information[i, j] == pytest.approx(mutual_info_score(Y[:, i], Y[:, j]))
    constant = np.column_stack([Y, np.ones(300, dtype=int)])
    np.testing.assert_allclose(mutual_information(constant)[5], 0, atol=1e-15)


def test_the_conditional_matrix_counts_rows():
    matrix = conditional_matrix(np.column_stack([Y, np.zeros(300, dtype=int)]))
    for i, j in np.ndindex(5, 5):
        assert matrix[i, j] == pytest.approx(Y[Y[:, i] == 1, j].mean())
    assert np.isnan(matrix[5]).all()
    assert (matrix[:5, 5] == 0).all()


def test_the_mean_conditional_matrix_is_that_of_many_draws():
    joint = ListedJoint.of_table(np.log(RNG.dirichlet(np.ones(8), size=4)))
    draws = joint.sample(4000, 0).reshape(-1, 3)
    np.testing.assert_allclose(mean_conditional_matrix(joint), conditional_matrix(draws), atol=0.03)
    marginal = IndependentJoint(np.array([[0.3, -1.0]]))
    assert mean_conditional_matrix(marginal)[0, 1] == pytest.approx(marginal.marginals()[0, 1])


def test_dependence_given_the_features_is_what_is_left_within_rows():
    joint = ListedJoint.of_table(np.log(RNG.dirichlet(np.ones(8), size=4)))
    np.testing.assert_allclose(
        LabelDependence.from_joint(joint).mutual_information,
        joint.mutual_information().mean(axis=0),
    )
    # Labels that are independent within rows are not so in the data.
    apart = IndependentJoint(np.array([[3.0, 3.0], [-3.0, -3.0]]))
    assert LabelDependence.from_joint(apart).mutual_information[0, 1] == pytest.approx(0, abs=1e-12)
    assert LabelDependence.from_joint(apart).log_odds_ratio[0, 1] == pytest.approx(0, abs=1e-12)
    assert mutual_information(apart.sample(2000, 0).reshape(-1, 2))[0, 1] > 0.3


def test_a_log_odds_ratio_that_rows_share_is_found():
    scores = RNG.normal(size=(50, 2))
    joint = ChainJoint(scores, np.array([[0.0, 0.0], [-1.7, 0.0]]))
    assert LabelDependence.from_joint(joint).log_odds_ratio[0, 1] == pytest.approx(-1.7)
    exclusive = ListedJoint([[1, 0], [0, 1]], np.log([[0.5, 0.5]]))
    assert LabelDependence.from_joint(exclusive).log_odds_ratio[0, 1] == -np.inf


def forests(n_labels):
    for parents in product(range(-1, n_labels), repeat=n_labels):
        seen = [parents]
        if any(parents[j] == j for j in range(n_labels)):
            continue
        for _ in range(n_labels):  # follow the parents; a cycle never ends at a root
            seen.append([-1 if j < 0 else parents[j] for j in seen[-1]])
        if all(j < 0 for j in seen[-1]):
            yield parents


def test_no_forest_has_a_larger_gain():
    labels = Y[:, :4]
    gain = len(labels) * mutual_information(labels) - np.log(len(labels)) / 2
    best = max(sum(gain[p, j] for j, p in enumerate(f) if p >= 0) for f in forests(4))
    forest = chow_liu(labels, ["a", "b", "$c$", "<d>"])
    assert forest.gains.sum() == pytest.approx(best)
    assert forest.label_names == ("a", "b", "$c$", "<d>")


def test_the_table_has_every_pair_once_the_strongest_first():
    tables = np.random.default_rng(1).dirichlet(np.ones(16), size=5)
    joint = ListedJoint.of_table(np.log(tables), label_names=list("abcd"))
    found = LabelDependence.from_joint(joint)
    np.testing.assert_allclose(
        found.mutual_information, LabelDependence.from_joint(joint).mutual_information
    )
    np.testing.assert_allclose(
        found.log_odds_ratio, LabelDependence.from_joint(joint).log_odds_ratio
    )
    frame = found.to_frame()
    assert set(zip(frame.label, frame.other_label, strict=True)) == set(combinations("abcd", 2))
    assert frame.mutual_information.is_monotonic_decreasing
    for pair in frame.itertuples():
        i, j = "abcd".index(pair.label), "abcd".index(pair.other_label)
        assert pair.mutual_information == pytest.approx(found.mutual_information[i, j])
        assert pair.log_odds_ratio == pytest.approx(found.log_odds_ratio[i, j])
    assert found.to_frame(top=2).equals(frame[:2])


def test_the_dependence_of_a_row_is_its_own():
    joint = ListedJoint.of_table(np.log(np.random.default_rng(1).dirichlet(np.ones(8), size=4)))
    found = LabelDependence.from_joint(joint, row=2)
    np.testing.assert_allclose(found.mutual_information, joint.mutual_information()[2])
    np.testing.assert_allclose(found.log_odds_ratio, joint.log_odds_ratios()[2])
    assert (found.label_names, found.rows) == (("0", "1", "2"), "row 2")


@pytest.mark.parametrize("seed", range(4))
def test_the_forest_takes_the_strongest_pairs_that_close_no_cycle(seed):
    joint = ListedJoint.of_table(np.log(np.random.default_rng(seed).dirichlet(np.ones(32), size=3)))
    found = LabelDependence.from_joint(joint)
    tree_of = list(range(5))  # Kruskal's algorithm, the pairs one by one
    taken = []
    for i, j in zip(*found.strongest_pairs(), strict=True):
        if tree_of[i] != tree_of[j]:
            taken.append({int(i), int(j)})
            tree_of = [tree_of[i] if tree == tree_of[j] else tree for tree in tree_of]
    for n_edges in (1, 2, 4):
        forest = found.forest(n_edges)
        edges = [set(edge) for edge in forest.edges]
        assert sorted(map(sorted, edges)) == sorted(map(sorted, taken[:n_edges]))
        for parent, child in forest.edges:
            assert forest.gains[child] == pytest.approx(found.mutual_information[parent, child])
            assert forest.couplings[child] == pytest.approx(found.log_odds_ratio[parent, child])
    assert len(LabelDependence.from_joint(IndependentJoint(np.ones((2, 3)))).forest().edges) == 0


def test_independent_labels_stay_apart_and_signs_are_those_of_the_data():
    assert len(chow_liu(RNG.integers(0, 2, size=(400, 3))).edges) == 0
    assert len(chow_liu(np.ones((9, 2), dtype=int)).edges) == 0
    opposite = chow_liu(np.column_stack([Y[:, 0], 1 - Y[:, 0]]))
    assert opposite.couplings[opposite.parents >= 0] < 0


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="Y must contain only 0 and 1"):
        mutual_information([[2]])
    with pytest.raises(ValueError, match="label_names must name 5 labels; it has 1"):
        chow_liu(Y, ["a"])
    empty = IndependentJoint(np.zeros((1, 2)))[:0]
    for mean in (
        mean_conditional_matrix,
        LabelDependence.from_joint,
    ):
        with pytest.raises(ValueError, match="joint has no rows"):
            mean(empty)
    one = IndependentJoint(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="row must be a whole number from 0 to 0; got 1"):
        LabelDependence.from_joint(one, row=1)
    with pytest.raises(ValueError, match="label_names must name 2 labels; it has 1"):
        LabelDependence.from_joint(one, label_names=["a"])
