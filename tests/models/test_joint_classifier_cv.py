"""Joint models on the held-out log-odds of other classifiers."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from labelweave import (
    BinaryRelevance,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    JointClassifierCV,
    MLkNN,
    PairwiseCRF,
    TreeMixture,
    TreeNetwork,
    persistence,
)
from labelweave.data import load
from labelweave.inference import Greedy
from labelweave.models.cross_fitting import TrainingData
from labelweave.models.stacking import BaseLearner, fit_learners, handles_all_labels
from labelweave.models.structure import structures_of
from tests.contract.samples import sample

X, Y = sample(n=90, seed=3)
NEW = sample(n=20, seed=4)[0]
CHAIN = ClassifierChain(C=1.0, label_penalty=0.1)
SPLITS = KFold(3)


def woven(estimator, **parameters):
    return JointClassifierCV(**({"joint": CHAIN, "cv": 3} | parameters), estimator=estimator)


def plain_log_odds(probabilities, votes):
    return np.log((votes * probabilities + 1) / (votes * (1 - probabilities) + 1))


def by_hand(estimator, X, Y, joint, splits):
    """Stack by scikit-learn's own cross-validation."""
    held_out, new = [], []
    for target in Y.T:
        options = {"cv": splits, "method": "predict_proba"}
        held_out.append(cross_val_predict(estimator, X, target, **options)[:, 1])
        new.append(clone(estimator).fit(X, target).predict_proba(NEW)[:, 1])
    votes = [
        1 / min(v for p in column for v in (p, 1 - p) if v >= 1 / len(X)) for column in held_out
    ]
    log_odds = [plain_log_odds(np.column_stack(part), np.array(votes)) for part in (held_out, new)]
    return clone(joint).fit(log_odds[0], Y).predict_joint(log_odds[1])


@pytest.mark.parametrize("joint", [CHAIN, BinaryRelevance(C=1.0)])
def test_binary_classifiers_are_stacked_label_by_label(joint):
    model = woven(GaussianNB(), joint=joint, cv=SPLITS).fit(X, Y)
    expected = by_hand(GaussianNB(), X, Y, joint, SPLITS)
    np.testing.assert_allclose(model.predict_proba(NEW), expected.marginals(), atol=1e-8)
    assert len(model.bases_) == 4


def test_all_labels_at_once_or_one_by_one():
    """Neighbours vote for each label on their own, so that both ways agree."""
    at_once = woven(KNeighborsClassifier()).fit(X, Y)
    one_by_one = woven(KNeighborsClassifier(), multi_label=False).fit(X, Y)
    assert (len(at_once.bases_), len(one_by_one.bases_)) == (1, 4)
    np.testing.assert_allclose(at_once.predict_proba(NEW), one_by_one.predict_proba(NEW))


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
        MultiOutputClassifier(GaussianNB()),
        make_pipeline(StandardScaler(), OneVsRestClassifier(GaussianNB())),
        MLPClassifier(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=5000),
        MLkNN(n_neighbors=5),
        ClassifierChain(C=1.0, label_penalty=0.1),
    ],
)
def test_multi_label_classifiers_are_fitted_once(estimator):
    assert handles_all_labels(estimator)
    learner = BaseLearner(estimator, np.arange(4), 0, out_of_bag=False)
    base = learner.fit(X, Y.astype(np.int8), None)
    right = (base.probabilities(X) > 0.5) == Y
    assert right.mean() > 0.7
    single = BaseLearner(estimator, np.array([2]), 0, out_of_bag=False)
    assert single.fit(X, Y.astype(np.int8), None).probabilities(NEW).shape == (20, 1)
    assert woven(estimator).fit(X, Y).predict(NEW).shape == (20, 4)


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), make_pipeline(StandardScaler(), GaussianNB()), BaggingClassifier()],
)
def test_binary_classifiers_are_not(estimator):
    assert not handles_all_labels(estimator)


