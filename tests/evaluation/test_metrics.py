"""Measures against an oracle made of Python sets, against scikit-learn, and by hand."""

import numpy as np
import pandas as pd
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from labelweave import BinaryRelevance
from labelweave.joint import ChainJoint
from labelweave.metrics import METRICS, resolve_metrics
from labelweave.models.predictions import score

laws = settings(max_examples=20)
LABEL_METRICS = [
    metric for metric in METRICS.values() if not (metric.needs_joint or metric.needs_scores)
]


@st.composite
def label_pairs(draw, min_labels=1):
    shape = draw(st.integers(1, 8)), draw(st.integers(min_labels, 5))
    labels = arrays(np.int64, shape, elements=st.integers(0, 1))
    return draw(labels), draw(labels)


def f1_of_sets(truth, prediction, zero_division=1.0):
    total = len(truth) + len(prediction)
    return zero_division if total == 0 else 2 * len(truth & prediction) / total


def jaccard_of_sets(truth, prediction):
    union = truth | prediction
    return 1.0 if not union else len(truth & prediction) / len(union)


def sets_of(matrix):
    return [set(np.flatnonzero(line)) for line in matrix]


def mean_over_rows(measure, truth, prediction):
    pairs = zip(sets_of(truth), sets_of(prediction), strict=True)
    return np.mean([measure(a, b) for a, b in pairs])


def precision_of_sets(truth, prediction):
    return len(truth & prediction) / len(prediction) if prediction else 0.0


def recall_of_sets(truth, prediction):
    return precision_of_sets(prediction, truth)


ORACLES = {
    "exact_match": lambda t, p: mean_over_rows(set.__eq__, t, p),
    "hamming_loss": lambda t, p: mean_over_rows(lambda a, b: len(a ^ b), t, p) / t.shape[1],
    "f1_micro": lambda t, p: f1_of_sets(*sets_of([t.ravel(), p.ravel()])),
    "f1_macro": lambda t, p: mean_over_rows(lambda a, b: f1_of_sets(a, b, 0.0), t.T, p.T),
    "f1_macro_zero_division_1": lambda t, p: mean_over_rows(f1_of_sets, t.T, p.T),
    "f1_example": lambda t, p: mean_over_rows(f1_of_sets, t, p),
    "jaccard": lambda t, p: mean_over_rows(jaccard_of_sets, t, p),
    "precision_micro": lambda t, p: precision_of_sets(*sets_of([t.ravel(), p.ravel()])),
    "recall_micro": lambda t, p: recall_of_sets(*sets_of([t.ravel(), p.ravel()])),
    "precision_macro": lambda t, p: mean_over_rows(precision_of_sets, t.T, p.T),
    "recall_macro": lambda t, p: mean_over_rows(recall_of_sets, t.T, p.T),
}


def test_every_label_metric_has_an_oracle():
    assert {metric.name for metric in LABEL_METRICS} == set(ORACLES)


@laws
@given(pair=label_pairs())
def test_metrics_equal_set_arithmetic(pair):
    for metric in LABEL_METRICS:
        assert metric(*pair) == pytest.approx(ORACLES[metric.name](*pair)), metric.name


@laws
@given(pair=label_pairs(), seed=st.integers(0, 9))
def test_metrics_ignore_the_order_of_rows_and_labels(pair, seed):
    truth, prediction = pair
    random = np.random.default_rng(seed)
    shuffle = np.ix_(*(random.permutation(size) for size in truth.shape))
    for metric in LABEL_METRICS:
        expected = pytest.approx(metric(truth, prediction))
        assert metric(truth[shuffle], prediction[shuffle]) == expected, metric.name


@laws
@given(pair=label_pairs())
def test_truth_is_the_best_prediction(pair):
    truth, prediction = pair
    # Labels that do not occur are nothing to be right about where 0/0 counts 0.
    occurring = dict.fromkeys(
        ("f1_macro", "precision_macro", "recall_macro"), truth.any(axis=0).mean()
    ) | dict.fromkeys(("precision_micro", "recall_micro"), float(truth.any()))
    for metric in LABEL_METRICS:
        best, other = metric(truth, truth), metric(truth, prediction)
        highest = occurring.get(metric.name, 1.0)
        assert best == pytest.approx(highest if metric.higher_is_better else 0.0), metric.name
        assert other <= best + 1e-12 if metric.higher_is_better else other >= best, metric.name
        assert 0.0 <= other <= 1.0, metric.name


@laws
@given(pair=label_pairs(min_labels=2))
def test_scikit_learn_agrees_where_it_has_the_measure(pair):
    for average, zero_division, ours in (
        ("micro", 1.0, METRICS["f1_micro"]),
        ("macro", 0.0, METRICS["f1_macro"]),
        ("macro", 1.0, METRICS["f1_macro_zero_division_1"]),
        ("samples", 1.0, METRICS["f1_example"]),
    ):
        theirs = sklearn.metrics.f1_score(*pair, average=average, zero_division=zero_division)
        assert ours(*pair) == pytest.approx(theirs)
    assert METRICS["exact_match"](*pair) == pytest.approx(1 - sklearn.metrics.zero_one_loss(*pair))


def test_figures_by_hand():
    truth = [[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    prediction = [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]]
    # TP 2, FP 1, FN 2 in all; labels: (1,0,1), (1,1,1), (0,0,0); rows: 2/3, empty, 1, 0.
    assert METRICS["exact_match"](truth, prediction) == 0.5
    assert METRICS["hamming_loss"](truth, prediction) == pytest.approx(3 / 12)
    assert METRICS["f1_micro"](truth, prediction) == pytest.approx(4 / 7)
    assert METRICS["f1_macro"](truth, prediction) == pytest.approx((2 / 3 + 1 / 2 + 0) / 3)
    lenient = METRICS["f1_macro_zero_division_1"](truth, prediction)
    assert lenient == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert METRICS["f1_example"](truth, prediction) == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)
    assert METRICS["jaccard"](truth, prediction) == pytest.approx((1 / 2 + 1 + 1 + 0) / 4)


