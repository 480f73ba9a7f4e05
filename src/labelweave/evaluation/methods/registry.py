"""The registry of methods: what ``br`` or ``pcc(C=1)`` on the command line stands for.

To register a new model, add one line to :data:`METHODS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

from labelweave._common.presets import HasPresets, Presets
from labelweave.evaluation.methods.calibrate_option import calibrated
from labelweave.evaluation.methods.classifier_checks import check_classifier, similar_classifiers
from labelweave.evaluation.methods.specifications import (
    Specification,
    parse_specification,
    split_specifications,
)

__all__ = ["METHODS", "Method", "make_method", "make_methods"]


@dataclass(frozen=True)
class Method:
    """What a short name stands for.

    Parameters
    ----------
    specification : str
        The specification of the estimator; options given by the user are added to it.
    description : str
        A short description.
    """

    specification: str
    description: str


#: Every method by its short name.
METHODS: dict[str, Method] = {
    "auto": Method("ClassifierChain()", "probabilistic chain, exact where this is cheap"),
    "br": Method("BinaryRelevance()", "binary relevance: one independent classifier per label"),
    "cc": Method("ClassifierChain(inference=Greedy())", "classifier chain, greedy"),
    "pcc": Method(
        "ClassifierChain(inference=Exhaustive(max_labels=30))", "probabilistic chain, exact"
    ),
    "p2cg": Method("ClassifierChain(inference=Gibbs())", "probabilistic chain, Gibbs sampling"),
    "beam": Method("ClassifierChain(inference=Beam())", "probabilistic chain, beam search"),
    "bestfirst": Method(
        "ClassifierChain(inference=BestFirst())", "probabilistic chain, best-first search"
    ),
    "ecc": Method("ChainEnsemble(decision=MajorityVote())", "ensemble of chains, majority vote"),
    "epcc": Method("ChainEnsemble()", "ensemble of probabilistic chains, averaged marginals"),
    "sc": Method("TreeNetwork()", "tree network: each label given at most one other"),
    "mc": Method("TreeMixture()", "mixture of tree networks"),
    "mcc": Method("ChainMixture(inference=Greedy())", "mixture of classifier chains, greedy"),
    "mpcc": Method("ChainMixture()", "mixture of probabilistic chains"),
    "ectbn": Method("TreeEnsemble()", "ensemble of random tree networks, averaged marginals"),
    "forest": Method("DistributionalForest()", "label vectors of the leaf mates in a forest"),
    "weave": Method(
        "JointClassifierCV()",
        "chain on held-out log-odds of other classifiers, by default a forest",
    ),
    "best": Method("BestJoint()", "the best of a portfolio, by held-out log-likelihood"),
    "calibrated": Method(
        "CalibratedJointCV()",
        "probabilities calibrated on held-out rows; calibrated(estimator=mc, marginals='sigmoid')",
    ),
    "conformal": Method(
        "ConformalClassifier()",
        "sets of label vectors with guaranteed coverage; conformal(estimator=mc())",
    ),
    "bomc-cmn": Method(
        "BayesianOnlineClassifier(decision=ClassMassNormalization())",
        "Bayesian online learner; test labels as frequent as in training",
    ),
    "bomc-sample": Method(
        "BayesianOnlineClassifier(decision=SampledF())",
        "Bayesian online learner; expected F1 by posterior samples",
    ),
    "bomc-ind-cmn": Method(
        "BayesianOnlineClassifier(coupled=False, decision=ClassMassNormalization())",
        "the same with one independent bias per label",
    ),
    "bomc-ind-sample": Method(
        "BayesianOnlineClassifier(coupled=False, decision=SampledF())",
        "the same with one independent bias per label",
    ),
    "lp": Method("LabelPowerset()", "label powerset: each label vector is a class"),
    "rakel": Method("RAkEL()", "label powersets of random labelsets, averaged"),
    "chf": Method("StackedBinaryRelevance()", "binary relevance in two layers"),
    "mlknn": Method("MLkNN()", "Bayes' rule on the labels of ten neighbours"),
    "iblr": Method("InstanceBasedLogistic()", "logistic regression on the neighbours' labels"),
    "mlcrf": Method("PairwiseCRF()", "conditional random field over label pairs"),
    "mmoc": Method("MaxMarginOutputCoding()", "maximum-margin output codes, decoded by a QP"),
    "svm": Method("ThresholdedSVM()", "linear SVMs, thresholds by nested cross-validation"),
    "lasvm": Method("LaSVM()", "online SVMs in the dual, thresholds by nested cross-validation"),
    "pa-online": Method("PassiveAggressive()", "passive-aggressive, thresholds tuned on itself"),
    "pa-batch": Method(
        "PassiveAggressive(tuned_with='batch')", "passive-aggressive, thresholds tuned on SVMs"
    ),
}

#: What papers call some of the methods.
_ALIASES = {
    "ctbn": "sc",
    "svm-batch": "svm",
    "pa-onlinecv": "pa-online",
    "pa-batchcv": "pa-batch",
    "bomc": "bomc-cmn",
}

# A name without a dot is a public name of one of these packages.
_PACKAGES = (
    "labelweave.models",
    "labelweave.online",
    "labelweave.baselines",
    "labelweave.inference",
    "labelweave.decision",
    "labelweave.features",
    "labelweave.evaluation",
)


def make_methods(specifications: str | Iterable[str], *, seed: int = 0) -> dict[str, Any]:
    """Make estimators from specifications, ready for :func:`compare`.

    Parameters
    ----------
    specifications : str or iterable of str
        Specifications such as ``"br, pcc(C=1)"``: short names (:data:`METHODS`), names of
        labelweave's classes, or import paths of scikit-learn classifiers, each with options.
        Short names may be written as papers do: ``MC``, ``BOMC_CMN``, ``SVM_Batch``.
        The option `features` puts a transformer in front: ``"pcc(features=KernelFeatures())"``;
        the option `calibrate` makes it a `CalibratedJointCV`: ``"pcc(calibrate='temperature')"``.
    seed : int, default=0
        ``random_state`` of each estimator that has one, unless it is given as an option.

    Returns
    -------
    dict
        Estimators by display name.

    Examples
    --------
    >>> make_methods("sklearn.tree.DecisionTreeClassifier(max_depth=3)")
    {'DecisionTreeClassifier(max_depth=3)': DecisionTreeClassifier(max_depth=3, random_state=0)}
    """
    if isinstance(specifications, str):
        specifications = split_specifications(specifications)
    methods: dict[str, Any] = {}
    for specification in specifications:
        parsed = parse_specification(specification)
        name = str(replace(parsed, name=parsed.name.rpartition(".")[2]))
        if name in methods:
            raise ValueError(f"{name} is given twice: remove one or change its options")
        methods[name] = make_method(parsed, seed=seed)
    if not methods:
        raise ValueError(f"no methods given: choose from {', '.join(METHODS)}")
    return methods


def make_method(specification: str | Specification, *, seed: int = 0) -> Any:
    """Make one estimator from its specification.

    Examples
    --------
    >>> make_method("sklearn.dummy.DummyClassifier", seed=7)
    DummyClassifier(random_state=7)
    """
    if isinstance(specification, str):
        specification = parse_specification(specification)
    estimator = build(specification)
    check_classifier(estimator, specification.name)
    return _with_seed(estimator, seed)


def _with_seed(estimator: Any, seed: int) -> Any:
    """Set every seed that is None, so that the same command gives the same scores."""
    open_seeds = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    return estimator.set_params(**open_seeds)


def build(specification: Specification) -> Any:
    """Make the object of a specification: an estimator, a strategy, a decision or a transformer.

    Examples
    --------
    >>> build(parse_specification("PrecisionAtK(3)"))
    PrecisionAtK(k=3)
    """
    options = dict(specification.options)
    # The online learner has a parameter of this name, which is True or False.
    if not isinstance(options.get("calibrate", False), bool):
        how = options.pop("calibrate")
        return calibrated(build(replace(specification, options=options)), how)
    if "features" in options:
        features = _build_transformer(options.pop("features"))
        return make_pipeline(features, build(replace(specification, options=options)))
    method = _find_method(specification.name)
    if method is not None:
        standard = parse_specification(method.specification)
        constructor = _find_class(standard.name)
        if "preset" in options:
            standard = _preset_parts(standard, options["preset"])
        options = standard.options | _routed(options, constructor, standard)
    else:
        constructor = _find_class(specification.name)
    options = _bound(specification, constructor) | options
    _check_options(specification.name, constructor, options)
    parameters = {name: _build_value(value) for name, value in options.items()}
    preset = parameters.pop("preset", None)
    if preset is None:
        return constructor(**parameters)
    return constructor.preset(preset, **parameters)  # type: ignore[attr-defined]


def _find_method(name: str) -> Method | None:
    """Return the method of a short name; a class of exactly that name comes first."""
    if name in METHODS:
        return METHODS[name]
    if "." in name or _public_class(name) is not None:
        return None
    key = name.lower().replace("_", "-")
    return METHODS.get(_ALIASES.get(key, key))


def _build_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_build_value, value))
    return build(value) if isinstance(value, Specification) else value


def _build_transformer(specification: Any) -> Any:
    if isinstance(specification, Specification):
        transformer = build(specification)
        if hasattr(transformer, "transform"):
            return transformer
    raise ValueError(
        f"features must be a transformer, such as KernelFeatures(); got {specification}"
    )


def _preset_parts(standard: Specification, preset: Any) -> Specification:
    """Apply the preset of a method also to the strategies in its specification."""
    options = dict(standard.options)
    for name, part in options.items():
        if isinstance(part, Specification) and preset in list(_presets(_find_class(part.name))):
            options[name] = replace(part, options=part.options | {"preset": preset})
    return replace(standard, options=options)


def _presets(constructor: type) -> Presets:
    return constructor.presets if issubclass(constructor, HasPresets) else {}


def _routed(options: dict[str, Any], constructor: type, standard: Specification) -> dict[str, Any]:
    """Pass options that the estimator does not have to its strategy: ``p2cg(sweeps=70)``."""
    own = set(_parameters(constructor))
    for name, part in standard.options.items():
        if not isinstance(part, Specification) or name in options:
            continue
        taken = {k for k in options if k not in own and k in _parameters(_find_class(part.name))}
        if taken:
            inner = Specification(part.name, part.options | {k: options[k] for k in taken})
            options = {k: v for k, v in options.items() if k not in taken} | {name: inner}
    return options


def _parameters(constructor: type) -> list[str]:
    own = [name for name in inspect.signature(constructor).parameters if name != "kwargs"]
    return [*own, "preset"] if _presets(constructor) else own


def _bound(specification: Specification, constructor: type) -> dict[str, Any]:
    """Return the arguments that came without a name by name, as Python would bind them."""
    places = [
        name
        for name, parameter in inspect.signature(constructor).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    for value in specification.arguments[len(places) :]:
        raise ValueError(f"in '{specification}', {value} needs the name of an option: name={value}")
    bound = dict(zip(places, specification.arguments, strict=False))
    for name in bound.keys() & specification.options.keys():
        raise ValueError(f"in '{specification}', {name} is given twice")
    return bound


def _check_options(head: str, constructor: type, options: dict[str, Any]) -> None:
    known = _parameters(constructor)
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            valid = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{head} has no option {name!r}: {hint}{valid}")
    for name, parameter in inspect.signature(constructor).parameters.items():
        has_value = parameter.default is not parameter.empty or name in options
        if not has_value and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            raise ValueError(f"{head} needs the option {name!r}: {head}({name}=...)")


def _find_class(head: str) -> type:
    """Return a class by public name or import path; only estimators and strategies are allowed."""
    if "." in head:
        found = _import(head)
        if not (isinstance(found, type) and issubclass(found, BaseEstimator)):
            raise ValueError(f"{head} is not a scikit-learn estimator")
        return found
    public = _public_class(head)
    if public is not None:
        return public
    near = get_close_matches(head.lower(), METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise ValueError(
        f"unknown method {head!r}: {hint}choose from {', '.join(METHODS)}, "
        "or an import path such as sklearn.tree.DecisionTreeClassifier"
    )


def _public_class(name: str) -> type | None:
    for package in _PACKAGES:
        module = import_module(package)
        if name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if isinstance(found, type):
                return found
    return None


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