def held_out_by(estimator, labels, cv=3, *, out_of_bag=False, X=X, weight=None):
    learner = BaseLearner(estimator, np.arange(labels.shape[1]), 0, out_of_bag)
    data = TrainingData(X, labels.astype(np.int8), weight)
    return fit_learners([learner], data, cv, 0, None)


@pytest.mark.parametrize("labels", [Y, Y[:, :1]])
def test_out_of_bag_predictions_are_the_forests_own(labels):
    forest = ExtraTreesClassifier(60, bootstrap=True)
    bases, held_out = held_out_by(forest, labels, out_of_bag=True)
    own = bases[0].classifier.oob_decision_function_.reshape(len(X), 2, -1)[:, 1]
    # The forest has seen the rows in another order.
    np.testing.assert_array_equal(np.sort(held_out, axis=0), np.sort(own, axis=0))
    assert ((held_out > 0.5) == labels).mean() > 0.55


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(2), BaggingClassifier(GaussianNB(), 2)]
)
def test_rows_in_every_bag_have_no_say(estimator):
    _, held_out = held_out_by(estimator, Y[:, :1], out_of_bag=True)
    unknown = np.isnan(held_out).any(axis=1)
    assert 0 < unknown.sum() < len(X)
    model = woven(estimator, cv="oob").fit(X, Y)
    assert np.isfinite(model.predict_joint(NEW).log_prob(Y[:20])).all()


def test_auto_prefers_bags_to_folds():
    for forest, kind in ((RandomForestClassifier(20), "oob"), (ExtraTreesClassifier(20), 5)):
        auto, named = (woven(forest, cv=cv).fit(X, Y) for cv in ("auto", kind))
        np.testing.assert_array_equal(auto.predict_proba(NEW), named.predict_proba(NEW))


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(10),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 5),
        MLPClassifier(hidden_layer_sizes=(3,), max_iter=5, batch_size=16),
    ],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_the_order_of_rows_does_not_matter_to_random_classifiers(estimator):
    order = np.random.default_rng(0).permutation(len(X))
    first = woven(estimator, cv="auto").fit(X, Y).predict_proba(NEW)
    second = woven(estimator, cv="auto").fit(X[order], Y[order]).predict_proba(NEW)
    np.testing.assert_allclose(first, second, rtol=1e-10)


def test_splitters_may_repeat_rows_or_leave_them_out():
    labels = Y[:, :2]
    _, twice = held_out_by(KNeighborsClassifier(), labels, RepeatedKFold(n_splits=3, n_repeats=2))
    assert np.isfinite(twice).all()
    first_half = [(np.arange(45, 90), np.arange(45))]
    _, once = held_out_by(KNeighborsClassifier(), labels, first_half)
    assert np.isnan(once[45:]).all()
    fitted = KNeighborsClassifier().fit(X[45:], labels[45:]).predict_proba(X[:45])
    np.testing.assert_allclose(once[:45], np.column_stack([p[:, 1] for p in fitted]))


@pytest.mark.parametrize(
    ("estimator", "votes"), [(KNeighborsClassifier(5), 5), (GaussianNB(), len(X))]
)
def test_log_odds_are_those_of_as_many_votes(estimator, votes):
    model = woven(estimator).fit(X, Y)
    assert (model.votes_ <= votes * (1 + 1e-9)).all()
    assert (model.votes_ >= min(votes - 1e-9, 30)).all()


def test_labels_that_are_constant_in_some_folds():
    labels = Y.copy()
    labels[:, 1] = 0
    labels[7, 1] = 1  # in training unless its own fold is held out
    for estimator in (DecisionTreeClassifier(max_depth=2), LogisticRegression()):
        model = woven(estimator).fit(X, labels)
        probability = model.predict_proba(NEW)[:, 1]
        assert ((probability > 0) & (probability < 0.2)).all()


def test_equal_rows_show_nothing_and_get_frequencies():
    rows = np.ones((90, 2))
    for estimator in (DecisionTreeClassifier(), RandomForestClassifier(5)):
        model = woven(estimator, joint=BinaryRelevance(C=1.0)).fit(rows, Y)
        np.testing.assert_allclose(model.predict_proba(rows[:1])[0], Y.mean(axis=0), atol=0.02)


