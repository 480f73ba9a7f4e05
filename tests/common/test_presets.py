"""Presets: parameters by name, nothing more."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import clone

import labelweave
from labelweave import (
    BayesianOnlineClassifier,
    BinaryRelevance,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    InstanceBasedLogistic,
    LabelPowerset,
    MaxMarginOutputCoding,
    MixtureSettings,
    MLkNN,
    OnlineSettings,
    PairwiseCRF,
    RAkEL,
    StackedBinaryRelevance,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
)
from labelweave._common.presets import presets_of
from labelweave.decision import CardinalityThreshold, ClassMassNormalization, MajorityVote
from labelweave.inference import Annealing
from labelweave.models.methods import make_method

PUBLIC = [
    getattr(room, name)
    for room in (labelweave, labelweave.inference, labelweave.decision)
    for name in room.__all__
]
WITH_PRESETS = [
    thing
    for thing in [*PUBLIC, Annealing, ClassMassNormalization, MajorityVote]
    if inspect.isclass(thing) and presets_of(thing)
]


def test_who_has_one():
    assert set(WITH_PRESETS) == {
        Annealing,
        BayesianOnlineClassifier,
        BinaryRelevance,
        ChainEnsemble,
        ChainMixture,
        ClassMassNormalization,
        ClassifierChain,
        InstanceBasedLogistic,
        MLkNN,
        MajorityVote,
        MaxMarginOutputCoding,
        MixtureSettings,
        OnlineSettings,
        PairwiseCRF,
        RAkEL,
        StackedBinaryRelevance,
        TreeEnsemble,
        TreeMixture,
        TreeNetwork,
    }


@pytest.mark.parametrize("kind", WITH_PRESETS)
def test_a_preset_sets_parameters_and_leaves_the_others(kind):
    plain = kind()
    defaults = {name: getattr(plain, name) for name in inspect.signature(kind).parameters}
    for name, settings in kind.presets.items():
        made = kind.preset(name)
        assert {key: getattr(made, key) for key in defaults} == defaults | dict(settings)
        assert name in kind.__doc__


@pytest.mark.parametrize("kind", WITH_PRESETS)
def test_single_settings_of_a_preset_can_be_varied(kind):
    plain = kind()
    for name, settings in kind.presets.items():
        for parameter in settings:
            varied = kind.preset(name, **{parameter: getattr(plain, parameter)})
            expected = {**settings, parameter: getattr(plain, parameter)}
            assert {key: getattr(varied, key) for key in settings} == expected


def test_it_is_an_estimator_like_any_other():
    model = TreeMixture.preset("published", C=2.0, random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.C, copy.random_state, copy.settings.gate) == (2.0, 3, "constant")
    assert model.set_params(inference="auto").inference == "auto"
    with pytest.raises(TypeError, match="no_such"):
        TreeMixture.preset("published", no_such=1)


def test_unknown_names():
    with pytest.raises(ValueError, match="TreeMixture has no preset 'mine': it has 'published'"):
        TreeMixture.preset("mine")
    with pytest.raises(ValueError, match="LabelPowerset has no preset 'published': it has none"):
        LabelPowerset.preset("published")


@pytest.mark.parametrize(
    ("method", "made"),
    [
        ("mc(preset='published')", TreeMixture.preset("published", random_state=0)),
        ("mc(preset='published', C=1)", TreeMixture.preset("published", C=1, random_state=0)),
        ("sc(preset='published')", TreeNetwork.preset("published", random_state=0)),
        ("chf(preset='published')", StackedBinaryRelevance.preset("published", random_state=0)),
        ("mlcrf(preset='published')", PairwiseCRF.preset("published", random_state=0)),
        (
            "mc(inference=Annealing(preset='published'))",
            TreeMixture(
                inference=Annealing.preset("published"),
                settings=MixtureSettings(),
                random_state=0,
            ),
        ),
    ],
)
def test_on_the_command_line(method, made):
    assert make_method(method).get_params() == made.get_params()


def test_a_preset_of_a_method_holds_for_its_strategy():
    model = make_method("bomc-cmn(preset='published')")
    assert (model.settings.noise, model.settings.prior_variance) == (0.01, 1.0)
    assert model.decision.fallback is None
    ecc = make_method("ecc(preset='published')")
    assert (ecc.n_estimators, ecc.bootstrap, ecc.label_penalty) == (10, True, 1.0)
    assert ecc.decision.threshold == CardinalityThreshold()
    assert make_method("epcc(preset='published')").decision == "hamming"
    # A strategy without a preset of that name stays as it is, and so does one that was given.
    assert make_method("bomc-sample(preset='published')").decision.samples == 5
    given = make_method("bomc-cmn(preset='published', decision=ClassMassNormalization())")
    assert given.decision.fallback == 0.5
    assert make_method("bomc-cmn(preset='published', fallback=0)").decision.fallback == 0
    assert BayesianOnlineClassifier.preset("published", decision="f1").decision == "f1"


def test_single_settings_can_be_varied_on_the_command_line():
    model = make_method("mc(preset='published', label_penalty='cv', gate='linear')")
    assert model.label_penalty == "cv"
    assert (model.settings.gate, model.settings.weighting) == ("linear", "equal")


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        ("mc(preset='mine')", "TreeMixture has no preset 'mine'"),
        ("mc(preset=['published'])", "TreeMixture has no preset"),
        ("lp(preset='published')", "lp has no option 'preset'"),
    ],
)
def test_errors_on_the_command_line(method, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_method(method)
