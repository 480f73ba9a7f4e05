"""Comparisons: same folds for all, nothing leaks, failures are told, JSON keeps everything."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info, threadpool_limits

from labelweave import ClassifierChain, KernelFeatures, compare
from labelweave.evaluation import Comparison, IterativeStratification
from labelweave.metrics import resolve_metrics
from labelweave.models.methods import make_method, with_preprocessing
from labelweave.models.predictions import predict_joint, predict_marginals, score_model
from tests.evaluation.make import comparison

X, Y = make_multilabel_classification(90, 6, n_classes=3, random_state=0)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predicts nothing; its joint gives every vector the same probability; shows what it saw."""

    def __init__(self, trouble=None):
        self.trouble = trouble

    def fit(self, X, Y):
        if self.trouble == "fails":
            raise RuntimeError("no\nluck")
        if self.trouble == "warns":
            warnings.warn("slow\tgoing", UserWarning, stacklevel=1)
            warnings.warn("slow\tgoing", UserWarning, stacklevel=1)
            warnings.warn("for developers", DeprecationWarning, stacklevel=1)
        self.n_labels_ = Y.shape[1]
        self.blas_threads_ = max((pool["num_threads"] for pool in threadpool_info()), default=1)
        self.moments_ = np.asarray(X.mean(axis=0)), np.asarray(X.std(axis=0))
        return self

    def predict(self, X):
        if self.trouble == "threads":
            assert self.blas_threads_ == 1
        if self.trouble == "standardised":
            np.testing.assert_allclose(self.moments_[0], 0, atol=1e-12)
            np.testing.assert_allclose(self.moments_[1], 1)
        return np.zeros((X.shape[0], self.n_labels_), dtype=int)

    def predict_joint(self, X):
        return Uniform(X.shape[0], self.n_labels_)


class Uniform:
    def __init__(self, n_rows, n_labels):
        self.shape = n_rows, n_labels

    def log_prob(self, Y):
        assert Y.shape == self.shape
        return np.full(self.shape[0], -self.shape[1] * math.log(2))


def test_scores_are_those_of_scikit_learns_cross_validation():
    tree = DecisionTreeClassifier(random_state=0)
    result = compare({"tree": tree}, X, Y, cv=5, scale=False, metrics=["exact_match"])
    expected = cross_val_score(tree, X, Y, cv=KFold(5, shuffle=True, random_state=0))
    np.testing.assert_allclose(result.scores("tree", "exact_match"), expected)


def test_scaling_is_learned_from_the_training_fold():
    linear = MultiOutputClassifier(LogisticRegression())
    folds = IterativeStratification(4)
    ours = compare({"linear": linear}, X, Y, cv=folds, metrics=["exact_match"])
    piped = make_pipeline(StandardScaler(), linear)
    expected = cross_val_score(piped, X, Y, cv=folds, scoring="accuracy")
    np.testing.assert_allclose(ours.scores("linear", "exact_match"), expected)
    checked = compare({"checks": Recorder("standardised")}, X, Y, cv=3)
    assert not checked.failures()


def test_who_is_scaled():
    tree, pipeline = DecisionTreeClassifier(), make_pipeline(MinMaxScaler(), LogisticRegression())
    rows = sparse.csr_matrix(X)
    assert with_preprocessing(tree, X) is not tree
    assert with_preprocessing(tree, rows) is tree
    assert with_preprocessing(pipeline, X) is pipeline
    assert with_preprocessing(tree, X, False) is tree
    kernel = make_pipeline(KernelFeatures(), tree)
    assert with_preprocessing(kernel, X).steps[1][1] is kernel
    assert with_preprocessing(kernel, rows) is kernel
    assert with_preprocessing(pipeline, X, True).steps[1][1] is pipeline
    scaled = with_preprocessing(tree, rows, True)[0].fit_transform(rows)
    assert sparse.issparse(scaled)
    assert scaled.nnz == rows.nnz
    with pytest.raises(ValueError, match="scale must be"):
        with_preprocessing(tree, X, "yes")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_do_not_depend_on_the_number_of_workers(n_jobs):
    methods = {"tree": DecisionTreeClassifier(random_state=0), "prior": DummyClassifier()}
    seen = []
    result = compare(methods, X, Y, cv=3, n_jobs=n_jobs, progress=seen.append)
    assert sorted((run.method, run.fold) for run in seen) == [
        (method, fold) for method in sorted(methods) for fold in range(3)
    ]
    order = [(run.method, run.fold) for run in result.results]
    assert order == [(method, fold) for method in methods for fold in range(3)]
    np.testing.assert_allclose(result.scores("tree", "f1_micro"), reference_scores())


def reference_scores():
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(random_state=0))
    return cross_val_score(
        tree, X, Y, cv=KFold(3, shuffle=True, random_state=0), scoring="f1_micro"
    )


def test_linear_algebra_has_one_thread():
    with threadpool_limits(limits=2):
        assert max(pool["num_threads"] for pool in threadpool_info()) == 2
        assert not compare({"checks": Recorder("threads")}, X, Y, cv=2).failures()


