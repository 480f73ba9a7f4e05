"""The estimator: streams of batches, growing data, decisions for a test set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import scale

from labelweave import BayesianOnlineClassifier, OnlineSettings, load, persistence
from labelweave.decision import ClassMassNormalization, FixedThreshold, HammingLoss
from labelweave.joint import IndependentJoint, MixtureJoint
from labelweave.models.methods import make_method
from labelweave.models.online.state import OnlineState
from tests.online.make import same, stream

X, Y = stream(n=240)


@pytest.mark.parametrize("options", [{}, {"coupled": False}, {"forgetting": 0.01}])
def test_batches_are_the_same_as_rows(options):
    whole = BayesianOnlineClassifier(**options).partial_fit(X, Y)
    by_batch = BayesianOnlineClassifier(n_jobs=2, **options)
    for first in range(0, 240, 50):
        by_batch.partial_fit(X[first : first + 50], Y[first : first + 50])
    by_row = BayesianOnlineClassifier(**options)
    for i in range(240):
        by_row.partial_fit(X[[i]].toarray(), Y[[i]])
    same(whole.state_, by_batch.state_)
    same(whole.state_, by_row.state_)
    np.testing.assert_array_equal(by_row.predict(X), whole.predict(X))


def test_a_shuffled_pass_depends_on_the_seed_not_on_the_order_of_rows():
    order = np.random.default_rng(0).permutation(240)
    first = BayesianOnlineClassifier(random_state=1).fit(X, Y)
    same(first.state_, BayesianOnlineClassifier(random_state=1).fit(X[order], Y[order]).state_)
    other = BayesianOnlineClassifier(random_state=2).fit(X, Y)
    assert (other.mean_ != first.mean_).any()
    unshuffled = BayesianOnlineClassifier().partial_fit(X, Y)
    assert (unshuffled.mean_ != first.mean_).any()


def test_more_passes_count_evidence_again():
    one, three = (BayesianOnlineClassifier(passes=p).fit(X, Y) for p in (1, 3))
    assert three.state_.n_rows == 720
    assert three.variance_.mean() < one.variance_.mean()


def test_new_features_and_labels_mid_stream():
    growing = BayesianOnlineClassifier().partial_fit(X[:100, :20], Y[:100, :3])
    growing.partial_fit(X[100:], Y[100:])
    assert (growing.n_features_in_, growing.n_labels_) == (30, 5)
    assert growing.classes_.shape == (5, 2)
    expected = OnlineState(30, 5)
    padded = np.where(np.arange(5) < 3, Y[:100], -1)
    early = X[:100].toarray()
    early[:, 20:] = 0.0
    expected.update(early, padded)
    expected.update(X[100:], Y[100:])
    same(growing.state_, expected)
    assert growing.predict(X).shape == (240, 5)


def test_names_grow_too():
    names = [f"f{i}" for i in range(30)]
    frame = pd.DataFrame(X.toarray(), columns=names)
    labels = pd.DataFrame(Y, columns=list("abcde"))
    model = BayesianOnlineClassifier().partial_fit(frame.iloc[:, :25], labels[["a", "b"]])
    model.partial_fit(frame, labels)
    assert list(model.label_names_in_) == list("abcde")
    assert list(model.feature_names_in_) == names
    assert model.predict_joint(frame).label_names == tuple("abcde")
    before = dict(vars(model))
    with pytest.raises(ValueError, match="label names"):
        model.partial_fit(frame, labels[["b", "a", "c", "d", "e"]])
    wider = pd.concat([frame.iloc[:, ::-1], frame.add_prefix("new")], axis=1)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(wider, labels)
    assert vars(model).keys() == before.keys()
    assert model.n_features_in_ == 30
    assert model.state_.n_rows == 480


def test_a_failed_batch_leaves_the_model_as_it_was():
    model = BayesianOnlineClassifier().partial_fit(X, Y)
    twin = BayesianOnlineClassifier().partial_fit(X, Y)
    bad = X.toarray()
    bad[3, 2] = np.nan
    for rows, labels, message in (
        (bad, Y, "NaN"),
        (X, Y[:5], "rows"),
        (X, Y[:, :3], "y has 3 labels, but the model has learned 5"),
        (X, Y * 2, "only 0 and 1"),
        (X[:, :7], Y, "X has 7 features, but .* is expecting 30 features"),
        (sp.hstack([X, X]).tocsr(), Y[:5], "rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, labels)
    same(model.state_, twin.state_)
    assert model.n_features_in_ == 30
    fresh = BayesianOnlineClassifier()
    with pytest.raises(ValueError, match="NaN"):
        fresh.partial_fit(bad, Y)
    assert not hasattr(fresh, "state_")
    with pytest.raises(AttributeError, match="has not been fitted"):
        _ = fresh.mean_


def test_nothing_of_a_failed_fit_reaches_a_stream():
    model = BayesianOnlineClassifier(forgetting=-1)
    with pytest.raises(ValueError, match="forgetting must be"):
        model.fit(X, Y)
    model.set_params(forgetting=0.0).partial_fit(X[:, :20], Y[:, :3])
    same(model.state_, BayesianOnlineClassifier().partial_fit(X[:, :20], Y[:, :3]).state_)
    model.set_params(forgetting=-1)
    with pytest.raises(ValueError, match="forgetting must be"):
        model.fit(X, Y)
    assert not hasattr(model, "state_")
    assert model.set_params(forgetting=0.0).partial_fit(X, Y[:, :2]).n_labels_ == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": "multiclass"}, "exactly one label in every row"),
        (
            {"settings": OnlineSettings(label_ratios=[0.5, 0.5])},
            "label_ratios has 2 entries, but there are 5 labels",
        ),
    ],
)
def test_what_only_the_posterior_refuses_leaves_the_model_as_it_was(options, message):
    one = np.eye(2, dtype=int)[Y[:, 0]]
    fresh = BayesianOnlineClassifier(**options)
    with pytest.raises(ValueError, match=message):
        fresh.partial_fit(X, Y)
    assert vars(fresh) == vars(BayesianOnlineClassifier(**options))
    model = fresh.partial_fit(X[:, :20], one)
    twin = BayesianOnlineClassifier(**options).partial_fit(X[:, :20], one)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, Y)
    assert vars(model) == before
    same(model.state_, twin.state_)


@pytest.mark.parametrize("columns", [20, 30])
def test_an_interrupted_batch_leaves_a_model_of_the_rows_it_learned(columns, monkeypatch):
    """The posterior cannot shrink: labels and features that have joined it stay."""
    model = BayesianOnlineClassifier().partial_fit(X[:50, :20], Y[:50, : columns // 6])
    learn = OnlineState.update

    def interrupted(state, rows, labels, *args, **options):
        learn(state, rows[:7], labels[:7], *args, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OnlineState, "update", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[50:, :columns], Y[50:, : columns // 6])
        fresh = BayesianOnlineClassifier()
        with pytest.raises(KeyboardInterrupt):
            fresh.partial_fit(X, Y)
        assert not hasattr(fresh, "state_")
    assert model.state_.n_rows == 57
    sizes = model.state_.n_features, model.state_.n_labels
    assert sizes == (model.n_features_in_, model.n_labels_)
    assert model.predict(X[:, :columns]).shape == (240, columns // 6)
    model.partial_fit(X[57:, :columns], Y[57:, : columns // 6])
    whole = BayesianOnlineClassifier().partial_fit(X[:50, :20], Y[:50, : columns // 6])
    same(model.state_, whole.partial_fit(X[50:, :columns], Y[50:, : columns // 6]).state_)


def test_a_weight_in_a_stream_is_so_many_times_in_a_row():
    weight = np.random.default_rng(0).integers(0, 3, 240)
    rows = np.repeat(np.arange(240), weight)
    weighted = BayesianOnlineClassifier().partial_fit(X, Y, sample_weight=weight)
    same(weighted.state_, BayesianOnlineClassifier().partial_fit(X[rows], Y[rows]).state_)


def test_one_dimensional_targets_in_batches():
    y = np.where(Y[:, 0] == 1, "yes", "no")
    model = BayesianOnlineClassifier(decision="fixed")
    with pytest.raises(ValueError, match="classes="):
        model.partial_fit(X[y == "yes"], y[y == "yes"])
    model.partial_fit(X[y == "yes"], y[y == "yes"], classes=["yes", "no"])
    model.partial_fit(X, y)
    assert (model.predict(X) == y).mean() > 0.8
    assert model.predict_proba(X).shape == (240, 2)
    with pytest.raises(ValueError, match="only the classes"):
        model.partial_fit(X[:2], ["yes", "maybe"])
    with pytest.raises(ValueError, match="the two values of y"):
        BayesianOnlineClassifier().partial_fit(X, y, classes=["yes"])


def test_matched_frequencies_label_the_test_set_as_one():
    model = BayesianOnlineClassifier().fit(X[:150], Y[:150])
    labels = model.predict(X[150:])
    expected = ClassMassNormalization(Y[:150].mean(axis=0)).label(model.predict_proba(X[150:]))
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(labels.mean(axis=0), Y[:150].mean(axis=0), atol=0.5 / 90 + 1e-9)
    np.testing.assert_array_equal(model.predict(X[150:][::-1]), labels[::-1])


def test_frequencies_are_matched_where_most_probabilities_are_rounded_to_one():
    """On yeast, the published learner is so sure that hundreds of rows are tied at the top."""
    data = load("yeast")
    rows, truth, quality = scale(data.X), data.Y, []
    for train, test in KFold(5, shuffle=True, random_state=0).split(rows):
        model = BayesianOnlineClassifier.preset("published").fit(rows[train], truth[train])
        labels = model.predict(rows[test])
        expected = len(test) * truth[train].mean(axis=0)
        np.testing.assert_allclose(labels.sum(axis=0), expected, atol=0.5 + 1e-9)
        p = model.predict_proba(rows[test])
        assert ((p == p.max()).sum(axis=0) > expected).any()
        quality.append(f1_score(truth[test], labels, average="macro"))
    assert np.mean(quality) > 0.37


def test_the_published_learner_decides_as_published():
    model = BayesianOnlineClassifier.preset("published")
    assert isinstance(model.decision, ClassMassNormalization)
    assert model.decision.fallback is None
    assert BayesianOnlineClassifier.preset("published", decision="sample").decision == "sample"
    few = model.fit(X[:200], Y[:200]).predict(X[200:203])
    np.testing.assert_array_equal(few.sum(axis=0), np.round(3 * Y[:200].mean(axis=0)))


@pytest.mark.parametrize(
    "decision",
    ["cmn", "sample", "expected_f", "fixed", FixedThreshold(0.3), "hamming", HammingLoss()],
)
def test_decisions(decision):
    model = BayesianOnlineClassifier(decision=decision).fit(X[:150], Y[:150])
    labels = model.predict(X[150:])
    assert labels.dtype == np.int64
    assert f1_score(Y[150:], labels, average="micro") > 0.6
    np.testing.assert_array_equal(model.set_params(n_jobs=2).predict(X[150:]), labels)
    if decision in ("fixed", "hamming", HammingLoss()):
        np.testing.assert_array_equal(labels, model.predict_proba(X[150:]) > 0.5)


def test_the_seed_chooses_the_models_that_are_drawn():
    model = BayesianOnlineClassifier(decision="sample")
    first = model.fit(X, Y).predict(X)
    np.testing.assert_array_equal(clone(model).fit(X, Y).predict(X), first)


def test_bad_parameters_are_named():
    for name, value, message in (
        ("decision", "no such", "decision must be 'subset'"),
        ("passes", 0, "passes must be a whole number of at least 1"),
        ("passes", True, "passes must be"),
        ("forgetting", -0.1, "forgetting must be a number from 0"),
        ("settings", {"noise": 0.1}, "settings must be OnlineSettings or None"),
    ):
        model = BayesianOnlineClassifier(**{name: value})
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight must be whole numbers"):
        BayesianOnlineClassifier().fit(X, Y, sample_weight=np.full(240, 0.5))


def test_settings_are_parameters():
    model = BayesianOnlineClassifier()
    assert model.get_params()["settings__noise"] == 0.25
    assert model.settings is None
    search = GridSearchCV(
        model, {"settings__noise": [0.1, 5.0], "coupled": [True, False]}, scoring="f1_micro", cv=2
    )
    best = search.fit(X.toarray(), Y).best_estimator_
    assert best.state_.settings.noise == best.settings.noise == 0.1
    with pytest.raises(ValueError, match="noise must be a number"):
        model.set_params(settings__noise=-1)
    made = make_method("bomc-ind-sample(noise=0.1, beta=2)")
    assert (made.settings.noise, made.decision.beta, made.coupled) == (0.1, 2, False)
    published = make_method("bomc-cmn(preset='published', noise=0.1)").settings
    assert (published.noise, published.prior_variance) == (0.1, 1.0)


def test_joints():
    coupled = BayesianOnlineClassifier().fit(X, Y).predict_joint(X[:5])
    assert isinstance(coupled, MixtureJoint)
    assert isinstance(
        BayesianOnlineClassifier(coupled=False).fit(X, Y).predict_joint(X[:5]), IndependentJoint
    )
    # Labels above a common bias: one makes the others likelier.
    early = BayesianOnlineClassifier().fit(X[:1], Y[:1]).predict_joint(X[:5])
    marginals = early.marginals()
    together = early.pairwise()[:, 0, 1] - marginals[:, 0] * marginals[:, 1]
    assert (together > 0).all()


def test_a_stream_goes_on_after_a_file(tmp_path):
    model = BayesianOnlineClassifier(forgetting=0.01).partial_fit(X[:100], Y[:100])
    persistence.save_model(model, tmp_path / "model.skops")
    again = persistence.load_model(tmp_path / "model.skops")
    for one in (model, again):
        one.partial_fit(X[100:], Y[100:])
    same(model.state_, again.state_)
    assert again.state_.to_arrays()["panel_0"].ctypes.data % 64 == 0


def test_a_posterior_from_elsewhere():
    state = OnlineState(30, 5)
    state.update(X, Y)
    model = BayesianOnlineClassifier().adopt(state, tuple("abcde"))
    twin = BayesianOnlineClassifier().partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), twin.predict(X))
    assert list(model.label_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="other settings"):
        BayesianOnlineClassifier(settings=OnlineSettings(noise=1.0)).adopt(state)
    with pytest.raises(ValueError, match="each of the 5 labels"):
        BayesianOnlineClassifier().adopt(state, ("a",))


def test_drift_is_followed():
    """After the meaning of all features is reversed, the one that forgets recovers sooner."""
    lasting = BayesianOnlineClassifier().partial_fit(
        np.tile(X.toarray(), (8, 1)), np.tile(Y, (8, 1))
    )
    forgetful = BayesianOnlineClassifier(forgetting=0.005)
    forgetful.partial_fit(np.tile(X.toarray(), (8, 1)), np.tile(Y, (8, 1)))
    for model in (lasting, forgetful):
        model.partial_fit(X, 1 - Y)
    right = [((m.predict_proba(X) > 0.5) == 1 - Y).mean() for m in (lasting, forgetful)]
    assert right[1] > right[0] + 0.02


def test_labels_recorded_wrongly_harm_less_if_expected():
    rng = np.random.default_rng(4)
    rows, truth = stream(n=4000, n_features=40, seed=6)
    recorded = np.where(rng.random(truth.shape) < 0.15, 1 - truth, truth)

    def right(**options):
        model = BayesianOnlineClassifier(decision="hamming", **options)
        model.fit(rows[:3000], recorded[:3000])
        return (model.predict(rows[3000:]) == truth[3000:]).mean()

    for coupled in (True, False):
        expecting = right(coupled=coupled, flip_probability=0.15)
        assert expecting > right(coupled=coupled) + 0.01
        assert expecting > right(coupled=coupled, settings=OnlineSettings(margin=0.0)) + 0.01


@pytest.mark.parametrize("coupled", [True, False])
@pytest.mark.parametrize("flip_probability", [0.01, 0.15])
@pytest.mark.parametrize("scale_rows", [True, False])
def test_expecting_wrong_labels_does_not_keep_from_learning(coupled, flip_probability, scale_rows):
    """Labels that are right are learned: they are not all taken for wrong ones."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(48, 5))
    labels = (rows @ rng.normal(size=(5, 4)) > 0).astype(np.int8)
    settings = OnlineSettings(scale_rows=scale_rows)
    options = {"coupled": coupled, "settings": settings, "decision": "hamming", "passes": 2}
    trusting, wary = (
        BayesianOnlineClassifier(flip_probability=p, **options).fit(rows, labels)
        for p in (0.0, flip_probability)
    )
    right = [(model.predict(rows) == labels).mean() for model in (trusting, wary)]
    assert right[1] > 0.85
    assert right[1] > right[0] - 0.03