def test_weights_reach_every_classifier():
    weight = np.random.default_rng(1).integers(0, 4, len(X))
    repeated = np.repeat(np.arange(len(X)), weight)
    pipeline = make_pipeline(MaxAbsScaler(), LogisticRegression(tol=1e-8))
    for estimator in (GaussianNB(), [("a", pipeline), ("b", BernoulliNB())]):
        weighted = woven(estimator).fit(X, Y, sample_weight=weight).predict_proba(NEW)
        as_rows = woven(estimator).fit(X[repeated], Y[repeated]).predict_proba(NEW)
        np.testing.assert_allclose(weighted, as_rows, atol=1e-4)


def test_splitters_count_rows_without_weight():
    weight = np.ones(len(X))
    weight[::2] = 0.0
    _, found = held_out_by(LogisticRegression(), Y[:, :1], KFold(2), weight=weight)
    inside = np.arange(45, 90, 2)
    expected = LogisticRegression().fit(X[inside], Y[inside, 0]).predict_proba(X[:45])[:, 1]
    np.testing.assert_allclose(found[1:45:2, 0], expected[1::2], atol=1e-6)
    assert np.isnan(found[::2]).all()


def test_several_classifiers_stand_side_by_side():
    pair = [DecisionTreeClassifier(max_depth=2), GaussianNB()]
    plain = woven(pair).fit(X, Y)
    named = woven([("tree", pair[0]), ("bayes", pair[1])]).fit(X, Y)
    assert plain.joint_.n_features_in_ == 8
    np.testing.assert_array_equal(plain.predict_proba(NEW), named.predict_proba(NEW))


class Counted(GaussianNB):
    """Naive Bayes that counts its fits."""

    fits: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.fits.append(len(X))
        return super().fit(X, y, sample_weight)


