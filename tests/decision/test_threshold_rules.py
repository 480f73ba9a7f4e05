"""What all rules for test sets share, and how estimators use them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelweave import BinaryRelevance, ChainEnsemble
from labelweave.decision import (
    CardinalityThreshold,
    ClassMassNormalization,
    ExpectedAUC,
    ExpectedF,
    FixedThreshold,
    HammingLoss,
    MajorityVote,
    SampledF,
    TunedThresholds,
)
from labelweave.decision.decide import resolve_decision, resolve_score_rule
from labelweave.decision.probabilities import Probabilities, joined
from labelweave.decision.rules import ThresholdRule, apply_thresholds
from labelweave.inference import Greedy
from labelweave.joint import IndependentJoint
from labelweave.persistence import load_model, save_model

RULES = {
    "cmn": ClassMassNormalization(rates=[0.2, 0.5, 0.9]),
    "lcard": CardinalityThreshold(1.3),
    "sample": SampledF(),
    "expected_f": ExpectedF(),
    "expected_auc": ExpectedAUC(),
    "fixed": FixedThreshold(0.4),
    "macro_f1": TunedThresholds(values=[0.3, 0.6, 0.2]),
    "micro_f1": TunedThresholds(0.3, average="micro"),
}


def make_set(n=40, seed=0):
    scores = np.random.default_rng(seed).uniform(size=(n, 3))

    def draw(samples):
        return (np.random.default_rng(7).uniform(size=(samples, *scores.shape)) < scores) * 1

    return scores, draw


@pytest.mark.parametrize("name", RULES)
def test_permuting_rows_permutes_labels(name):
    scores, _ = make_set()
    order = np.random.default_rng(3).permutation(len(scores))
    drawn = make_set()[1](5)
    given = RULES[name].label(scores, lambda _: drawn)
    moved = RULES[name].label(scores[order], lambda _: drawn[:, order])
    np.testing.assert_array_equal(given[order], moved)
    assert given.dtype == np.int8


@pytest.mark.parametrize("name", RULES)
def test_a_higher_score_never_loses_the_label(name):
    scores, draw = make_set()
    labels = RULES[name].label(scores, draw)
    for s, y in zip(scores.T, labels.T, strict=True):
        assert (np.diff(y[np.argsort(s)]) >= 0).all()


RANKING = {
    "cmn": ClassMassNormalization(fallback=None),
    "lcard": CardinalityThreshold(),
    "macro_f1": TunedThresholds(),
    "micro_f1": TunedThresholds(average="micro"),
}


@pytest.mark.parametrize("name", RANKING)
@pytest.mark.parametrize("kind", [np.asarray, Probabilities])
@given(
    z=arrays(np.float64, (12, 3), elements=st.integers(-10_000, 10_000).map(float)),
    bits=arrays(np.int8, (12, 3), elements=st.integers(0, 1)),
)
def test_increasing_transformations_of_scores_change_nothing(name, kind, z, bits):
    """Not even where probabilities are rounded to the same number."""

    def labels(scores):
        return RANKING[name].informed(bits.mean(axis=0), (scores, bits)).label(scores)

    expected = labels(z)
    for transformed in (z, z / 1e4, z**3, np.arcsinh(z)):
        np.testing.assert_array_equal(labels(kind(transformed)), expected)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name", ["cmn", "fixed", "expected_f", "expected_auc", "sample", "macro_f1", "micro_f1"]
)
def test_log_odds_stand_for_their_probabilities(name, seed):
    rng = np.random.default_rng(seed)
    scores = Probabilities(rng.normal(scale=5, size=(30, 2)))
    p, truth = np.asarray(scores), rng.integers(0, 2, (30, 2))
    drawn = (rng.uniform(size=(5, 30, 2)) < p) * 1
    by_log_odds, expected = (
        resolve_decision(name).informed([0.3, 0.04], (values, truth)).label(values, lambda _: drawn)
        for values in (scores, p)
    )
    np.testing.assert_array_equal(by_log_odds, expected)


def test_units_of_scores_and_thresholds():
    p = Probabilities([[-1000.0, 40.0], [50.0, -np.inf]])
    assert np.asarray(p).tolist() == [[0, 1], [1, 0]]
    assert apply_thresholds(p, [0.0, 1.0]).tolist() == [[1, 0], [1, 0]]
    assert apply_thresholds(p, [-np.inf, np.inf]).tolist() == [[1, 0], [1, 0]]
    assert apply_thresholds(p, [0.5, 0.0]).tolist() == [[0, 1], [1, 0]]
    assert apply_thresholds(p, Probabilities([-2000.0, 45.0])).tolist() == [[1, 0], [1, 0]]
    assert apply_thresholds([[0.2, 0.7]], Probabilities([0.0, 0.0])).tolist() == [[0, 1]]
    rare = ClassMassNormalization(rates=[0.1, 0.1])
    assert rare.label(p).tolist() == [[0, 1], [1, 0]]  # by one half, in log-odds
    values = TunedThresholds(values=[0.3, 0.6])
    assert values.label(p).tolist() == [[0, 1], [1, 0]]
    assert TunedThresholds(0.3, average="micro").label(p).tolist() == [[0, 1], [1, 0]]
    assert len({p, Probabilities(p.log_odds), p[:1]}) == 2
    with pytest.raises(ValueError, match="finite"):
        FixedThreshold().label(Probabilities([[np.nan]]))


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_tiny_and_constant_test_sets(name, n, value):
    scores = np.full((n, 3), value)
    labels = RULES[name].label(scores, lambda s: np.ones((s, n, 3)))
    assert labels.shape == (n, 3)
    assert (labels == labels[:1]).all()


@pytest.mark.parametrize("name", RULES)
def test_names_stand_for_rules(name):
    assert type(resolve_decision(name)) is type(RULES[name])
    assert resolve_decision(RULES[name]) is RULES[name]


def test_scores_are_cut_where_probabilities_are_one_half():
    assert resolve_decision("fixed") == FixedThreshold(0.5)
    assert resolve_score_rule("fixed") == FixedThreshold(0.0)
    assert resolve_decision("cmn").fallback == 0.5
    assert resolve_score_rule("cmn").fallback == 0.0
    assert resolve_score_rule(RULES["cmn"]) is RULES["cmn"]


@pytest.mark.parametrize("name", ["sample", "expected_f", "expected_auc"])
def test_rules_that_maximise_an_expectation_need_probabilities(name):
    for decision in (name, RULES[name]):
        with pytest.raises(ValueError, match="needs probabilities, but the model has only scores"):
            resolve_score_rule(decision)


@pytest.mark.parametrize("decision", ["CMN", None, 0.5, ClassMassNormalization])
def test_unknown_rules(decision):
    with pytest.raises(ValueError, match=r"decision must be 'subset', .*'cmn', 'lcard'"):
        resolve_decision(decision)
    with pytest.raises(ValueError, match=r"decision must be 'macro_f1', .* or a rule such as"):
        resolve_score_rule(decision)


@pytest.mark.parametrize("decision", ["subset", HammingLoss(), lambda scores: scores])
def test_scores_alone_have_no_losses(decision):
    with pytest.raises(ValueError, match=r"decision must be 'macro_f1', .* or a rule such as"):
        resolve_score_rule(decision)


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, 0.2], "matrix"), ([[np.nan]], "finite"), ([[np.inf]], "finite")],
)
def test_bad_scores(scores, message):
    for rule in RULES.values():
        with pytest.raises(ValueError, match=f"scores must be .*{message}"):
            rule.thresholds(scores)


@pytest.mark.parametrize("rule", [ExpectedF(), ExpectedAUC(), SampledF()])
def test_expectations_need_probabilities(rule):
    with pytest.raises(ValueError, match="from 0 to 1"):
        rule.thresholds([[1.5]])


def test_thresholds_must_fit_the_labels():
    with pytest.raises(ValueError, match="each of the 2 labels"):
        apply_thresholds([[0.1, 0.2]], [0.5])


def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X[:, :3] + rng.normal(size=(120, 3)) > [0, 1, 1.5]).astype(int)
    return X, Y


@pytest.mark.parametrize(
    "rule",
    [
        ClassMassNormalization(),
        CardinalityThreshold(),
        MajorityVote.preset("published"),
        ExpectedF(),
        SampledF(),
        FixedThreshold(0.3),
    ],
)
@pytest.mark.parametrize("model", [BinaryRelevance(C=1.0), ChainEnsemble(n_estimators=2, C=1.0)])
def test_any_estimator_can_decide_by_a_rule(model, rule, tmp_path):
    X, Y = sample()
    model = model.__class__(**(model.get_params() | {"decision": rule})).fit(X, Y)
    labels = model.predict(X[:60])
    informed: ThresholdRule = rule.informed(Y.mean(axis=0))
    np.testing.assert_array_equal(labels, informed(model.predict_joint(X[:60])))
    save_model(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skops").predict(X[:60]), labels)


def test_matching_uses_the_weighted_frequencies():
    X, Y = sample()
    weights = np.where(Y[:, 0] == 1, 3.0, 1.0)
    model = BinaryRelevance(C=1.0, decision=ClassMassNormalization()).fit(
        X, Y, sample_weight=weights
    )
    expected = np.average(Y[:, 0], weights=weights)
    assert model.predict(X)[:, 0].mean() == pytest.approx(expected, abs=0.5 / len(X))


@pytest.mark.parametrize("rule", [TunedThresholds(), TunedThresholds(average="micro")])
def test_untuned_rules_need_held_out_rows(rule):
    assert "held_out" in rule.needs
    with pytest.raises(ValueError, match=r"needs values?=, or held-out scores"):
        rule.informed([0.5])
    with pytest.raises(ValueError, match=r"has no values? yet"):
        rule.thresholds([[0.5]])
    tuned = rule.informed([0.5], ([[0.6], [0.2]], [[1], [0]]))
    assert "held_out" not in tuned.needs
    assert tuned.informed([0.1]) is tuned


def test_smoothed_labels_need_probabilities():
    assert resolve_decision("macro_f1") == TunedThresholds(smoothing=30.0)
    assert resolve_score_rule("macro_f1") == TunedThresholds()
    with pytest.raises(ValueError, match="needs probabilities, but the model has only scores"):
        resolve_score_rule(TunedThresholds(smoothing=1.0))


def test_tuned_rules_are_equal_by_value():
    tuned = TunedThresholds(values=[0.1, 0.2])
    assert tuned == TunedThresholds(values=np.array([0.1, 0.2]))
    assert hash(tuned) == hash(TunedThresholds(values=np.array([0.1, 0.2])))
    for other in ([0.1, 0.3], [0.1], None):
        assert tuned != TunedThresholds(values=other)
    assert tuned != TunedThresholds(values=[0.1, 0.2], fbr=0.1)
    assert MajorityVote(threshold=TunedThresholds()) == MajorityVote(threshold=TunedThresholds())


def test_labels_are_those_of_the_marginals():
    joint = IndependentJoint(np.array([[3.0, -1.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(FixedThreshold()(joint), joint.mode(Greedy()).labels)


def test_joined_parts_are_in_the_same_units():
    plain, held = np.array([[0.5]]), Probabilities([[40.0]])
    for parts in ([plain, held], [held, plain]):
        found = joined(parts).log_odds.ravel().tolist()
        assert sorted(found) == [0.0, 40.0]
    assert joined([plain, plain]).ravel().tolist() == [0.5, 0.5]
