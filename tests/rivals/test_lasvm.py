"""LaSVM comes to libsvm's solution, whatever the order, the cache and the form of the features."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from labelweave import LaSVM
from labelweave._common.matrices import native_matrix
from labelweave._core import native
from labelweave.models.rivals import svm
from tests.contract.samples import sample

X, Y = sample(n=90, n_features=6, n_labels=4)
EXACT = {"decision": "fixed", "passes": 20, "tol": 1e-9}


def libsvm(kernel, C, rows, target, gamma="scale", weight=None):
    model = SVC(kernel=kernel, C=C, gamma=gamma, tol=1e-6, max_iter=100_000)
    return model.fit(rows, target, sample_weight=weight)


def dual_objective(model, rows, kernel):
    alpha, support = model.dual_coef_[0], rows[model.support_]
    similar = support @ support.T if kernel == "linear" else rbf_kernel(support, gamma=model._gamma)
    return np.abs(alpha).sum() - 0.5 * alpha @ similar @ alpha


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("kernel", "C"), [("linear", 0.1), ("linear", 3.0), ("rbf", 1.0)])
def test_many_passes_come_to_the_solution_of_libsvm(kernel, C, form):
    model = LaSVM(kernel=kernel, C=C, **EXACT).fit(form(X), Y)
    values = model.decision_function(form(X))
    for label in range(4):
        peer = libsvm(kernel, C, X, Y[:, label])
        np.testing.assert_allclose(values[:, label], peer.decision_function(X), atol=1e-5)
        best = dual_objective(peer, X, kernel)
        assert model.objective_[label] == pytest.approx(best, rel=1e-7)
        assert abs(int(model.n_support_[label]) - int(peer.n_support_.sum())) <= 1


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_pass_comes_close_and_never_above(kernel):
    one = LaSVM(kernel=kernel, C=1.0, decision="fixed").fit(X, Y).objective_
    best = LaSVM(kernel=kernel, C=1.0, **EXACT).fit(X, Y).objective_
    assert (one <= best * (1 + 1e-9)).all()
    assert (one >= 0.8 * best).all()


def test_weights_bound_the_multipliers_of_their_rows():
    weight = np.linspace(0.1, 3.0, 90)
    model = LaSVM(C=0.5, **EXACT).fit(X, Y, sample_weight=weight)
    peer = libsvm("linear", 0.5, X, Y[:, 1], weight=weight)
    np.testing.assert_allclose(
        model.decision_function(X)[:, 1], peer.decision_function(X), atol=1e-5
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_cache_and_threads_do_not_matter(kernel, monkeypatch):
    """The smallest cache keeps two rows of kernel values."""
    options = {"kernel": kernel, "C": 1.0, "passes": 2}
    roomy = LaSVM(**options).fit(X, Y)
    for cache, n_jobs in ((0, 1), (10_000, 3)):
        monkeypatch.setattr(svm, "_CACHE", cache)
        other = LaSVM(n_jobs=n_jobs, **options).fit(X, Y)
        np.testing.assert_array_equal(other.decision_function(X), roomy.decision_function(X))
        np.testing.assert_array_equal(other.objective_, roomy.objective_)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equal_rows_with_different_labels(kernel):
    rows = np.repeat(X[:15], 4, axis=0)
    model = LaSVM(kernel=kernel, C=1.0, **EXACT).fit(rows, Y[:60])
    for label in range(4):
        peer = libsvm(kernel, 1.0, rows, Y[:60, label])
        best = dual_objective(peer, rows, kernel)
        assert model.objective_[label] == pytest.approx(best, rel=1e-6)


def test_identical_rows_and_rows_of_zeros():
    for rows in (np.zeros((90, 3)), np.ones((90, 3))):
        model = LaSVM().fit(rows, Y)
        assert np.isfinite(model.decision_function(rows)).all()


def test_constant_labels_have_no_machine():
    labels = Y.copy()
    labels[:, 0], labels[:, 2] = 0, 1
    model = LaSVM(kernel="rbf").fit(X, labels)
    values = model.decision_function(X)
    np.testing.assert_array_equal(values[:, 0], -1.0)
    np.testing.assert_array_equal(values[:, 2], 1.0)
    assert model.n_support_[0] == model.n_support_[2] == 0
    assert model.n_support_[1] > 0


def test_weights_are_for_the_linear_kernel():
    assert not hasattr(LaSVM(kernel="rbf").fit(X, Y), "coef_")
    model = LaSVM(decision="fixed").fit(X, Y)
    np.testing.assert_allclose(
        X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-12
    )


def test_steps_that_run_out_are_told(monkeypatch):
    monkeypatch.setattr(svm, "_MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="4 of 4 support vector machines did not converge"):
        LaSVM(C=100.0, tol=1e-9, decision="fixed").fit(X, Y)


def test_order_is_the_given_one_without_shuffling():
    options = {"decision": "fixed", "shuffle": False, "C": 1.0}
    there = LaSVM(**options).fit(X, Y).objective_
    back = LaSVM(**options).fit(X[::-1], Y[::-1]).objective_
    assert not np.array_equal(there, back)


@pytest.mark.parametrize("a", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("b", [np.asarray, sp.csr_array])
def test_kernel_matrix(a, b):
    first, second = np.where(np.abs(X) < 0.5, 0, X)[:20], X[20:33]
    out = np.empty((20, 13))
    native.kernel_matrix(native_matrix(a(first)), native_matrix(b(second)), 0.3, out, 2)
    np.testing.assert_allclose(out, rbf_kernel(first, second, gamma=0.3), atol=1e-14)


class TestBadArguments:
    """The binding refuses what the kernel would trust."""

    def call(self, **changes):
        arguments = {
            "x": native_matrix(X),
            "labels": Y.astype(np.int8),
            "limits": np.ones(90),
            "order": np.arange(90)[None],
            "gamma": 0.5,
            "tolerance": 1e-3,
            "max_steps": 100,
            "room": 1000,
            "weights": None,
            "n_threads": 1,
        }
        return native.lasvm(**(arguments | changes))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"labels": np.zeros((90, 2), np.int8)}, "rows with it and rows without it"),
            ({"labels": np.full((90, 1), 3, np.int8)}, "labels must be 0 or 1"),
            ({"labels": Y[:50].astype(np.int8)}, "another number of rows"),
            ({"limits": np.zeros(90)}, "limits must be positive"),
            ({"limits": np.ones(3)}, "limits needs one entry per row"),
            ({"order": np.full((1, 90), 90)}, "order names a row that does not exist"),
            ({"order": np.arange(80)[None]}, "order must be passes x rows"),
            ({"gamma": -1.0}, "gamma must be positive"),
            ({"gamma": None}, "weights are for the linear kernel"),
            ({"gamma": None, "weights": np.zeros((4, 2))}, "weights must be labels x features"),
            ({"tolerance": 0.0}, "tolerance must be positive"),
        ],
    )
    def test_refused(self, changes, message):
        with pytest.raises(ValueError, match=message):
            self.call(**changes)

    def test_accepted(self):
        assert len(self.call()) == 4