def test_a_joint_is_measured_through_pipelines_and_searches():
    search = GridSearchCV(Recorder(), {"trouble": [None]}, cv=2, scoring="accuracy")
    methods = {
        "bare": Recorder(),
        "piped": make_pipeline(MinMaxScaler(), StandardScaler(), Recorder()),
        "search": search,
        "tree": DecisionTreeClassifier(),
    }
    result = compare(methods, X, Y, cv=3, metrics=["cll_loss_sum", "cll_loss"])
    for name in ("bare", "piped", "search"):
        np.testing.assert_allclose(result.scores(name, "cll_loss"), 3 * math.log(2))
        np.testing.assert_allclose(result.scores(name, "cll_loss_sum"), 30 * 3 * math.log(2))
    assert np.isnan(result.scores("tree", "cll_loss_sum")).all()
    assert not result.failures()
    assert predict_joint(make_pipeline(Recorder()).fit(X, Y), X).shape == (90, 3)


def test_forms_of_the_data_do_not_matter():
    tree = {"tree": DecisionTreeClassifier(random_state=0)}
    expected = compare(tree, X, Y, cv=3, scale=False).scores("tree", "jaccard")
    frames = pd.DataFrame(X).add_prefix("x"), pd.DataFrame(Y).add_prefix("y")
    for features, labels in (frames, (sparse.coo_matrix(X), Y), (sparse.csc_array(X), Y)):
        result = compare(tree, features, labels, cv=3, scale=False)
        np.testing.assert_array_equal(result.scores("tree", "jaccard"), expected)


def test_one_label():
    result = compare({"tree": DecisionTreeClassifier()}, X, Y[:, :1], cv=3)
    assert not result.failures()
    assert result.data.n_labels == 1


def test_a_failing_method_does_not_stop_the_others():
    methods = {"good": DummyClassifier(), "bad": Recorder("fails"), "loud": Recorder("warns")}
    with pytest.warns(FitFailedWarning, match="bad failed on 2 of 2 folds: RuntimeError: no luck"):
        result = compare(methods, X, Y, cv=2)
    assert [(run.method, run.error) for run in result.failures()] == [
        ("bad", "RuntimeError: no luck")
    ] * 2
    assert "in fit" in result.failures()[0].traceback
    assert np.isnan(result.scores("bad", "exact_match")).all()
    assert np.isnan(result.seconds("bad", "fit")).all()
    assert not np.isnan(result.scores("good", "exact_match")).any()
    assert [run.warnings for run in result.of_method("loud")] == [("UserWarning: slow\tgoing",)] * 2


def test_the_estimators_are_not_touched():
    model = Recorder()
    compare({"model": model}, X, Y, cv=2)
    assert not hasattr(model, "n_labels_")


