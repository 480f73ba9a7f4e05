"""Measures of scores: against scikit-learn where it has them, against sorted lists elsewhere."""

import itertools
import warnings

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelweave.metrics import METRICS, scores_by_label

laws = settings(max_examples=15)
SCORE_METRICS = [metric for metric in METRICS.values() if metric.needs_scores]
OF_PROBABILITIES = ("calibration_error", "log_loss")
RANKING_METRICS = [metric for metric in SCORE_METRICS if metric.name not in OF_PROBABILITIES]
THEIRS = {
    "auc_micro": lambda t, s: sklearn.metrics.roc_auc_score(t, s, average="micro"),
    "average_precision_macro": sklearn.metrics.average_precision_score,
    "average_precision_micro": lambda t, s: sklearn.metrics.average_precision_score(
        t, s, average="micro"
    ),
    "average_precision_ranking": sklearn.metrics.label_ranking_average_precision_score,
    "ranking_loss": sklearn.metrics.label_ranking_loss,
    "coverage_error": sklearn.metrics.coverage_error,
}


@st.composite
def scored_labels(draw, min_labels=2):
    """Labels, and scores of which some are equal."""
    shape = draw(st.integers(1, 7)), draw(st.integers(min_labels, 5))
    labels = draw(arrays(np.int64, shape, elements=st.integers(0, 1)))
    return labels, draw(arrays(np.float64, shape, elements=st.sampled_from([0.1, 0.4, 0.5, 0.9])))


@laws
@given(pair=scored_labels())
def test_scikit_learn_agrees_where_it_has_the_measure(pair):
    truth, scores = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of labels that do not occur
        for name, theirs in THEIRS.items():
            ours = METRICS[name](truth, scores)
            np.testing.assert_allclose(ours, theirs(truth, scores), atol=1e-12)


@laws
@given(pair=scored_labels())
def test_macro_auc_is_the_mean_of_the_labels_that_have_one(pair):
    truth, scores = pair
    areas = [
        sklearn.metrics.roc_auc_score(y, s)
        for y, s in zip(truth.T, scores.T, strict=True)
        if 0 < y.sum() < len(y)
    ]
    expected = np.mean(areas) if areas else np.nan
    np.testing.assert_allclose(METRICS["auc_macro"](truth, scores), expected)


@laws
@given(pair=scored_labels(min_labels=1), k=st.integers(1, 5))
def test_precision_at_k_is_the_mean_over_all_ways_to_break_ties(pair, k):
    truth, scores = pair
    k = min(k, truth.shape[1])
    rows = []
    for y, s in zip(truth, scores, strict=True):
        orders = itertools.permutations(range(len(y)))
        sorted_orders = [o for o in orders if all(np.diff(s[list(o)]) <= 0)]
        rows.append(np.mean([y[list(order[:k])].mean() for order in sorted_orders]))
    assert METRICS["precision_at_1"](truth, scores, k=k) == pytest.approx(np.mean(rows))
    labelled = truth.any(axis=1)
    if labelled.any():
        first = METRICS["precision_at_1"](truth[labelled], scores[labelled])
        assert METRICS["one_error"](truth, scores) == pytest.approx(1 - first)


@pytest.mark.parametrize("metric", RANKING_METRICS, ids=lambda metric: metric.name)
@laws
@given(pair=scored_labels(min_labels=1), seed=st.integers(0, 9))
def test_only_the_order_of_scores_counts(metric, pair, seed):
    truth, scores = pair
    expected = metric(truth, scores)
    np.testing.assert_allclose(metric(truth, np.exp(3 * scores)), expected)
    random = np.random.default_rng(seed)
    shuffle = np.ix_(*(random.permutation(size) for size in truth.shape))
    np.testing.assert_allclose(metric(truth[shuffle], scores[shuffle]), expected)


def test_rows_without_labels():
    truth, scores = np.zeros((2, 3), dtype=np.int64), np.ones((2, 3))
    assert METRICS["one_error"](truth, scores) == 0.0
    assert METRICS["coverage_error"](truth, scores) == 0.0
    assert METRICS["ranking_loss"](truth, scores) == 0.0
    assert np.isnan(METRICS["auc_macro"](truth, scores))


@pytest.mark.parametrize("metric", SCORE_METRICS, ids=lambda metric: metric.name)
def test_bad_input_names_the_argument(metric):
    with pytest.raises(ValueError, match="scores must have the shape of Y_true"):
        metric([[1, 0]], [[0.5]])
    with pytest.raises(ValueError, match="scores must not contain NaN"):
        metric([[1, 0]], [[0.5, np.nan]])
    with pytest.raises(ValueError, match="Y_true must contain only 0 and 1"):
        metric([[1, 2]], [[0.5, 0.5]])


@laws
@given(pair=scored_labels(min_labels=1))
def test_the_table_of_labels_has_the_figures_of_each_label(pair):
    truth, scores = pair
    predicted = (scores > 0.45).astype(np.int64)
    table = scores_by_label(truth, predicted, scores)
    np.testing.assert_array_equal(table["support"], truth.sum(axis=0))
    np.testing.assert_array_equal(table["predicted"], predicted.sum(axis=0))
    for label, row in table.iterrows():
        precision, recall, f1, _ = sklearn.metrics.precision_recall_fscore_support(
            truth[:, label], predicted[:, label], average="binary", zero_division=0
        )
        figures = row[["precision", "recall", "f1"]].tolist()
        assert figures == pytest.approx([precision, recall, f1])
    assert table["f1"].mean() == pytest.approx(METRICS["f1_macro"](truth, predicted))
    assert table["average_precision"].mean() == pytest.approx(
        METRICS["average_precision_macro"](truth, scores)
    )


def test_the_table_of_labels_wants_matching_shapes():
    with pytest.raises(ValueError, match="Y_true and Y_pred must have the same shape"):
        scores_by_label([[1, 0]], [[1]])