def test_predicting_nothing_earns_no_macro_f1():
    truth = np.zeros((30, 45), dtype=np.int64)
    truth[:25, :25] = np.eye(25)  # twenty labels of forty-five do not occur
    nothing = np.zeros_like(truth)
    assert METRICS["f1_macro"](truth, nothing) == 0.0
    assert METRICS["f1_macro_zero_division_1"](truth, nothing) == pytest.approx(20 / 45)


class Independent:
    """A joint of independent labels with given marginals."""

    def __init__(self, marginals):
        self.marginals = np.asarray(marginals)

    def log_prob(self, Y):
        with np.errstate(divide="ignore"):
            return np.log(np.where(Y == 1, self.marginals, 1 - self.marginals)).sum(axis=1)


def test_cll_loss_is_the_negative_log_likelihood():
    joint = Independent([[0.9, 0.2], [0.5, 0.4]])
    truth = [[1, 0], [0, 1]]
    expected = -np.log(0.9 * 0.8) - np.log(0.5 * 0.4)
    assert METRICS["cll_loss_sum"](truth, joint) == pytest.approx(expected)
    assert METRICS["cll_loss"](truth, joint) == pytest.approx(expected / 2)
    assert METRICS["cll_loss"](truth, joint, sum=True) == METRICS["cll_loss_sum"](truth, joint)
    assert METRICS["cll_loss_path"](truth, joint) == METRICS["cll_loss"](truth, joint)


def test_the_loss_along_the_greedy_path():
    joint = ChainJoint([[1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]])
    # The first label is likelier 1, and the second is judged as if it were.
    expected = np.log1p(np.exp(1.0)) + np.log1p(np.exp(2.0))
    assert METRICS["cll_loss_path"]([[0, 0]], joint) == pytest.approx(expected)
    assert METRICS["cll_loss"]([[0, 0]], joint) == pytest.approx(
        expected - np.log1p(np.exp(2.0)) + np.log(2)
    )


def test_cll_loss_of_certainty():
    truth = [[1, 0]]
    perfect = METRICS["cll_loss"](truth, Independent([[1.0, 0.0]]))
    assert str(perfect) == "0.0"
    assert METRICS["cll_loss"](truth, Independent([[0.0, 0.0]])) == np.inf


def test_cll_loss_refuses_a_joint_of_other_rows():
    class Fixed:
        def log_prob(self, Y):
            return np.zeros(3)

    with pytest.raises(ValueError, match="one number per row"):
        METRICS["cll_loss"]([[1, 0]], Fixed())


@pytest.mark.parametrize(
    ("truth", "prediction", "message"),
    [
        ([1, 0], [1, 0], "Y_true must be an n×L array"),
        ([[1, 0]], [[1, 0], [0, 0]], "the same shape"),
        ([[1, 2]], [[1, 0]], "Y_true must contain only 0 and 1"),
        ([[1, 0]], [[1, -1]], "Y_pred must contain only 0 and 1"),
        (np.empty((0, 2)), np.empty((0, 2)), "is empty"),
        ([[np.nan, 0]], [[1, 0]], "only 0 and 1"),
    ],
)
def test_bad_input_names_the_argument(truth, prediction, message):
    for metric in LABEL_METRICS:
        with pytest.raises(ValueError, match=message):
            metric(truth, prediction)


def test_resolve_metrics():
    found = resolve_metrics(["Exact-Match", " jaccard"])
    assert found == {name: METRICS[name] for name in ("exact_match", "jaccard")}
    assert len(resolve_metrics(["jaccard", "jaccard"])) == 1
    with pytest.raises(ValueError, match="did you mean hamming_loss"):
        resolve_metrics(["haming_loss"])
    with pytest.raises(ValueError, match="empty"):
        resolve_metrics([])


def test_metrics_are_scorers_of_scikit_learn():
    X, Y = np.eye(6), np.tile([[1, 0, 1], [0, 1, 1]], (3, 1))
    tree = DecisionTreeClassifier(random_state=0)
    scorer = make_scorer(METRICS["f1_macro"])
    assert "f1_macro" in repr(scorer)
    assert scorer(tree.fit(X, Y), X, Y) == 1.0
    loss = make_scorer(METRICS["hamming_loss"], greater_is_better=False)
    assert (cross_val_score(tree, X, Y, scoring=loss, cv=2) <= 0).all()
    model = BinaryRelevance(C=1.0).fit(X, Y)
    ranked = make_scorer(METRICS["auc_macro"], response_method="predict_proba")
    assert ranked(model, X, Y) == METRICS["auc_macro"](Y, model.predict_proba(X))


def test_score_of_a_model():
    X, Y = np.eye(6), np.tile([[1, 0, 1], [0, 1, 0]], (3, 1))
    model = BinaryRelevance(C=1.0).fit(X, Y)
    found = score(model, X, Y, ["exact_match", "cll_loss", "auc_macro"])
    assert found["exact_match"] == METRICS["exact_match"](Y, model.predict(X))
    assert found["cll_loss"] == METRICS["cll_loss"](Y, model.predict_joint(X))
    frame = pd.DataFrame(Y, columns=["a", "b", "c"])
    table = score(model, X, frame, per_label=True)
    assert list(table.index) == ["a", "b", "c"]
    assert table["f1"].mean() == pytest.approx(METRICS["f1_macro"](Y, model.predict(X)))
    assert table["auc"].mean() == pytest.approx(found["auc_macro"])
