"""The transformer: what it promises, what it chooses, and what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from labelweave import BinaryRelevance, ClassifierChain, KernelFeatures, persistence
from labelweave.models.kernel_features import choose_width
from tests.features.samples import gram, rings, rows

FORMS = {
    "chosen": KernelFeatures(n_components=12),
    "median": KernelFeatures(gamma="median", n_components=20),
    "given": KernelFeatures(gamma=0.3),
}


@pytest.fixture(params=FORMS.values(), ids=FORMS.keys())
def transformer(request):
    return clone(request.param)


@parametrize_with_checks([FORMS["chosen"]])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([FORMS["median"], FORMS["given"]])
def test_scikit_learns_checks_of_other_forms(estimator, check):
    check(estimator)


def test_rows_have_the_same_bits_in_any_batch_order_and_number_of_threads(transformer):
    X, Y = rings()
    features = transformer.fit(X, Y).transform(X)
    for batch in (slice(0, 1), slice(7, 30), slice(None, None, -1)):
        np.testing.assert_array_equal(transformer.transform(X[batch]), features[batch])
    shuffled = np.random.default_rng(1).permutation(len(X))
    other = clone(transformer).set_params(n_jobs=2).fit(X[shuffled], Y[shuffled])
    np.testing.assert_array_equal(other.transform(X), features)
    np.testing.assert_array_equal(clone(transformer).fit_transform(X, Y), features)


def test_seeds_matter(transformer):
    X, Y = rings()
    one, two = (transformer.set_params(random_state=k).fit_transform(X, Y) for k in (1, 2))
    assert one.shape != two.shape or not np.array_equal(one, two)


def test_a_row_of_weight_two_counts_as_two_and_one_of_weight_zero_as_none(transformer):
    X, Y = rings(60)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = clone(transformer).fit(X, Y, sample_weight=weight)
    repeated = clone(transformer).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_array_equal(weighted.transform(X), repeated.transform(X))


def test_sparse_features_are_those_of_dense_ones(transformer):
    X = rows(80)
    Y = (X[:, :2] > 0).astype(int)
    dense, sparse = clone(transformer).fit(X, Y), clone(transformer).fit(csr_array(X), Y)
    assert sparse.gamma_ == pytest.approx(dense.gamma_)
    np.testing.assert_allclose(sparse.transform(csr_array(X)), dense.transform(X), atol=1e-8)


def test_frames_keep_their_names():
    X, Y = rings()
    frame = pd.DataFrame(X, columns=["a", "b"])
    transformer = KernelFeatures(gamma="median", n_components=3).set_output(transform="pandas")
    features = transformer.fit(frame, pd.DataFrame(Y, columns=["in", "first"])).transform(frame)
    assert list(features.columns) == [f"kernelfeatures{k}" for k in range(3)]
    assert list(transformer.feature_names_in_) == ["a", "b"]


def test_models_come_back_from_files(transformer, tmp_path):
    X, Y = rings(60)
    for rows_ in (X, csr_array(X)):
        model = make_pipeline(clone(transformer), ClassifierChain(C=1.0)).fit(rows_, Y)
        persistence.save_model(model, tmp_path / "model.skops")
        loaded = persistence.load_model(tmp_path / "model.skops")
        np.testing.assert_array_equal(loaded.predict(rows_), model.predict(rows_))
        np.testing.assert_array_equal(loaded[0].transform(X), model[0].transform(X))


def test_searches_set_its_parameters():
    X, Y = rings(60)
    model = make_pipeline(KernelFeatures(n_components=10), BinaryRelevance(C=1.0))
    search = GridSearchCV(model, {"kernelfeatures__gamma": [1e-9, 1.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"kernelfeatures__gamma": 1.0}


@pytest.mark.parametrize("scale", [1.0, 0.05])
def test_the_width_follows_the_labels(scale):
    """Stripes of a tenth of the square are seen by a narrow kernel only; a half by any."""
    X = np.random.default_rng(0).random((400, 2))
    chosen = {
        period: KernelFeatures(n_components=100)
        .fit(scale * X, (np.sin(2 * np.pi * X / period) > 0).astype(int))
        .gamma_
        * scale**2
        for period in (0.25, 2.0)
    }
    assert chosen[0.25] >= 8 * chosen[2.0]


def test_the_chosen_width_beats_wrong_ones():
    X, Y = rings(300)
    score = {
        gamma: make_pipeline(KernelFeatures(gamma=gamma, n_components=60), BinaryRelevance())
        .fit(X[:200], Y[:200])
        .score(X[200:], Y[200:])
        for gamma in ("cv", 1e-5, 1e3)
    }
    assert score["cv"] > 0.9
    assert max(score[1e-5], score[1e3]) < score["cv"] - 0.2


class _Width:
    """A feature map that passes its own width on to the loss."""

    n_features = 1

    def __init__(self, gamma):
        self.gamma = gamma

    def __call__(self, X):
        return np.array([[self.gamma]])


@pytest.mark.parametrize("exponent", range(-8, 9))
def test_the_search_for_the_width_finds_the_bottom_of_a_valley(exponent):
    tried = []

    def loss(features):
        tried.append(features[0, 0])
        return np.full(3, abs(np.log2(features[0, 0]) - exponent))

    found = choose_width(loss, None, _Width, 1.0)
    assert np.log2(found.gamma) == np.clip(exponent, -6, 6)
    assert len(set(tried)) == len(tried) <= 8


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows(transformer, n_rows):
    X, Y = rings(n_rows)
    features = transformer.fit(X, Y).transform(X)
    assert np.isfinite(features).all()
    products = features @ features.T / features.shape[1]
    np.testing.assert_allclose(products, gram(X, transformer.gamma_), atol=1e-6)


def test_equal_rows_constant_columns_and_labels(transformer):
    X, Y = np.ones((30, 3)), np.ones((30, 2), dtype=int)
    X[:15, 0] = 2.0
    features = transformer.fit(X, Y).transform(X)
    assert len(np.unique(features, axis=0)) == 2
    assert transformer.n_components_ <= 2
    assert np.isfinite(clone(transformer).fit(np.ones((5, 3)), Y[:5]).transform(X)).all()


def test_many_more_columns_than_rows(transformer):
    X = np.random.default_rng(0).normal(size=(12, 400))
    Y = (X[:, :3] > 0).astype(int)
    model = make_pipeline(transformer, ClassifierChain(C=1.0)).fit(X, Y)
    assert model.predict(X).shape == (12, 3)


def test_classes_are_labels_too():
    X, Y = rings()
    one = KernelFeatures(n_components=20).fit(X, np.array(["a", "b", "c"])[Y.sum(axis=1)])
    two = KernelFeatures(n_components=20).fit(X, np.eye(3, dtype=int)[Y.sum(axis=1)])
    assert one.gamma_ == two.gamma_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": np.ones(2)}, "gamma must be 'cv', 'median' or a finite number above 0; got arr"),
        ({"gamma": 0}, "gamma must be 'cv', 'median' or a finite number above 0; got 0"),
        ({"gamma": "auto"}, "gamma must be 'cv', 'median' or a finite number above 0; got 'auto'"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1; got 0"),
        ({"n_jobs": 0}, "n_jobs must be None, a number of threads or -1"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0; got -1"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelFeatures(**parameters).fit(*rings(20))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Y: (X, None), "requires y to be passed"),
        (lambda X, Y: (X, Y[:-1]), "y has 19 rows but X has 20"),
        (lambda X, Y: (X, Y + 1), "y must contain only 0 and 1"),
        (lambda X, Y: (X, X[:, 0]), "continuous"),
        (lambda X, Y: (X * np.nan, Y), "NaN"),
        (lambda X, Y: (X * 1e200, Y), "scale the features"),
        (lambda X, Y: (X * 1e-200, Y), "scale the features"),
        (lambda X, Y: (X, Y, np.zeros(20)), "sample_weight is zero for every row"),
        (lambda X, Y: (X, Y, -np.ones(20)), "Negative values in data passed to `sample_weight`"),
    ],
)
def test_bad_data(change, message):
    with pytest.raises(ValueError, match=message):
        KernelFeatures(n_components=5).fit(*change(*rings(20)))


def test_labels_are_needed_for_choices_only():
    X, _ = rings(20)
    assert KernelFeatures(gamma="median", n_components=5).fit(X).transform(X).shape == (20, 5)
