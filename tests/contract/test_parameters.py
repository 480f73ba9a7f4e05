"""Parameters and learned attributes, as scikit-learn wants them; life inside its tools."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave.inference import Greedy
from tests.contract.samples import answers, is_probabilistic, sample, values_of

X, Y = sample()


def test_parameters_but_the_estimator_are_keyword_only_and_all_are_stored_untouched(estimator):
    parameters = inspect.signature(type(estimator)).parameters
    by_place = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert by_place in ([], ["estimator"], ["candidates"])
    given = {name: object() for name in parameters}
    made = type(estimator)(**given)
    assert all(getattr(made, name) is value for name, value in given.items())
    assert set(vars(made)) == set(given)


def test_fit_leaves_parameters_alone(estimator):
    before = dict(vars(estimator))
    shown = repr(estimator)
    estimator.fit(X, Y)
    assert all(getattr(estimator, name) is value for name, value in before.items())
    assert repr(estimator) == shown


def test_public_attributes_appear_with_fit_and_end_in_underscore(estimator):
    before = set(vars(estimator))
    assert not [name for name in before if name.endswith("_")]
    estimator.fit(X, Y)
    learned = {name for name in vars(estimator) if not name.startswith("_")} - before
    assert {"classes_", "n_labels_", "n_features_in_"} <= learned
    assert [name for name in learned if not name.endswith("_")] == []
    assert estimator.n_labels_ == 4
    assert estimator.n_features_in_ == 5
    # Where there are decision values, scikit-learn takes classes_ for the numbers of the labels.
    values = [0, 1, 2, 3] if hasattr(estimator, "decision_function") else [[0, 1]] * 4
    np.testing.assert_array_equal(estimator.classes_, values)


def test_the_words_that_mean_the_same_everywhere(estimator):
    wanted = {"n_jobs", "random_state", "verbose"}
    if is_probabilistic(estimator):
        wanted |= {"decision"}
    assert wanted <= set(estimator.get_params())


def test_parameters_round_trip(estimator):
    parameters = estimator.get_params(deep=False)
    copy = clone(estimator).set_params(**parameters)
    assert repr(copy.get_params(deep=False)) == repr(parameters)
    assert type(estimator).__name__ in repr(estimator)
    with pytest.raises(ValueError, match="no_such"):
        estimator.set_params(no_such=1)


def test_clone_is_not_fitted(estimator):
    copy = clone(estimator.fit(X, Y))
    for answer in answers(copy):
        with pytest.raises(NotFittedError, match=r"not fitted yet"):
            answer(X)
    with pytest.raises(NotFittedError):
        copy.score(X, Y)


def test_a_failed_fit_leaves_no_model(estimator):
    estimator.fit(X, Y)
    with pytest.raises(ValueError):
        estimator.fit(X, Y + 1)
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    bad = clone(estimator).set_params(n_jobs="no number")
    with pytest.raises(ValueError, match="n_jobs"):
        bad.fit(X, Y)
    with pytest.raises(NotFittedError):
        bad.predict(X)


def test_refitting_forgets_the_first_data(estimator):
    pandas = pytest.importorskip("pandas")
    other_X, other_Y = sample(n_features=3, n_labels=2, seed=7)
    estimator.fit(pandas.DataFrame(X).add_prefix("f"), pandas.DataFrame(Y, columns=list("abcd")))
    estimator.fit(other_X, other_Y)
    fresh = clone(estimator).fit(other_X, other_Y)
    assert set(vars(estimator)) == set(vars(fresh))
    if is_probabilistic(estimator):
        assert estimator.predict_joint(other_X).label_names is None
    np.testing.assert_array_equal(values_of(estimator, other_X), values_of(fresh, other_X))


def test_parameters_changed_after_fit_do_not_break_prediction(estimator):
    if "estimator" not in estimator.get_params():
        pytest.skip("has no estimator")
    expected = values_of(estimator.fit(X, Y), X)
    other = None if estimator.estimator is not None else clone(estimator)
    estimator.set_params(estimator=other)
    np.testing.assert_array_equal(values_of(estimator, X), expected)


def test_pipeline(estimator):
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, Y)
    scaled = StandardScaler().fit(X).transform(X)
    np.testing.assert_array_equal(
        values_of(pipeline, X), values_of(clone(estimator).fit(scaled, Y), scaled)
    )
    assert pipeline.score(X, Y) == (pipeline.predict(X) == Y).all(axis=1).mean()


def test_pipeline_that_hands_over_data_frames(estimator):
    pytest.importorskip("pandas")
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, estimator).fit(X, Y)
    assert list(pipeline[-1].feature_names_in_) == [f"x{j}" for j in range(5)]
    np.testing.assert_array_equal(
        values_of(pipeline, X),
        values_of(make_pipeline(StandardScaler(), clone(estimator)).fit(X, Y), X),
    )


def test_cross_validate_with_several_scorers(estimator):
    scores = cross_validate(
        estimator,
        X,
        Y,
        cv=2,
        scoring=["accuracy", "f1_macro", "roc_auc"],
        error_score="raise",
    )
    # Folds of a label matrix are consecutive halves: the second is learned, the first judged.
    model = clone(estimator).fit(X[24:], Y[24:])
    labels, probability = model.predict(X[:24]), values_of(model, X[:24])
    assert scores["test_accuracy"][0] == (labels == Y[:24]).all(axis=1).mean()
    assert scores["test_f1_macro"][0] == f1_score(Y[:24], labels, average="macro")
    assert scores["test_roc_auc"][0] == roc_auc_score(Y[:24], probability)


def test_cross_val_predict(estimator):
    half = clone(estimator).fit(X[24:], Y[24:])
    labels = cross_val_predict(estimator, X, Y, cv=2)
    np.testing.assert_array_equal(labels[:24], half.predict(X[:24]))
    finest = answers(estimator)[-1].__name__
    method = "predict_proba" if is_probabilistic(estimator) else finest
    probability = cross_val_predict(estimator, X, Y, cv=2, method=method)
    np.testing.assert_array_equal(probability[:24], values_of(half, X[:24]))


def test_grid_search(estimator):
    known = estimator.get_params()
    decisions = ["subset", "hamming"] if is_probabilistic(estimator) else ["fixed", "cmn"]
    grid = {"decision": decisions} if "decision" in known else {}
    if known.get("estimator", 0) is None or ("C" in known and not is_probabilistic(estimator)):
        grid["C"] = [0.1, 10.0]
    grids = [{name: values} for name, values in grid.items()]
    if "inference" in known:
        grids.append({"inference": [Greedy()]})
    search = GridSearchCV(estimator, grids, cv=2, scoring="accuracy", error_score="raise")
    search.fit(X, Y)
    assert len(search.cv_results_["params"]) == len(ParameterGrid(grids))
    np.testing.assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert all(search.best_estimator_.get_params()[k] == v for k, v in search.best_params_.items())


def test_verbose_speaks_and_silence_is_the_default(estimator, capsys):
    silent = values_of(estimator.fit(X, Y), X)
    assert capsys.readouterr().out == ""
    talking = clone(estimator).set_params(verbose=1).fit(X, Y)
    if hasattr(talking, "C_"):
        assert f"C = {talking.C_:.4g}" in capsys.readouterr().out
    np.testing.assert_array_equal(values_of(talking, X), silent)
