"""Sets of label vectors: exactly those above a probability, and what they say about labels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.decision.sets import reachable_values, vector_sets
from labelweave.joint import ChainJoint, IndependentJoint, ListedJoint
from labelweave.joint.enumeration import label_vectors
from tests.joint.cases import forms, label_counts, make, row_counts, seeds


def log_probs(log_prob, row, n_labels):
    return np.array([log_prob(row, y) for y in label_vectors(n_labels)])


def rounding_decides(values, floor):
    highest = np.sort(values)[-2:]
    return (np.abs(values - floor) < 1e-8).any() or abs(np.subtract(*highest)) < 1e-8


@given(forms, seeds, row_counts, label_counts, st.floats(0.001, 0.6))
def test_a_set_is_all_vectors_above_the_floor_and_the_mode(form, seed, n, L, share):
    joint, log_prob = make(form, seed, n, L)
    floor = np.log(share)
    sets = vector_sets(joint, floor)
    assert sets.complete.all()
    assert len(sets) == n
    for row, vectors in enumerate(sets):
        values = log_probs(log_prob, row, L)
        if rounding_decides(values, floor):
            continue
        inside = values >= floor
        inside[values.argmax()] = True
        listed = label_vectors(L)[inside]
        assert sorted(map(tuple, vectors.tolist())) == sorted(map(tuple, listed.tolist()))
        np.testing.assert_array_equal(sets[row], vectors)
        np.testing.assert_array_equal(sets.inner[row], listed.all(axis=0))
        np.testing.assert_array_equal(sets.outer[row], listed.any(axis=0))
        np.testing.assert_array_equal(vectors[0], label_vectors(L)[values.argmax()])


@given(forms, seeds, row_counts, label_counts, st.floats(0.001, 0.3))
def test_labels_of_a_set_that_is_cut_short_are_those_of_all_of_it(form, seed, n, L, share):
    joint, log_prob = make(form, seed, n, L)
    floor = np.log(share)
    whole, cut = vector_sets(joint, floor), vector_sets(joint, floor, max_size=1)
    assert (cut.sizes == 1).all()
    reachable = reachable_values(joint, np.full(n, floor))
    for row in range(n):
        values = log_probs(log_prob, row, L)
        if rounding_decides(values, floor):
            continue
        vectors = label_vectors(L)[values >= floor]
        for value in (0, 1):
            np.testing.assert_array_equal(reachable[row, :, value], (vectors == value).any(axis=0))
        np.testing.assert_array_equal(cut.inner[row], whole.inner[row])
        np.testing.assert_array_equal(cut.outer[row], whole.outer[row])


def test_lists_grow_until_they_reach_the_floor():
    joint = IndependentJoint(np.zeros((2, 9)))  # all 512 vectors are equally probable
    sets = vector_sets(joint, [np.log(0.5**9) - 1e-9, np.log(0.5**9) + 1e-9])
    assert sets.sizes.tolist() == [512, 1]
    assert sets.complete.all()
    assert len(np.unique(sets[0], axis=0)) == 512


def test_many_labels_without_a_list():
    random = np.random.default_rng(0)
    scores = random.normal(scale=4.0, size=(3, 40))
    coupling = np.tril(random.normal(size=(40, 40)), -1)
    joint = ChainJoint(scores, coupling)
    floor = joint.mode().log_prob - 3.0
    sets = vector_sets(joint, floor, max_size=20)
    assert not sets.complete.any()
    draws = joint.sample(3000, random_state=0)
    above = joint.log_prob(draws) >= floor[:, None]
    for row in range(3):
        found = draws[row][above[row]]
        assert len(found)
        assert (sets.outer[row] | ~found.any(axis=0)).all()
        assert (found.all(axis=0) | ~sets.inner[row]).all()
    assert sets.inner.any()
    assert not sets.outer.all()


def test_no_floor_means_everything_even_what_is_impossible():
    with np.errstate(divide="ignore"):
        joint = ListedJoint.of_table(np.log([[0.5, 0.5, 0.0, 0.0]]))
    sets = vector_sets(joint, -np.inf)
    assert sets.sizes.tolist() == [4]
    assert sets.complete.all()
    assert not sets.inner.any()
    assert sets.outer.all()
    cut = vector_sets(joint, -np.inf, max_size=3)
    assert cut.sizes.tolist() == [2]
    assert not cut.complete.any()
    assert not cut.inner.any()
    assert cut.outer.all()


def test_vectors_are_looked_up_row_by_row():
    sets = vector_sets(IndependentJoint([[2.0, 0.1], [-2.0, 0.1]]), np.log(0.3))
    assert sets.contains([[1, 0], [1, 0]]).tolist() == [True, False]
    assert sets[-1].tolist() == [[0, 1], [0, 0]]
    with pytest.raises(IndexError):
        sets[2]


def test_sets_show_themselves_by_names():
    names = ["sun", "<rain>", "wind"]
    scores = np.repeat([[4.0, 0.5, -1.0]], 7, axis=0)
    sets = vector_sets(IndependentJoint(scores, label_names=names), np.log(0.05))
    text = repr(sets)
    assert text.splitlines()[0] == "VectorSets: 7 rows, 4 vectors on average"
    assert text.splitlines()[1] == "row 0: {sun, <rain>} or {sun} or {sun, <rain>, wind} or 1 other"
    assert text.endswith("row 4: " + text.splitlines()[1][7:] + "\n2 rows not shown")
    html = sets._repr_html_()
    assert ">{sun, &lt;rain&gt;} or {sun} or {sun, &lt;rain&gt;, wind} or 1 other</td>" in html
    assert ">sun</td>" in html  # which all vectors have
    assert ">&lt;rain&gt;, wind</td>" in html  # which some have
    assert html.count("row ") == 5
    assert "2 rows not shown" in html


def test_sets_without_names_or_labels_or_rows_show_themselves_too():
    none = vector_sets(IndependentJoint([[-2.0, -2.0]]), np.log(0.5))
    assert repr(none).endswith("row 0: {}")
    cut = vector_sets(IndependentJoint(np.zeros((1, 9))), -np.inf, max_size=4)
    assert repr(cut).startswith("VectorSets: 1 row, 4 vectors on average; 1 set cut short")
    assert repr(cut).endswith("or at least 1 other")
    assert ">4 or more<" in cut._repr_html_()
    assert repr(vector_sets(IndependentJoint([[0.0]])[:0], -1.0)) == "VectorSets: 0 rows"


def test_bad_input_is_named():
    joint = IndependentJoint([[0.0]])
    with pytest.raises(ValueError, match="log_floor"):
        vector_sets(joint, np.nan)
    with pytest.raises(ValueError, match="max_size"):
        vector_sets(joint, -1.0, max_size=0)
    with pytest.raises(ValueError, match="Y must have shape"):
        vector_sets(joint, -1.0).contains([[1, 0]])