def test_a_search_over_the_joint_fits_the_classifiers_once(tmp_path):
    Counted.fits.clear()
    model = woven(Counted(), memory=str(tmp_path), cv=2)
    grid = {"joint__C": [0.1, 1.0, 10.0], "passthrough": [False, True]}
    search = GridSearchCV(model, grid, cv=2, refit=False, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 6
    assert len(Counted.fits) == 2 * 4 * (2 + 1)  # folds of the search, labels, folds and all rows


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_features_beside_the_log_odds(form, monkeypatch):
    seen = []
    fit = ClassifierChain.fit

    def spy(self, X, y, sample_weight=None):
        seen.append(X)
        return fit(self, X, y, sample_weight)

    monkeypatch.setattr(ClassifierChain, "fit", spy)
    rows = form(np.where(np.abs(X) < 0.7, 0.0, 5.0 * X))
    model = woven(DecisionTreeClassifier(max_depth=2), passthrough=True).fit(rows, Y)
    assert seen[0].shape == (90, 4 + 5)
    assert sp.issparse(seen[0]) == sp.issparse(rows)
    if sp.issparse(rows):
        np.testing.assert_array_equal(seen[0].toarray()[:, 4:], rows.toarray())
    else:
        np.testing.assert_allclose(seen[0][:, 4:].std(axis=0), 1.0)
    dense, sparse = rows if form is np.asarray else rows.toarray(), sp.csr_array(rows)
    np.testing.assert_allclose(model.predict_proba(dense), model.predict_proba(sparse))


FIXED = {"C": 1.0, "label_penalty": 0.1}


@pytest.mark.parametrize(
    "joint",
    [
        BinaryRelevance(C=1.0),
        ClassifierChain(order=["d", "b", "a", "c"], inference=Greedy(), **FIXED),
        TreeNetwork(**FIXED),
        TreeMixture(n_components=2, **FIXED),
        ChainMixture(n_components=2, **FIXED),
        ChainEnsemble(n_estimators=2, **FIXED),
        PairwiseCRF(**FIXED),
    ],
)
def test_every_joint_model_answers_as_usual(joint):
    labels = pd.DataFrame(Y, columns=list("abcd"))
    model = woven(GaussianNB(), joint=joint).fit(X, labels)
    distribution = model.predict_joint(NEW)
    assert distribution.label_names == tuple("abcd")
    given = distribution.condition({"b": 1})
    np.testing.assert_array_equal(given.marginals()[:, 1], 1.0)
    np.testing.assert_array_equal(model.predict(NEW), model._inference()(distribution).labels)
    assert structures_of(model) == structures_of(model.joint_)


def test_draws_belong_to_the_rows_as_given():
    model = woven(LogisticRegression()).fit(X, Y)
    whole = model.predict_joint(NEW).sample(50, random_state=1)
    for row in range(3):
        np.testing.assert_array_equal(
            model.predict_joint(NEW[row : row + 1]).sample(50, random_state=1)[0], whole[row]
        )


def test_weaving_lifts_a_forest():
    """Independent labels with the forest's own probabilities are worse in both respects."""
    data = load("emotions")
    train, test = slice(0, 450), slice(450, None)
    forest = RandomForestClassifier(60, random_state=0)
    model = woven(forest, cv="auto", joint=ClassifierChain(C=0.1, label_penalty=0.3))
    model.fit(data.X[train], data.Y[train])
    alone = model.bases_[0].probabilities(data.X[test])
    truth = np.asarray(data.Y[test])
    probability = expit(plain_log_odds(alone, 450))
    log_prob = np.log(np.where(truth == 1, probability, 1 - probability)).sum(axis=1)
    assert model.predict_joint(data.X[test]).log_prob(truth).mean() > log_prob.mean() + 0.1
    assert model.score(data.X[test], truth) > ((alone > 0.5) == truth).all(axis=1).mean()


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(5),
        [make_pipeline(StandardScaler(), GaussianNB()), DecisionTreeClassifier(max_depth=2)],
    ],
)
def test_models_of_several_kinds_are_kept_in_files(estimator, tmp_path):
    model = woven(estimator, passthrough=True).fit(X, Y)
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"cv": 1},
            "cv must be 'auto', 'oob', a splitter, .* or a whole number of at least 2; got 1",
        ),
        ({"cv": "loo"}, "cv must be 'auto', 'oob', a splitter, .*; got 'loo'"),
        ({"cv": 2.5}, "cv must be 'auto'"),
        ({"cv": "oob"}, r"cv='oob' needs bagged classifiers.*; got GaussianNB\(\)"),
        ({"multi_label": "yes"}, "multi_label must be 'auto', True or False; got 'yes'"),
        ({"passthrough": "yes"}, "passthrough must be 'auto' or True or False; got 'yes'"),
        ({"joint": GaussianNB()}, r"joint must be an estimator of P\(y\|x\) .*; got GaussianNB"),
        ({"joint": ClassifierChain}, r"joint must be an estimator of P\(y\|x\)"),
        ({"estimator": []}, "estimator must have at least one classifier; got an empty list"),
        ({"estimator": [GaussianNB]}, r"estimator must be a classifier, not a class"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        woven(GaussianNB()).set_params(**parameters).fit(X, Y)


def test_a_joint_that_takes_no_weights():
    with pytest.raises(ValueError, match=r"sample_weight was given, but estimator MLkNN"):
        woven(GaussianNB(), joint=MLkNN()).fit(X, Y, sample_weight=np.ones(90))


def test_auto_passes_sparse_features_on():
    X, Y = np.abs(np.random.default_rng(0).normal(size=(60, 3))), np.eye(60, 2, dtype=int)
    tree = DecisionTreeClassifier(max_depth=2)
    chain = ClassifierChain(C=1.0, label_penalty=1.0)
    for features, width in ((X, 2), (sp.csr_array(X), 5)):
        model = JointClassifierCV(estimator=tree, joint=chain, passthrough="auto", cv=2)
        assert model.fit(features, Y).joint_.n_features_in_ == width


def test_unit_weights_change_nothing():
    """Not even of bagged classifiers, whose bootstrap samples depend on whether there are any."""
    model = woven(RandomForestClassifier(20), cv="auto")
    plain = model.fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(
        model.fit(X, Y, sample_weight=np.ones(90)).predict_proba(NEW), plain
    )


class Unsure(GaussianNB):
    """A classifier that has nothing to say about some rows."""

    def predict_proba(self, X):
        return np.where(X[:, :1] > 0, np.nan, super().predict_proba(X))


def test_probabilities_that_are_not_numbers():
    with pytest.raises(ValueError, match=r"Unsure\(\) predicts probabilities that are not finite"):
        woven(Unsure()).fit(X, Y)


def test_bagging_that_could_grow_further():
    bagged = BaggingClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5, warm_start=True)
    model = woven(bagged, cv="auto").fit(X, Y)
    assert np.isfinite(model.predict_joint(NEW).log_prob(model.predict(NEW))).all()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv must be .* a list of at least one"),
        ([([], range(90))], "cv has a fold without training rows"),
        ([(range(45), [90])], "cv names rows that X does not have"),
        ([([-91], range(45))], "cv names rows that X does not have"),
        ([(range(46), range(45, 90))], "cv must hold out rows of each fold that are not trained"),
        ([(range(45), np.arange(0))], "cv must hold out rows of each fold"),
    ],
)
def test_bad_splits(cv, message):
    with pytest.raises(ValueError, match=message):
        woven(GaussianNB(), cv=cv).fit(X, Y)


