"""Methods by short name: what ``br`` or ``pcc(C=1)`` on the command line stands for.

A new model joins with one line in :data:`METHODS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

from labelweave._common.presets import HasPresets, Presets
from labelweave.evaluation.classifiers import check_classifier, similar_classifiers
from labelweave.evaluation.expressions import Call, parse_call, split_calls

__all__ = ["METHODS", "Method", "make_method", "make_methods"]


@dataclass(frozen=True)
class Method:
    """What a short name stands for.

    Parameters
    ----------
    call : str
        The estimator, as a specification; options given by the user are added to it.
    description : str
        What it does, in a few words.
    """

    call: str
    description: str


#: Every method by its short name.
METHODS: dict[str, Method] = {
    "auto": Method("ClassifierChain()", "probabilistic chain, exact where that is cheap"),
    "br": Method("BinaryRelevance()", "binary relevance: every label on its own"),
    "cc": Method("ClassifierChain(inference=Greedy())", "classifier chain, greedy"),
    "pcc": Method(
        "ClassifierChain(inference=Exhaustive(max_labels=30))", "probabilistic chain, exact"
    ),
    "p2cg": Method("ClassifierChain(inference=Gibbs())", "probabilistic chain, Gibbs sampling"),
    "beam": Method("ClassifierChain(inference=Beam())", "probabilistic chain, beam search"),
    "bestfirst": Method("ClassifierChain(inference=BestFirst())", "probabilistic chain, proven"),
    "ecc": Method("ChainEnsemble(decision=Vote())", "ensemble of chains, votes"),
    "epcc": Method("ChainEnsemble()", "ensemble of probabilistic chains, averaged marginals"),
    "sc": Method("TreeNetwork()", "tree network: every label given one other at most"),
    "mc": Method("TreeMixture()", "mixture of tree networks"),
    "mpcc": Method("ChainMixture()", "mixture of probabilistic chains"),
    "ectbn": Method("TreeEnsemble()", "ensemble of random tree networks, averaged marginals"),
    "bomc-cmn": Method(
        "BayesianOnlineClassifier(labelling=CardinalityMatching())",
        "Bayesian online learner; test labels as frequent as in training",
    ),
    "bomc-sample": Method(
        "BayesianOnlineClassifier(labelling=SampledF())",
        "Bayesian online learner; expected F1 by posterior samples",
    ),
    "bomc-ind-cmn": Method(
        "BayesianOnlineClassifier(coupled=False, labelling=CardinalityMatching())",
        "the same with a bias for every label",
    ),
    "bomc-ind-sample": Method(
        "BayesianOnlineClassifier(coupled=False, labelling=SampledF())",
        "the same with a bias for every label",
    ),
    "lp": Method("LabelPowerset()", "label powerset: every label vector is a class"),
    "rakel": Method("RAkEL()", "label powersets of random labelsets, averaged"),
    "chf": Method("StackedBinaryRelevance()", "binary relevance in two layers"),
    "mlknn": Method("MLkNN()", "Bayes' rule on the labels of ten neighbours"),
    "iblr": Method("InstanceBasedLogistic()", "logistic regression on the neighbours' labels"),
    "mlcrf": Method("PairwiseCRF()", "conditional random field of label pairs"),
    "mmoc": Method("MaxMarginOutputCoding()", "maximum-margin output codes, decoded by a QP"),
    "svm": Method("ThresholdedSVM()", "linear SVMs, thresholds by nested cross-validation"),
    "lasvm": Method("LaSVM()", "online SVMs in the dual, tuned thresholds"),
    "pa-online": Method("PassiveAggressive()", "passive-aggressive, thresholds by its own folds"),
    "pa-batch": Method(
        "PassiveAggressive(tuned_with='batch')", "passive-aggressive, thresholds by those of SVMs"
    ),
}

# A name without a dot is a public name of one of these.
_ROOMS = (
    "labelweave.models",
    "labelweave.online",
    "labelweave.baselines",
    "labelweave.inference",
    "labelweave.decision",
)


def make_methods(specifications: str | Iterable[str], *, seed: int = 0) -> dict[str, Any]:
    """Make estimators from specifications, ready for :func:`compare`.

    Parameters
    ----------
    specifications : str or iterable of str
        A list such as ``"br, pcc(C=1)"``: short names (:data:`METHODS`), names of labelweave's
        classes, or import paths of scikit-learn classifiers, each with options.
    seed : int, default=0
        ``random_state`` of every estimator that has one and was not given one.

    Returns
    -------
    dict
        Estimators by the name a table shows.

    Examples
    --------
    >>> make_methods("sklearn.tree.DecisionTreeClassifier(max_depth=3)")
    {'DecisionTreeClassifier(max_depth=3)': DecisionTreeClassifier(max_depth=3, random_state=0)}
    """
    if isinstance(specifications, str):
        specifications = split_calls(specifications)
    methods: dict[str, Any] = {}
    for specification in specifications:
        call = parse_call(specification)
        name = str(Call(call.head.rpartition(".")[2], call.options))
        if name in methods:
            raise ValueError(f"{name} is given twice: drop one, or give it other options")
        methods[name] = make_method(call, seed=seed)
    if not methods:
        raise ValueError(f"no method is named: choose from {', '.join(METHODS)}")
    return methods


def make_method(specification: str | Call, *, seed: int = 0) -> Any:
    """Make one estimator from its specification.

    Examples
    --------
    >>> make_method("sklearn.dummy.DummyClassifier", seed=7)
    DummyClassifier(random_state=7)
    """
    call = parse_call(specification) if isinstance(specification, str) else specification
    estimator = _build(call)
    check_classifier(estimator, call.head)
    return _with_seed(estimator, seed)


def _with_seed(estimator: Any, seed: int) -> Any:
    """Fix every seed that is still open, so that the same command gives the same figures."""
    open_seeds = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**open_seeds)


def _build(call: Call) -> Any:
    options = dict(call.options)
    if call.head in METHODS:
        standard = parse_call(METHODS[call.head].call)
        constructor = _find_class(standard.head)
        if "preset" in options:
            standard = _preset_parts(standard, options["preset"])
        options = standard.options | _routed(options, constructor, standard)
    else:
        constructor = _find_class(call.head)
    _check_options(call.head, constructor, options)
    parameters = {
        name: _build(value) if isinstance(value, Call) else value for name, value in options.items()
    }
    preset = parameters.pop("preset", None)
    if preset is None:
        return constructor(**parameters)
    return constructor.preset(preset, **parameters)  # type: ignore[attr-defined]


def _preset_parts(standard: Call, preset: Any) -> Call:
    """Let a preset of a method hold for the strategies its short name stands for, too."""
    options = dict(standard.options)
    for name, part in options.items():
        if isinstance(part, Call) and preset in list(_presets(_find_class(part.head))):
            options[name] = replace(part, options=part.options | {"preset": preset})
    return replace(standard, options=options)


def _presets(constructor: type) -> Presets:
    return constructor.presets if issubclass(constructor, HasPresets) else {}


def _routed(options: dict[str, Any], constructor: type, standard: Call) -> dict[str, Any]:
    """Hand options that the estimator does not have to its strategy: ``p2cg(sweeps=70)``."""
    own = set(_parameters(constructor))
    for name, part in standard.options.items():
        if not isinstance(part, Call) or name in options:
            continue
        taken = {k for k in options if k not in own and k in _parameters(_find_class(part.head))}
        if taken:
            inner = Call(part.head, part.options | {k: options[k] for k in taken})
            options = {k: v for k, v in options.items() if k not in taken} | {name: inner}
    return options


def _parameters(constructor: type) -> list[str]:
    own = [name for name in inspect.signature(constructor).parameters if name != "kwargs"]
    return [*own, "preset"] if _presets(constructor) else own


def _check_options(head: str, constructor: type, options: dict[str, Any]) -> None:
    known = _parameters(constructor)
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            valid = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{head} has no option {name!r}: {hint}{valid}")


def _find_class(head: str) -> type:
    """Find a class by its public name or its import path; only classes that are safe to make."""
    if "." in head:
        found = _import(head)
        if not (isinstance(found, type) and issubclass(found, BaseEstimator)):
            raise ValueError(f"{head} is not a scikit-learn estimator")
        return found
    for room in _ROOMS:
        module = import_module(room)
        if head in getattr(module, "__all__", ()):
            found = getattr(module, head)
            if isinstance(found, type):
                return found
    near = get_close_matches(head.lower(), METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise ValueError(
        f"unknown method {head!r}: {hint}Known are {', '.join(METHODS)}, "
        "and import paths such as sklearn.tree.DecisionTreeClassifier"
    )


def _import(path: str) -> Any:
    module_name, _, name = path.rpartition(".")
    try:
        module = import_module(module_name)
    except (ImportError, ValueError, TypeError) as error:
        raise ValueError(f"cannot import {path}: {error}") from error
    if not hasattr(module, name):
        near = similar_classifiers(module, name)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"cannot import {path}: {module_name} has no {name}{hint}")
    return getattr(module, name)
