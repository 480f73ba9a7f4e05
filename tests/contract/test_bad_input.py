"""Bad input: one clear ValueError that names the argument and the fix."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from labelweave.decision import FixedThreshold, HammingLoss
from labelweave.inference import Greedy
from tests.contract.samples import answers, sample

X, Y = sample(n=30)


def with_value(array, value, row=3, column=1):
    changed = array.astype(object if isinstance(value, str) or value is None else float)
    changed[row, column] = value
    return changed


def broken_csr():
    matrix = sp.csr_matrix(X)
    matrix.indices[7] = 99
    return matrix


BAD_X = {
    "NaN": (with_value(X, np.nan), "Input X contains NaN"),
    "inf": (with_value(X, np.inf), "Input X contains infinity"),
    "sparse NaN": (sp.csr_matrix(with_value(X, np.nan)), "Input X contains NaN"),
    "text": (with_value(X, "red"), "could not convert string to float: 'red'"),
    "1-D": (X[:, 0], "Expected 2D array, got 1D array instead"),
    "3-D": (X[:, :, None], "Found array with dim 3"),
    "no rows": (X[:0], r"0 sample\(s\)"),
    "no features": (X[:, :0], r"0 feature\(s\)"),
    "complex": (X * 1j, "Complex data not supported"),
    "two columns of one name": (
        pd.DataFrame(X, columns=["a", "a", *range(2, X.shape[1])]).rename(columns=str),
        "X has two columns named 'a': feature names must be distinct",
    ),
    "too large": (with_value(X, -1e200), "X has a value beyond .* in row 3, feature 1"),
    "sparse too large": (sp.csr_matrix(with_value(X, 1e200)), "X has a value beyond .* in row 3"),
    "broken CSR": (broken_csr(), "X is not a valid sparse matrix: .*indices"),
}
ONLY_BINARY = "y must contain only 0 and 1; row 3 of column 1 is"
BAD_Y = {
    "two": (with_value(Y, 2), ONLY_BINARY + r" .*2.*MultiLabelBinarizer"),
    "minus one": (with_value(Y, -1), ONLY_BINARY + r" .*-1"),
    "half": (with_value(Y, 0.5), ONLY_BINARY + r" .*0\.5"),
    "text": (with_value(Y, "yes"), ONLY_BINARY + " 'yes'"),
    "None": (with_value(Y, None), ONLY_BINARY + " None"),
    "strings": (Y.astype(str), "row 0 of column 0 is .*'0'"),
    "NaN": (with_value(Y, np.nan), "Input y contains NaN"),
    "inf": (with_value(Y, np.inf), "Input y contains infinity"),
    "NA": (pd.DataFrame(with_value(Y, np.nan)).astype("Int64"), "y must|Input y contains NaN"),
    "sparse two": (sp.csr_matrix(with_value(Y, 2)), ONLY_BINARY),
    "named": (
        pd.DataFrame(with_value(Y, 2), columns=list("abcd")),
        "y must contain only 0 and 1; row 3 of 'b' is",
    ),
    "absent": (None, "pass the label matrix as the second argument of fit"),
    "fewer rows": (Y[:29], "y has 29 rows but X has 30: they must match"),
    "fewer rows, 1-D": (Y[:29, 0], r"inconsistent numbers of samples: \[30, 29\]"),
    "no labels": (Y[:, :0], "y has no labels: it needs one column per label"),
    "3-D": (Y[:, :, None], r"y should be .* one column per label, got .*\(30, 4, 1\)"),
    "number": (1, "y should be a 1d array or a matrix with one column per label"),
    "ragged": ([[0, 1], [1]] * 15, "y must be a matrix .*MultiLabelBinarizer"),
    "three classes": (np.arange(30) % 3, "pass y as a matrix with one 0/1 column per label"),
    "one name twice": (
        pd.DataFrame(Y, columns=list("abca")),
        "y has two labels named 'a': label names must be distinct",
    ),
}
BAD_WEIGHTS = {
    "negative": (np.linspace(-1, 1, 30), "[Nn]egative.*sample_weight"),
    "all zero": (
        np.zeros(30),
        "sample_weight is zero for every row: there is nothing to learn from",
    ),
    "NaN": (np.full(30, np.nan), "sample_weight contains NaN"),
    "inf": (np.full(30, np.inf), "sample_weight contains infinity"),
    "too few": (np.ones(29), r"sample_weight.shape == \(29,\), expected \(30,\)"),
    "matrix": (np.ones((30, 2)), "[Ss]ample.weight.* must be 1D|1D array"),
}
NOT_A_PENALTY = [0, -1.0, np.nan, np.inf, True, None, "auto", [1.0], 1j]
NOT_A_COUNT = [0, -1, 2.0, True, None, "auto", [1]]
BAD_PARAMETERS = {
    "C": [(value, "C must be .*'cv' or a finite number above 0; got") for value in NOT_A_PENALTY],
    "label_penalty": [
        (value, "label_penalty must be 'cv' or a finite number above 0; got")
        for value in NOT_A_PENALTY
    ],
    **{
        name: [
            (value, f"{name} must be a whole number of at least [12]; got") for value in NOT_A_COUNT
        ]
        for name in (
            "n_neighbors",
            "n_estimators",
            "passes",
            "max_iter",
            "window",
        )
    },
    "cv": [(value, "cv must be .*got") for value in (0, -1, 2.0, True, "three")],
    "smoothing": [
        (value, "smoothing must be a finite number above 0; got") for value in NOT_A_PENALTY
    ],
    "outputs": [
        (value, "outputs must be 'probability' or 'label'; got") for value in ("score", None, [])
    ],
    "tuned_with": [(value, "tuned_with must be 'online' or 'batch'; got") for value in ("svm", 1)],
    "kernel": [(value, "kernel must be 'linear' or 'rbf'; got") for value in ("poly", None)],
    "gamma": [
        (value, "gamma must be 'scale' or a finite number above 0; got") for value in NOT_A_PENALTY
    ],
    "decision": [
        (value, r"decision must be .* or a (callable|rule) such as \w+\(\); got")
        for value in ("best", None, 3, HammingLoss, FixedThreshold)
    ],
    "inference": [
        (value, r"inference must be .*a strategy such as Greedy\(\); got")
        for value in ("greedy", 3, Greedy)
    ],
    "order": [
        ("sorted", "order must be None, 'random', 'auto' or a list of labels; got 'sorted'"),
        ([0, 1, 2], "order must name each of the 4 labels once"),
        ([0, 1, 2, 2], "order must name each of the 4 labels once"),
        ([0, 1, 2, 4], "order names the unknown label 4: labels are 0 to 3, without names"),
        ([0, 1, 2, -1], "order names the unknown label -1"),
        ([0, 1, 2, 3.0], r"order names the unknown label 3\.0"),
        ([0, 1, 2, True], "order names the unknown label True"),
        (["a", "b", "c", "d"], "order names the unknown label 'a': labels are 0 to 3, without"),
        (2, "order must name each of the 4 labels once"),
    ],
    "estimator": [
        (
            LogisticRegression,
            r"estimator must be a classifier, not a class: write LogisticRegression\(",
        ),
        *[
            (
                value,
                "estimator must be a scikit-learn classifier with predict_proba; got .*Calibrated",
            )
            for value in ("logistic", 3, object(), LinearSVC(), LinearRegression())
        ],
    ],
    "n_jobs": [
        (value, r"n_jobs must be None, a number of threads or -1 \(all cores\); got")
        for value in (0, "two", 1.5)
    ],
    "random_state": [
        (value, "random_state must be None, a whole number from 0 to .*; got")
        for value in (-1, "seed", np.random.default_rng(0))
    ],
}


def check_refused(estimator, kind, message, *data, **options):
    with pytest.raises(ValueError) as refused:
        clone(estimator).fit(*data, **options)
    assert re.search(message, str(refused.value)), (kind, str(refused.value))


def bad_features(estimator):
    """Missing values are fine where an estimator says so, as woven trees do."""
    takes_missing = get_tags(estimator).input_tags.allow_nan
    return {kind: bad for kind, bad in BAD_X.items() if "NaN" not in kind or not takes_missing}


def test_features_of_fit(estimator):
    for kind, (bad, message) in bad_features(estimator).items():
        check_refused(estimator, kind, message, bad, Y)


def test_features_of_predict(estimator):
    model = estimator.fit(X, Y)
    for kind, (bad, message) in bad_features(estimator).items():
        if kind == "no features":
            continue
        for answer in answers(model):
            with pytest.raises(ValueError, match=message):
                answer(bad)


def test_labels(estimator):
    for kind, (bad, message) in BAD_Y.items():
        check_refused(estimator, kind, message, X, bad)


@pytest.mark.usefixtures("weighted")
def test_weights(estimator):
    for kind, (bad, message) in BAD_WEIGHTS.items():
        check_refused(estimator, kind, message, X, Y, sample_weight=bad)


def test_parameters(case, estimator):
    known = estimator.get_params(deep=False)
    others = {"estimator"} if "base classifiers" in case.unsuited else set()
    for name in [name for name in BAD_PARAMETERS if name in known and name not in others]:
        changed = clone(estimator)
        if name in ("C", "label_penalty", "random_state") and known.get("estimator") is not None:
            changed.set_params(estimator=None)
        if name == "random_state" and known.get("C", "cv") != "cv":
            changed.set_params(C="cv")
        for value, message in BAD_PARAMETERS[name]:
            with pytest.raises(ValueError, match=message):
                changed.set_params(**{name: value}).fit(X, Y)


def test_unknown_label_in_order(estimator):
    if "order" not in estimator.get_params():
        pytest.skip("has no order")
    estimator.set_params(order=["a", "b", "c", "e"])
    with pytest.raises(
        ValueError, match=r"order names the unknown label 'e': .* 'a', 'b', 'c', 'd'"
    ):
        estimator.fit(X, pd.DataFrame(Y, columns=list("abcd")))


def test_base_that_cannot_take_weights(case, estimator):
    if "estimator" not in estimator.get_params():
        pytest.skip("has no estimator")
    if "any classifier" in case.unsuited:
        pytest.skip(case.unsuited["any classifier"])
    estimator.set_params(estimator=KNeighborsClassifier(3))
    assert estimator.fit(X, Y).predict_proba(X).shape == Y.shape
    with pytest.raises(
        ValueError, match=r"sample_weight was given, but estimator KNeighborsClassifier"
    ):
        estimator.fit(X, Y, sample_weight=np.ones(30))


@pytest.mark.usefixtures("probabilistic")
def test_evidence(estimator):
    joint = estimator.fit(X, pd.DataFrame(Y, columns=list("abcd"))).predict_joint(X)
    for evidence, message in (
        ({"e": 1}, "evidence names the unknown label 'e': .*'a'"),
        ({4: 1}, "evidence names the unknown label 4: labels are 0 to 3"),
        ({-1: 1}, "evidence names the unknown label -1"),
        ({"a": 2}, r"evidence\['a'\] must only contain values in"),
        ({"a": [0, 1]}, r"evidence\['a'\] must be one value or an array of 30 values"),
        ({"a": 1, 0: 1}, "evidence names label 0 twice"),
    ):
        with pytest.raises(ValueError, match=message):
            joint.condition(evidence)


@pytest.mark.usefixtures("probabilistic")
def test_evidence_by_name_without_names(estimator):
    joint = estimator.fit(X, Y).predict_joint(X)
    with pytest.raises(ValueError, match="labels are 0 to 3, without names"):
        joint.condition({"a": 1})