def test_what_goes_wrong_when_rows_are_predicted_is_told():
    with pytest.raises(ValueError, match=r"estimator: KNeighborsClassifier.*cannot predict"):
        woven(KNeighborsClassifier(n_neighbors=80)).fit(X, Y)


def test_classifiers_that_take_missing_values_get_them():
    """The joint model sees log-odds, which are never missing, unless it sees the features too."""
    missing = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    forest = RandomForestClassifier(10, max_depth=3)
    model = woven(forest, cv="auto").fit(missing, Y)
    assert np.isfinite(model.predict_proba(missing)).all()
    assert get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="contains NaN"):
        woven(forest, passthrough=True).fit(missing, Y)
    with pytest.raises(ValueError, match="contains NaN"):
        woven([forest, GaussianNB()]).fit(missing, Y)
    imputed = make_pipeline("passthrough", SimpleImputer(), GaussianNB())
    assert np.isfinite(woven([forest, imputed]).fit(missing, Y).predict_proba(missing)).all()


def test_pipelines_without_a_classifier():
    with pytest.raises(ValueError, match="estimator must be a scikit-learn classifier"):
        woven(make_pipeline("passthrough")).fit(X, Y)


def test_folds_need_weight():
    with pytest.raises(ValueError, match="or all of their weights are zero"):
        woven(GaussianNB(), cv=KFold(2)).fit(X, Y, sample_weight=np.repeat([0.0, 2.0], 45))


def test_the_label_that_a_classifier_cannot_learn_is_named():
    rare = Y.copy()
    rare[:, 1] = np.arange(90) == 7
    calibrated = CalibratedClassifierCV(GaussianNB(), cv=3)
    with pytest.raises(ValueError, match=r"to label 1, which 1 of \d+ rows have"):
        woven(calibrated).fit(X, rare)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_backends_without_generators():
    model = woven(GaussianNB(), n_jobs=2)
    with parallel_config("multiprocessing"):
        found = model.fit(X, Y).predict_proba(NEW)
    np.testing.assert_array_equal(found, woven(GaussianNB()).fit(X, Y).predict_proba(NEW))


def test_sparse_features_suit_if_every_classifier_takes_them():
    takes = [
        get_tags(woven(each)).input_tags.sparse for each in (None, GaussianNB(), BernoulliNB())
    ]
    assert takes == [True, False, True]
    both = [BernoulliNB(), make_pipeline(StandardScaler(), GaussianNB())]
    assert not get_tags(woven(both)).input_tags.sparse
