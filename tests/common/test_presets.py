"""Presets: parameters by name, nothing more."""

from __future__ import annotations

import inspect

import pytest
from sklearn.base import clone

import labelweave
from labelweave._common.presets import HasPresets
from labelweave.baselines import PairwiseCRF, RAkEL, StackedBinaryRelevance
from labelweave.decision import CardinalityThreshold, ClassMassNormalization, MajorityVote
from labelweave.evaluation import make_method
from labelweave.inference import Annealing
from labelweave.models import BinaryRelevance, ChainEnsemble, TreeMixture, TreeNetwork
from labelweave.online import BayesianOnlineClassifier

PUBLIC = [getattr(labelweave, name) for name in labelweave.__all__]
WITH_PRESETS = [
    thing
    for thing in [*PUBLIC, ClassMassNormalization]
    if inspect.isclass(thing) and issubclass(thing, HasPresets) and thing.presets
]


def test_who_has_one():
    assert set(WITH_PRESETS) == {
        Annealing,
        BayesianOnlineClassifier,
        ChainEnsemble,
        ClassMassNormalization,
        MajorityVote,
        PairwiseCRF,
        RAkEL,
        StackedBinaryRelevance,
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
        assert any(defaults[key] != value for key, value in settings.items())
        assert name in kind.__doc__


@pytest.mark.parametrize("kind", WITH_PRESETS)
def test_what_a_preset_sets_cannot_be_given(kind):
    for name, settings in kind.presets.items():
        for parameter, value in settings.items():
            if (kind, parameter) == (BayesianOnlineClassifier, "decision"):
                continue
            with pytest.raises(ValueError, match=f"sets {parameter}=.*: leave {parameter} out"):
                kind.preset(name, **{parameter: value})


def test_it_is_an_estimator_like_any_other():
    model = TreeMixture.preset("published", C=2.0, random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.C, copy.random_state, copy.gate) == (2.0, 3, "constant")
    assert model.set_params(inference="auto").inference == "auto"
    with pytest.raises(TypeError, match="no_such"):
        TreeMixture.preset("published", no_such=1)


def test_unknown_names():
    with pytest.raises(ValueError, match="TreeMixture has no preset 'mine': it has 'published'"):
        TreeMixture.preset("mine")
    with pytest.raises(ValueError, match="BinaryRelevance has no preset 'published': it has none"):
        BinaryRelevance.preset("published")


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
            TreeMixture(inference=Annealing.preset("published"), random_state=0),
        ),
    ],
)
def test_on_the_command_line(method, made):
    assert make_method(method).get_params() == made.get_params()


def test_a_preset_of_a_method_holds_for_its_strategy():
    model = make_method("bomc-cmn(preset='published')")
    assert (model.noise, model.prior_variance, model.label_offset) == (0.01, 1.0, 0.0)
    assert model.decision.fallback is None
    ecc = make_method("ecc(preset='published')")
    assert (ecc.n_estimators, ecc.bootstrap, ecc.label_penalty) == (10, True, 1.0)
    assert ecc.decision.threshold == CardinalityThreshold()
    assert make_method("epcc(preset='published')").decision == "hamming"
    # A strategy without a preset of that name stays as it is, and so does one that was given.
    assert make_method("bomc-sample(preset='published')").decision.samples == 5
    given = make_method("bomc-cmn(preset='published', decision=ClassMassNormalization())")
    assert given.decision.fallback == 0.5
    assert BayesianOnlineClassifier.preset("published", decision="f1").decision == "f1"


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        ("mc(preset='published', gate='linear')", "sets gate='constant': leave gate out"),
        ("bomc-cmn(preset='published', fallback=0.0)", "sets fallback=None"),
        ("mc(preset='mine')", "TreeMixture has no preset 'mine'"),
        ("mc(preset=['published'])", "TreeMixture has no preset"),
        ("br(preset='published')", "br has no option 'preset'"),
    ],
)
def test_errors_on_the_command_line(method, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_method(method)