def test_known_ratios_take_the_place_of_counted_ones():
    ratios = Y.sum(axis=0) / (1 - Y).sum(axis=0)
    counting, knowing, other = (
        BayesianOnlineClassifier(settings=OnlineSettings(label_ratios=r)).fit(X, Y)
        for r in (None, ratios, 0.1 * ratios)
    )
    assert not np.array_equal(counting.mean_, knowing.mean_)
    # Rarer labels have wider margins: their examples pull more.
    assert (other.predict_proba(X) != knowing.predict_proba(X)).all()
    again = clone(knowing).partial_fit(X, Y).partial_fit(X, Y)
    assert again.probit_model() == knowing.state_.model
    with pytest.raises(ValueError, match=r"label_ratios has 5 entries, but there are 4 labels"):
        clone(knowing).fit(X, Y[:, :4])
    with pytest.raises(ValueError, match=r"label_ratios has 5 entries, but there are 6 labels"):
        again.partial_fit(X, np.hstack([Y, Y[:, :1]]))
    with pytest.raises(ValueError, match=r"label_ratios .* skew_margin=True"):
        OnlineSettings(label_ratios=ratios, skew_margin=False)
    for bad in ([0.5, -1.0], "often", [[1.0]], [np.nan]):
        with pytest.raises(ValueError, match="label_ratios must be positive numbers"):
            OnlineSettings(label_ratios=bad)


@pytest.mark.slow
def test_news_stories(shared_data):
    """One pass over rcv1 reaches the quality of a tuned batch learner."""
    data = load("rcv1")
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    train, test = order[:22090], order[22090:]
    labels = np.asarray(data.Y)
    rows = data.X.tocsr()
    for coupled in (True, False):
        model = BayesianOnlineClassifier(coupled=coupled, n_jobs=1).fit(rows[train], labels[train])
        predicted = model.predict(rows[test])
        assert f1_score(labels[test], predicted, average="macro", zero_division=0) > 0.63
        assert f1_score(labels[test], predicted, average="micro") > 0.795
