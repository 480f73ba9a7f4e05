"""Laws of the splits: a partition, even sizes, fair shares of labels and combinations."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.model_selection import KFold, cross_validate
from sklearn.tree import DecisionTreeClassifier

from labelweave.evaluation import IterativeStratification


@st.composite
def labels_and_folds(draw):
    n_folds = draw(st.integers(2, 5))
    shape = draw(st.integers(n_folds, 40)), draw(st.integers(1, 5))
    return draw(arrays(np.int64, shape, elements=st.integers(0, 1))), n_folds


def skewed_labels(n_rows=600, n_labels=14, seed=0):
    random = np.random.default_rng(seed)
    frequency = random.beta(0.5, 4.0, n_labels)
    common = random.random((n_rows, 1)) < 0.3
    return ((random.random((n_rows, n_labels)) < frequency) | (common & (frequency > 0.2))).astype(
        int
    )


def unfairness(Y, fold_of, n_folds):
    """Mean gap between a fold's count of a label and its fair share."""
    counts = np.array([Y[fold_of == fold].sum(axis=0) for fold in range(n_folds)])
    return np.abs(counts - Y.sum(axis=0) / n_folds).mean()


@given(case=labels_and_folds(), seed=st.integers(0, 100))
def test_folds_are_a_partition_of_even_sizes(case, seed):
    Y, n_folds = case
    splits = list(IterativeStratification(n_folds, random_state=seed).split(Y, Y))
    assert len(splits) == n_folds
    tests = np.concatenate([test for _, test in splits])
    assert np.array_equal(np.sort(tests), np.arange(len(Y)))
    for train, test in splits:
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(Y)))
    sizes = [len(test) for _, test in splits]
    assert max(sizes) - min(sizes) <= 1


@given(case=labels_and_folds())
def test_combinations_have_their_even_share_in_every_fold(case):
    Y, n_folds = case
    fold_of = IterativeStratification(n_folds).assign(Y)
    combinations, group = np.unique(Y, axis=0, return_inverse=True)
    for number in range(len(combinations)):
        counts = np.bincount(fold_of[group.reshape(-1) == number], minlength=n_folds)
        assert counts.min() >= counts.sum() // n_folds


@pytest.mark.parametrize("n_folds", [3, 10])
@pytest.mark.parametrize("seed", range(5))
def test_labels_are_fairer_than_with_kfold(seed, n_folds):
    Y = skewed_labels(seed=seed)
    stratified = IterativeStratification(n_folds, random_state=seed).assign(Y)
    shuffled = np.empty(len(Y), dtype=int)
    for fold, (_, test) in enumerate(KFold(n_folds, shuffle=True, random_state=seed).split(Y)):
        shuffled[test] = fold
    assert unfairness(Y, stratified, n_folds) < 0.3 * unfairness(Y, shuffled, n_folds)


def test_a_rare_label_reaches_as_many_folds_as_it_can():
    Y = skewed_labels()
    Y[:, 0] = 0
    Y[:7, 0] = 1
    fold_of = IterativeStratification(10).assign(Y)
    assert len(set(fold_of[:7])) == 7


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    Y = skewed_labels()
    first, again, other = (
        IterativeStratification(10, random_state=seed).assign(Y) for seed in (3, 3, 4)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_forms_of_labels_do_not_matter():
    Y = skewed_labels(60)
    expected = IterativeStratification(3).assign(Y)
    for form in (sparse.csr_matrix(Y), pd.DataFrame(Y), Y.astype(bool), Y.tolist()):
        assert np.array_equal(IterativeStratification(3).assign(form), expected)


def test_scikit_learn_takes_it_as_cv():
    Y = skewed_labels(60, 3)
    scores = cross_validate(
        DecisionTreeClassifier(random_state=0), Y, Y, cv=IterativeStratification(3)
    )
    assert len(scores["test_score"]) == 3


def test_labels_that_are_constant():
    for value in (0, 1):
        Y = np.full((11, 3), value)
        assert sorted(np.bincount(IterativeStratification(4).assign(Y))) == [2, 3, 3, 3]


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.5, True, "3"])
def test_bad_number_of_folds(n_splits):
    with pytest.raises(ValueError, match="n_splits must be a whole number of at least 2"):
        IterativeStratification(n_splits)


def test_too_few_rows_and_missing_labels():
    with pytest.raises(ValueError, match="more than the 3 rows"):
        IterativeStratification(4).assign(np.ones((3, 2)))
    with pytest.raises(ValueError, match="more than the 0 rows"):
        IterativeStratification(4).assign(np.ones((0, 2)))
    with pytest.raises(ValueError, match="y is missing"):
        list(IterativeStratification(2).split(np.ones((4, 1))))
