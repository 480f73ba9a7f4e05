"""Everything that may be handed over as X and y gives the same model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from tests.contract.samples import is_probabilistic, sample, values_of

X, Y = sample()
NAMES = ["happy", "sad", "calm", "angry"]

FORMS_OF_X = {
    "list": lambda a: a.tolist(),
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "float32": lambda a: a.astype(np.float32),
    "frame": pd.DataFrame,
}
SPARSE_FORMS_OF_X = {
    "csr_matrix": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "coo_matrix": sp.coo_matrix,
}
FORMS_OF_Y = {
    "list": lambda a: a.tolist(),
    "bool": lambda a: a.astype(bool),
    "uint8": lambda a: a.astype(np.uint8),
    "float": lambda a: a.astype(float),
    "object": lambda a: a.astype(object),
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "lil_matrix": sp.lil_matrix,
    "frame": pd.DataFrame,
    "nullable integers": lambda a: pd.DataFrame(a).astype("Int64"),
    "nullable booleans": lambda a: pd.DataFrame(a).astype("boolean"),
    "mixed frame": lambda a: pd.DataFrame({"a": a[:, 0] > 0, "b": a[:, 1], "c": a[:, 2] * 1.0}),
}
# What the fast suite tries on each class.
FEW = ("strided", "frame", "coo_matrix", "object", "csc_array", "mixed frame")


def chosen(forms, thorough):
    return forms.items() if thorough else [(n, form) for n, form in forms.items() if n in FEW]


def test_dense_features(estimator, thorough):
    exact = np.round(X, 3).astype(np.float32).astype(float)
    expected = values_of(clone(estimator).fit(exact, Y), exact)
    for name, form in chosen(FORMS_OF_X, thorough):
        given = form(exact)
        found = values_of(clone(estimator).fit(given, Y), given)
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_sparse_features(case, estimator, thorough):
    if "sparse" in case.unsuited:
        pytest.skip(case.unsuited["sparse"])
    thin = np.where(np.abs(X) < 0.7, 0.0, X)
    expected = values_of(clone(estimator).fit(thin, Y), thin)
    for name, form in chosen(SPARSE_FORMS_OF_X, thorough):
        given = form(thin)
        model = clone(estimator).fit(given, Y)
        np.testing.assert_allclose(values_of(model, given), expected, atol=1e-4, err_msg=name)
        np.testing.assert_array_equal(model.predict(given), model.predict(sp.csr_array(thin)))
        # Fitted on one form, asked with the other.
        np.testing.assert_allclose(values_of(model, thin), values_of(model, given), atol=1e-12)


def test_one_sparse_matrix_in_two_spellings(case, estimator):
    """Unsorted, duplicated and explicitly zero entries mean the matrix they add up to."""
    if "sparse" in case.unsuited:
        pytest.skip(case.unsuited["sparse"])
    clean = sp.csr_array(np.where(np.abs(X) < 0.7, 0.0, X))
    coo = clean.tocoo()
    halves = np.concatenate([coo.data / 2, coo.data / 2])[::-1]
    rows = np.concatenate([coo.row, coo.row])[::-1]
    columns = np.concatenate([coo.col, coo.col])[::-1]
    order = np.argsort(rows, kind="stable")
    counts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    short = (columns[order].astype(np.int32), counts.astype(np.int32))
    odd = sp.csr_array((halves[order], *short), shape=X.shape)
    assert not odd.has_canonical_format
    stored = odd.nnz
    expected = values_of(clone(estimator).fit(clean, Y), clean)
    np.testing.assert_array_equal(values_of(estimator.fit(odd, Y), odd), expected)
    assert odd.nnz == stored, "the caller's matrix was changed"


def test_labels(estimator, thorough):
    labels = Y[:, :3]
    expected = values_of(clone(estimator).fit(X, labels), X)
    for name, form in chosen(FORMS_OF_Y, thorough):
        model = clone(estimator).fit(X, form(labels))
        np.testing.assert_array_equal(values_of(model, X), expected, err_msg=name)
        assert model.predict(X).dtype == np.int64


def test_the_callers_data_is_not_changed(case, estimator):
    features, labels, weight = X.copy(), Y.copy(), np.linspace(0, 1, len(X))
    if "fractional weights" in case.unsuited:
        weight = np.round(weight)
    kept = weight.copy()
    given = {"sample_weight": weight} if case.weighted else {}
    estimator.fit(features, labels, **given).predict(features)
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(labels, Y)
    np.testing.assert_array_equal(weight, kept)


def test_read_only_data(estimator):
    features, labels = X.copy(), Y.astype(np.int8)
    features.flags.writeable = labels.flags.writeable = False
    expected = values_of(clone(estimator).fit(X, Y), X)
    np.testing.assert_array_equal(values_of(estimator.fit(features, labels), features), expected)


def test_label_names_come_back(estimator):
    model = estimator.fit(X, pd.DataFrame(Y, columns=NAMES))
    assert list(model.label_names_in_) == NAMES
    if not is_probabilistic(model):
        return
    joint = model.predict_joint(X[:5])
    assert joint.label_names == tuple(NAMES)
    by_position = joint.evidence_log_prob({2: 1}).value
    np.testing.assert_array_equal(joint.evidence_log_prob({"calm": 1}).value, by_position)
    possible = joint[np.isfinite(by_position)]
    given = possible.condition({"calm": 1})
    np.testing.assert_array_equal(given.marginals()[:, 2], 1.0)


def test_without_names_there_are_none(estimator):
    model = estimator.fit(X, Y)
    assert not hasattr(model, "label_names_in_")
    if is_probabilistic(model):
        assert model.predict_joint(X).label_names is None


def test_one_dimensional_target(estimator, thorough):
    as_column = clone(estimator).fit(X, Y[:, :1])
    for classes in (("no", "yes"), (-1, 1), (False, True), (3, 7))[: 4 if thorough else 2]:
        target = np.array(classes)[Y[:, 0]]
        model = clone(estimator).fit(X, target)
        np.testing.assert_array_equal(model.classes_, np.unique(target))
        labels, values = model.predict(X), values_of(model, X)
        assert labels.shape == (len(X),)
        assert labels.dtype == target.dtype
        if is_probabilistic(model):
            assert values.shape == (len(X), 2)
            np.testing.assert_allclose(values.sum(axis=1), 1.0)
            values = values[:, 1]
        if hasattr(model, "decision_function") or is_probabilistic(model):
            np.testing.assert_array_equal(values, values_of(as_column, X)[:, 0])
        np.testing.assert_array_equal(labels == classes[1], as_column.predict(X)[:, 0])
        assert model.score(X, target) == (labels == target).mean()


def test_one_dimensional_target_of_one_class(estimator):
    model = estimator.fit(X, np.full(len(X), "only"))
    assert (model.predict(X) == "only").all()
    if is_probabilistic(model):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


def test_the_callers_data_may_change_after_fit(estimator):
    features = X.copy()
    model = estimator.fit(features, Y)
    expected = values_of(model, X)
    features[:] = 0.0
    np.testing.assert_array_equal(values_of(model, X), expected)
