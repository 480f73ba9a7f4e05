"""T-tests against SciPy and by hand; verdicts from the first method's point of view."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from labelweave._common.wording import Symbols
from labelweave.evaluation import paired_t_test
from labelweave.evaluation.results import score_rows
from tests.evaluation.make import comparison

figures = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=12
).map(lambda pairs: np.array(pairs).T / 1000)


@given(figures)
def test_paired_test_is_scipys(pair):
    a, b = pair
    assume(np.ptp(a - b) > 1e-9)
    ours, theirs = paired_t_test(a, b), stats.ttest_rel(a, b)
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx(np.mean(a - b))


@given(figures)
def test_swapping_the_methods_changes_only_the_sign(pair):
    a, b = pair
    forth, back = paired_t_test(a, b), paired_t_test(b, a)
    assert forth.statistic == pytest.approx(-back.statistic)
    assert forth.p_value == pytest.approx(back.p_value)


@given(figures, st.floats(0.01, 2.0))
def test_the_correction_is_more_careful_and_vanishes_with_the_overlap(pair, ratio):
    a, b = pair
    plain = paired_t_test(a, b)
    corrected = paired_t_test(a, b, n_train=1.0, n_test=ratio)
    assert corrected.p_value >= plain.p_value - 1e-12
    without_overlap = paired_t_test(a, b, n_train=1e18, n_test=1.0)
    assert without_overlap.p_value == pytest.approx(plain.p_value)


def test_corrected_test_by_hand():
    # Differences 1, 2, 3: mean 2, variance 1; 1/3 + 10/20 = 5/6; t = 2/√(5/6), 2 degrees.
    result = paired_t_test([2, 4, 6], [1, 2, 3], n_train=20, n_test=10)
    t = 2 / math.sqrt(5 / 6)
    assert result.statistic == pytest.approx(t)
    # Student's distribution has a closed form for two degrees of freedom.
    assert result.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t))


def test_no_variance():
    equal = paired_t_test([0.3, 0.4], [0.3, 0.4])
    assert (equal.statistic, equal.p_value) == (0.0, 1.0)
    ahead = paired_t_test([0.5, 0.6, 0.9], [0.4, 0.5, 0.8])
    assert (ahead.statistic, ahead.p_value) == (math.inf, 0.0)
    behind = paired_t_test([1.0, 2.0], [2.0, 3.0], n_train=9, n_test=1)
    assert (behind.statistic, behind.p_value) == (-math.inf, 0.0)


def test_differences_of_rounding_size_are_none():
    a = np.array([0.1, 0.2, 0.7])
    b = 1 - (1 - a)
    assert not np.array_equal(a, b)
    assert paired_t_test(a, b).p_value == 1.0


def test_failed_folds_are_left_out_on_both_sides():
    a, b = [0.1, math.nan, 0.3, 0.5], [0.2, 0.9, 0.1, 0.1]
    assert paired_t_test(a, b) == paired_t_test([0.1, 0.3, 0.5], [0.2, 0.1, 0.1])


@pytest.mark.parametrize(
    ("a", "b"),
    [([0.5], [0.1]), ([], []), ([math.nan] * 3, [1, 2, 3]), ([math.inf, 1.0], [math.inf, 2.0])],
)
def test_no_test_without_two_finite_pairs(a, b):
    assert math.isnan(paired_t_test(a, b).p_value)


def test_bad_input():
    with pytest.raises(ValueError, match="one score per fold"):
        paired_t_test([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="n_train must be a number above 0"):
        paired_t_test([1, 2], [1, 3], n_train=0, n_test=1)
    with pytest.raises(ValueError, match="must be given together"):
        paired_t_test([1, 2], [1, 3], n_train=9)


FIGURES = {
    "first": {"exact_match": [0.50, 0.52, 0.51, 0.53], "hamming_loss": [0.20, 0.21, 0.19, 0.20]},
    "lower": {"exact_match": [0.30, 0.33, 0.29, 0.31], "hamming_loss": [0.10, 0.12, 0.09, 0.11]},
    "same": {"exact_match": [0.51, 0.51, 0.52, 0.52], "hamming_loss": [0.20, 0.21, 0.19, 0.20]},
}


def test_verdicts_know_which_way_is_better():
    result = comparison(FIGURES)
    assert result.verdicts("exact_match") == {"lower": "better", "same": "tie"}
    assert result.verdicts("hamming_loss") == {"lower": "worse", "same": "tie"}


def test_corrected_verdicts_use_the_sizes_of_the_folds():
    wide = {
        "first": {"exact_match": [0.5, 0.6, 0.5, 0.6]},
        "other": {"exact_match": [0.45, 0.5, 0.48, 0.52]},
    }
    gentle = comparison(wide, fold_sizes=((1000, 1),) * 4)
    harsh = comparison(wide, fold_sizes=((100, 100),) * 4)
    assert gentle.verdicts("exact_match", test="paired") == {"other": "better"}
    assert gentle.verdicts("exact_match", test="corrected") == {"other": "better"}
    assert harsh.verdicts("exact_match", test="paired") == {"other": "better"}
    assert harsh.verdicts("exact_match", test="corrected") == {"other": "tie"}


def test_no_verdict_without_figures():
    figures_without_joint = {"first": {"cll_loss_sum": [1.0, 2.0]}, "tree": {}}
    result = comparison(figures_without_joint)
    assert result.verdicts("cll_loss_sum") == {"tree": None}
    assert tallies(result) == {"tree": "0/0/0"}


def tallies(result):
    rows = {row.title: row.figures for row in score_rows(result, Symbols.of("utf-8"))}
    return {name: figure.written for name, figure in rows["wins/ties/losses"].items()}


def test_tallies_count_over_measures():
    assert tallies(comparison(FIGURES)) == {"lower": "1/0/1", "same": "0/2/0"}


def test_verdict_arguments():
    with pytest.raises(ValueError, match="'paired' or 'corrected'"):
        comparison(FIGURES).verdicts("exact_match", test="wilcoxon")
    with pytest.raises(ValueError, match="alpha"):
        comparison(FIGURES).verdicts("exact_match", alpha=5)
    with pytest.raises(ValueError, match="unknown metric 'jaccard'"):
        comparison(FIGURES).verdicts("jaccard")