def test_bad_arguments_fail_at_once():
    tree = {"tree": DecisionTreeClassifier()}
    with pytest.raises(ValueError, match="methods is empty"):
        compare({}, X, Y)
    with pytest.raises(ValueError, match="unknown metric"):
        compare(tree, X, Y, metrics=["accuracy_of_sorts"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        compare(tree, X, Y[:-1])
    with pytest.raises(ValueError, match="Y must contain only 0 and 1"):
        compare(tree, X, Y + 1)
    with pytest.raises(ValueError, match="scale must be"):
        compare(tree, X, Y, scale="no")
    with pytest.raises(ValueError, match="ridge is a regressor, not a classifier"):
        compare({"ridge": Ridge()}, X, Y)
    with pytest.raises(ValueError, match="the test set of fold 1 has no rows"):
        compare(tree, X, Y, cv=PredefinedSplits([np.arange(3), np.arange(0)]))


class PredefinedSplits:
    """The given test sets; all rows to train on."""

    def __init__(self, tests):
        self.tests = tests

    def split(self, X, Y):
        for test in self.tests:
            yield np.arange(len(X)), test


@pytest.mark.parametrize("method", ["pcc", "ClassifierChain(inference=Exhaustive())"])
def test_methods_that_cannot_decide_so_many_labels_fail_before_they_fit(method, monkeypatch):
    labels = np.random.default_rng(0).integers(0, 2, size=(len(X), 31))
    monkeypatch.setattr(ClassifierChain, "_fit", None)  # not even begun
    with pytest.raises(ValueError, match="cannot decide 31 labels: use inference='auto'"):
        make_method(method).fit(X, labels)


def test_json_keeps_everything():
    methods = {"tree": DecisionTreeClassifier(max_depth=2), "bad": Recorder("fails")}
    with pytest.warns(FitFailedWarning, match="bad failed"):
        result = compare(methods, X, Y, cv=2, name="töy", scale=False)
    text = result.to_json()
    again = Comparison.from_json(text)
    assert again.to_json() == text
    assert again.of_method("tree") == result.of_method("tree")
    content = json.loads(text)
    assert content["schema"] == 1
    assert content["data"] == {"name": "töy", "n_rows": 90, "n_features": 6, "n_labels": 3}
    assert content["splitter"] == "KFold(n_splits=2, random_state=0, shuffle=True)"
    assert content["methods"][0]["estimator"] == "DecisionTreeClassifier(max_depth=2)"
    assert content["methods"][0]["folds"][1]["scores"].keys() == set(result.metrics) - {"cll_loss"}
    assert content["methods"][1]["folds"][0]["fit_seconds"] == "nan"
    assert {"labelweave", "numpy", "python"} <= content["versions"].keys()


def test_a_comparison_shows_itself():
    methods = {"tree | 2": DecisionTreeClassifier(max_depth=2), "bad": Recorder("fails")}
    with pytest.warns(FitFailedWarning, match="bad failed"):
        result = compare(methods, X, Y, cv=2, metrics=["exact_match", "auc_macro"])
    text = repr(result)
    mean = result.scores("tree | 2", "exact_match").mean()
    assert text.splitlines()[0] == "data: 90 rows, 6 features, 3 labels; 2 folds"
    assert f"{mean:.4f} ±" in text
    assert text.endswith("bad failed on 2 of 2 folds: RuntimeError: no luck")
    frame = result.to_frame()
    assert frame.shape == (4, 7)
    kept = frame[frame["method"] == "tree | 2"]["auc_macro"]
    np.testing.assert_array_equal(kept, result.scores("tree | 2", "auc_macro"))
    assert frame["error"].notna().sum() == 2
    lines = result.to_markdown().splitlines()
    assert lines[2:4] == [r"|  | tree \| 2 | bad |", "|---|---:|---:|"]
    assert f"{mean:.4f} ±" in lines[4]


MARKED = {
    "br": {"exact_match": [0.20, 0.22, 0.21, 0.25], "hamming_loss": [0.19, 0.20, 0.19, 0.21]},
    "<pcc>": {"exact_match": [0.30, 0.33, 0.31, 0.34], "hamming_loss": [0.22, 0.24, 0.23, 0.25]},
}


def test_every_form_of_a_comparison_marks_what_is_significant():
    result = comparison(MARKED)
    html, text, markdown = result._repr_html_(), repr(result), result.to_markdown()
    assert ">0.3200 ± 0.0183*○<" in html
    assert ">0.2350 ± 0.0129●<" in html
    assert ">0.1975 ± 0.0096*<" in html
    assert "&lt;pcc&gt;" in html
    assert ">1/0/1<" in html
    explained = "●/○: br is significantly better/worse (paired t-test, p &lt; 0.05)"
    assert explained in html
    assert "*: best" in html
    assert "0.3200 ± 0.0183*○\n" in text
    assert "0.2350 ± 0.0129 ●\n" in text
    assert "| 0.2200 ± 0.0216 | **0.3200 ± 0.0183** ○ |\n" in markdown
    for shown in (text, markdown):
        assert explained.replace("&lt;", "<") in shown
    assert "corrected t-test, p < 0.01" in result.to_markdown(test="corrected", alpha=0.01)


def test_one_method_alone_has_no_marks():
    alone = comparison({"br": MARKED["br"]})
    for shown in (alone._repr_html_(), repr(alone), alone.to_markdown()):
        assert "best" not in shown
        assert "t-test" not in shown
        assert "mean ± standard deviation over folds" in shown


def test_measures_of_scores_take_probabilities_or_decision_values():
    chosen = resolve_metrics(["auc_micro", "exact_match"]).values()
    neighbours = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    expected = roc_auc_score(Y, predict_marginals(neighbours, X), average="micro")
    assert score_model(neighbours, X, Y, chosen)[0]["auc_micro"] == pytest.approx(expected)
    ridge = RidgeClassifier().fit(X, Y)
    expected = roc_auc_score(Y, ridge.decision_function(X), average="micro")
    assert score_model(ridge, X, Y, chosen)[0]["auc_micro"] == pytest.approx(expected)
    assert set(score_model(Recorder().fit(X, Y), X, Y, chosen)[0]) == {"exact_match"}


def test_json_of_an_infinite_loss():
    class Certain(Uniform):
        def log_prob(self, Y):
            return np.full(len(Y), -np.inf)

    class Wrong(Recorder):
        def predict_joint(self, X):
            return Certain(X.shape[0], self.n_labels_)

    result = compare({"wrong": Wrong()}, X, Y, cv=2, metrics=["cll_loss_sum"])
    again = Comparison.from_json(result.to_json())
    assert again == result
    assert (again.scores("wrong", "cll_loss_sum") == np.inf).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a comparison"),
        ('{"kind": "labelweave-comparison", "schema": 99}', "schema 99"),
        ('{"kind": "labelweave-comparison", "schema": 1}', "not a complete comparison"),
    ],
)
def test_json_that_is_no_comparison(text, message):
    with pytest.raises(ValueError, match=message):
        Comparison.from_json(text)


def test_questions_about_what_is_not_there():
    result = compare({"tree": DecisionTreeClassifier()}, X, Y, cv=2, metrics=["jaccard"])
    with pytest.raises(ValueError, match="unknown method 'forest'; choose from tree"):
        result.scores("forest", "jaccard")
    with pytest.raises(ValueError, match="'fit' or 'predict'"):
        result.seconds("tree", "sleep")
