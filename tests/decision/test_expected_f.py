"""Expected F1: against enumeration, against a dynamic program, and as counts over a stream."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelweave.decision import ExpectedAUC, ExpectedF, SampledF
from labelweave.decision.expected import F1Statistics, expected_auc, expected_f1
from labelweave.decision.rules import possible_cuts

probabilities = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=7
)


def f1(labels, truth, beta=1.0):
    both = sum(labels) + beta**2 * sum(truth)
    return 1.0 if both == 0 else (1 + beta**2) * np.dot(labels, truth) / both


def auc(labels, truth):
    """Return the share of pairs of a positive and a negative row in the right order."""
    labels, truth = np.array(labels), np.array(truth)
    ahead = labels[truth == 1][:, None] - labels[truth == 0]
    return 0.5 if not ahead.size else 0.5 + 0.5 * ahead.mean()


def enumerated(p, labels, measure=f1):
    """Return E[F1] of a labelling, or of another measure, over all truths there can be."""
    total = 0.0
    for truth in itertools.product((0, 1), repeat=len(p)):
        chance = math.prod(q if t else 1 - q for q, t in zip(p, truth, strict=True))
        total += chance * measure(labels, truth)
    return total


def by_counts(p):
    """E[F1] of the first m by the distributions of two sums of Bernoullis."""
    p = np.sort(p)[::-1]

    def sums(q):
        distribution = np.ones(1)
        for x in q:
            distribution = np.convolve(distribution, [1 - x, x])
        return distribution

    out = [np.prod(1 - p)]
    for m in range(1, len(p) + 1):
        inside, outside = np.arange(m + 1)[:, None], np.arange(len(p) - m + 1)
        weights = sums(p[:m])[:, None] * sums(p[m:])
        out.append((weights * 2 * inside / (m + inside + outside)).sum())
    return np.array(out)


@given(probabilities)
def test_expected_f1_by_enumeration(p):
    order = np.argsort(p)[::-1]
    for m, value in enumerate(expected_f1(p)):
        labels = np.zeros(len(p), dtype=int)
        labels[order[:m]] = 1
        assert value == pytest.approx(enumerated(p, labels), abs=1e-9)


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6, unique=True))
def test_no_labelling_at_all_has_a_higher_expectation(p):
    labels = ExpectedF().label(np.array(p)[:, None]).ravel()
    best = max(enumerated(p, other) for other in itertools.product((0, 1), repeat=len(p)))
    assert enumerated(p, labels) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("beta", [0.5, 0.75, 2.0, 3.0])
@settings(max_examples=20)
@given(p=probabilities)
def test_expected_f_beta_by_enumeration(beta, p):
    order = np.argsort(p)[::-1]
    found = expected_f1(p, beta=beta)
    for m, value in enumerate(found):
        labels = np.zeros(len(p), dtype=int)
        labels[order[:m]] = 1
        expected = enumerated(p, labels, lambda given, truth: f1(given, truth, beta))
        assert value == pytest.approx(expected, abs=1e-9)
    chosen = int(ExpectedF(beta=beta).label(np.reshape(p, (-1, 1))).sum())
    assert found[chosen] == pytest.approx(found[possible_cuts(-np.sort(-np.array(p)))].max())


def test_recall_counts_more_with_a_larger_beta():
    p = np.random.default_rng(0).beta(0.5, 2, size=(500, 1))
    given = [ExpectedF(beta=beta).label(p).sum() for beta in (0.25, 0.5, 1.0, 2.0, 4.0)]
    assert given == sorted(given)
    assert given[0] < given[-1]
    scores, drawn = drawn_set(200, 1, 5)
    sampled = [SampledF(beta=b).thresholds(scores, lambda _: drawn)[0] for b in (0.25, 1.0, 4.0)]
    assert sampled == sorted(sampled, reverse=True)
    for beta in (0.0, 9.0, np.nan):
        with pytest.raises(ValueError, match="beta must be"):
            ExpectedF(beta=beta).thresholds([[0.5]])
    with pytest.raises(ValueError, match="beta must be a number above 0"):
        F1Statistics(1).expected_f1(beta=0.0)


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6, unique=True))
def test_expected_auc_by_enumeration(p):
    every = list(itertools.product((0, 1), repeat=len(p)))
    expected = [enumerated(p, labels, auc) for labels in every]
    np.testing.assert_allclose([expected_auc(p, labels) for labels in every], expected, atol=1e-9)
    chosen = ExpectedAUC().label(np.reshape(p, (-1, 1))).ravel()
    assert expected_auc(p, chosen) == pytest.approx(max(expected), abs=1e-9)


def test_expected_auc_of_a_large_set():
    """The share of positive rows that are labelled is close to its value at the expected counts."""
    p = np.random.default_rng(2).beta(0.5, 3, size=20_000)
    labels = ExpectedAUC().label(p[:, None]).ravel()
    np.testing.assert_array_equal(labels, p > p[labels == 0].max())
    by_counts = 0.5 * (p[labels == 1].sum() / p.sum() + (1 - p[labels == 0]).sum() / (1 - p).sum())
    assert expected_auc(p, labels) == pytest.approx(by_counts, abs=1e-3)
    assert p[labels == 0].max() == pytest.approx(p.mean(), abs=1e-2)


@pytest.mark.parametrize("shape", [(0.05, 2), (0.5, 0.5), (2, 2), (5, 1)])
@pytest.mark.parametrize("n", [40, 300])
def test_expected_f1_by_counts(shape, n):
    p = np.random.default_rng(n).beta(*shape, size=n)
    np.testing.assert_allclose(expected_f1(p), by_counts(p), atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("mean", [0.001, 0.1, 0.9])
def test_few_nodes_keep_the_stated_error(tolerance, mean):
    p = np.random.default_rng(5).beta(mean, 1 - mean, size=3000)
    exact = expected_f1(p, tolerance=1e-15)
    assert np.abs(expected_f1(p, tolerance) - exact).max() <= tolerance
    descending = np.sort(p)[::-1]
    rule = ExpectedF(tolerance)
    chosen = np.count_nonzero(p > rule.thresholds(p[:, None])[0])
    assert exact[chosen] >= exact.max() - 2 * tolerance
    assert descending[chosen - 1] > rule.thresholds(p[:, None])[0]


def test_sure_rows():
    np.testing.assert_allclose(expected_f1([1, 1, 0]), [0, 2 / 3, 1, 0.8])
    assert ExpectedF().label([[1.0], [0.0], [1.0]]).ravel().tolist() == [1, 0, 1]
    assert ExpectedF().thresholds(np.zeros((4, 1))) == np.inf  # nothing to find: label nothing
    assert ExpectedF().thresholds(np.ones((4, 1))) == -np.inf


def test_large_sets_stay_finite():
    p = np.concatenate([np.full(20_000, 1e-8), np.full(2_000, 0.99)])
    labels = ExpectedF().label(p[:, None]).ravel()
    np.testing.assert_array_equal(labels, p > 0.5)


def test_bad_tolerance():
    with pytest.raises(ValueError, match="tolerance must be a number above 0"):
        ExpectedF(0.0).thresholds([[0.5]])


def drawn_set(n, L, S, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.5, 1, size=(n, L))
    return scores, (rng.uniform(size=(S, n, L)) < scores).astype(np.int8)


def plain_expected_f1(scores, drawn, grid):
    """Equation (7) of the paper, as it stands."""
    out = np.zeros((scores.shape[1], len(grid)))
    for c, g in np.ndindex(*out.shape):
        labels = scores[:, c] > grid[g]
        out[c, g] = np.mean([f1(labels, y[:, c]) for y in drawn])
    return out


def test_the_counts_give_the_mean_f1_over_the_samples():
    scores, drawn = drawn_set(50, 3, 4)
    counts = F1Statistics(3, samples=4, grid=11)
    counts.update(scores, drawn)
    expected = plain_expected_f1(scores, drawn, counts.grid)
    np.testing.assert_allclose(counts.expected_f1(), expected, rtol=1e-14)
    best = counts.expected_f1().max(axis=1)
    chosen = counts.thresholds()
    for c in range(3):
        assert expected[c, counts.grid == chosen[c]] == pytest.approx(best[c])


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 100))
def test_batches_of_any_size_in_any_order_give_the_same_counts(cuts, seed):
    scores, drawn = drawn_set(30, 2, 3, seed)
    whole = F1Statistics(2, samples=3)
    whole.update(scores, drawn)
    parts = np.split(np.random.default_rng(seed).permutation(30), sorted(cuts))
    pieces = F1Statistics(2, samples=3)
    for rows in parts:
        pieces.update(scores[rows], drawn[:, rows])
    for name in ("alpha", "beta", "gamma"):
        np.testing.assert_array_equal(getattr(pieces, name), getattr(whole, name))
    np.testing.assert_array_equal(pieces.thresholds(), whole.thresholds())


def test_scores_on_a_candidate_are_not_above_it():
    counts = F1Statistics(1, samples=1, grid=[0.25, 0.5])
    counts.update([[0.25], [0.5], [0.75]], [[[1], [1], [1]]])
    assert counts.gamma.tolist() == [[2, 1]]


def test_samples_approach_the_exact_expectation():
    scores, drawn = drawn_set(60, 1, 3000)
    counts = F1Statistics(1, samples=3000, grid=20)
    counts.update(scores, drawn)
    exact = expected_f1(scores[:, 0])
    above = (scores[:, [0]] > counts.grid).sum(axis=0)
    np.testing.assert_allclose(counts.expected_f1()[0], exact[above], atol=0.01)


def test_nothing_sampled_means_nothing_labelled():
    rule = SampledF()
    scores = np.linspace(0, 0.9, 10)[:, None]
    assert rule.label(scores, lambda s: np.zeros((s, 10, 1))).sum() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 0}, "samples must be"),
        ({"samples": 2.5}, "samples must be"),
        ({"grid": 0}, "grid must be"),
        ({"grid": []}, "grid must be"),
        ({"grid": [np.nan]}, "grid must be"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(ValueError, match=message):
        SampledF(**options).thresholds([[0.5]], lambda s: np.zeros((5, 1, 1)))


def test_bad_samples():
    with pytest.raises(ValueError, match="needs draw="):
        SampledF().thresholds([[0.5]])
    counts = F1Statistics(1, samples=2)
    with pytest.raises(ValueError, match=r"shape \(2, n, 1\)"):
        counts.update([[0.5]], [[[1]]])
    with pytest.raises(ValueError, match="0 or 1"):
        counts.update([[0.5]], [[[2]], [[0]]])


def test_one_threshold_for_all_labels_has_the_highest_expected_micro_f():
    """The expectation by enumeration, over thresholds that are the same for all labels."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 1.5, size=(3, 3))
    labels = ExpectedF(average="micro").label(p)
    cells = p.ravel()
    truths = np.array(list(itertools.product((0, 1), repeat=9)))
    weight = np.prod(np.where(truths, cells, 1 - cells), axis=1)

    def expected(given):
        both, total = truths @ given, truths.sum(axis=1) + given.sum()
        return weight @ np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0)

    order = np.argsort(-cells)
    best = max(expected(np.isin(np.arange(9), order[:m]).astype(int)) for m in range(10))
    assert expected(labels.ravel()) == pytest.approx(best, abs=1e-9)
    assert len(set(np.asarray(ExpectedF(average="micro").thresholds(p)))) == 1
    assert not ExpectedF(average="micro").by_label
    with pytest.raises(ValueError, match="average must be 'macro' or 'micro'"):
        ExpectedF(average="weighted")
