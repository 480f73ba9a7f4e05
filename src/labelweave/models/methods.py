"""Methods by name, as on the command line: "pcc(C=1.0), mc".

A method is an estimator by a short name, to which options can be added; `METHODS` lists them all.
Preprocessing that the features need is put in front of a method, and a decision that a user writes
becomes one of its parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from labelweave import decision as decisions_package
from labelweave._common.pipelines import last
from labelweave._common.specifications import (
    Specification,
    parse_specification,
    split_specifications,
)
from labelweave.data import make_preprocessor
from labelweave.data.preprocessing import needs_preprocessing
from labelweave.decision.decide import DECISION_NAMES, resolve_decision
from labelweave.decision.losses import Decision
from labelweave.models.calibration import CalibratedJointCV
from labelweave.models.conformal import ConformalClassifier
from labelweave.models.kernel_features import KernelFeatures


def check_classifier(estimator: Any, name: str) -> None:
    """Raise ValueError if `estimator`, which the user calls `name`, is not a classifier."""
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise ValueError(f"{name} is not a classifier: it lacks fit or predict")
    # Estimators of older libraries have no tags, and are taken for classifiers.
    has_tags = hasattr(estimator, "__sklearn_tags__")
    kind = get_tags(estimator).estimator_type if has_tags else None
    if kind in (None, "classifier"):
        return
    near = similar_classifiers(_package_of(estimator), type(estimator).__name__)
    hint = f"; did you mean {near[0]}?" if near else "; choose a classifier instead"
    raise ValueError(f"{name} is a {kind.replace('_', ' ')}, not a classifier{hint}")


def similar_classifiers(module: ModuleType, name: str) -> list[str]:
    """Return the classifiers of a module with names similar to `name`, the closest first."""
    classes = ((key, value) for key, value in vars(module).items() if isinstance(value, type))
    known = [key for key, value in classes if issubclass(value, ClassifierMixin)]
    return get_close_matches(name.replace("Regressor", "Classifier"), known, cutoff=0.5)


def _package_of(estimator: Any) -> ModuleType:
    path = type(estimator).__module__.split(".")
    public = [part for part in path if not part.startswith("_")]
    return import_module(".".join(public) or path[0])


Scale = Literal["auto"] | bool


def with_preprocessing(estimator: Any, X: Any, scale: Scale = "auto") -> Any:
    """Return a pipeline of preprocessing, fitted to the training rows, and an estimator."""
    if scale not in ("auto", True, False):
        raise ValueError(f'scale must be "auto", True or False, got {scale!r}')
    holds_out = isinstance(estimator, ConformalClassifier | CalibratedJointCV)
    if holds_out and not needs_preprocessing(X):
        # The preprocessing is inside, so that it learns nothing from held-out rows.
        inner = with_preprocessing(estimator.base_estimator(), X, scale)
        return clone(estimator).set_params(estimator=inner)
    is_sparse = sparse.issparse(X)
    is_prepared = isinstance(estimator, Pipeline) and not isinstance(estimator[0], KernelFeatures)
    wanted = not (is_sparse or is_prepared) if scale == "auto" else scale
    if needs_preprocessing(X) and not (is_prepared and scale == "auto"):
        return make_pipeline(make_preprocessor(X, scale=wanted), estimator)
    if not wanted:
        return estimator
    return make_pipeline(StandardScaler(with_mean=not is_sparse), estimator)


@dataclass(frozen=True)
class Method:
    """An estimator's specification, to which the user's options are added, and a description."""

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
    "mc": Method("TreeMixture(settings=MixtureSettings())", "mixture of tree networks"),
    "mcc": Method(
        "ChainMixture(inference=Greedy(), settings=MixtureSettings())",
        "mixture of classifier chains, greedy",
    ),
    "mpcc": Method("ChainMixture(settings=MixtureSettings())", "mixture of probabilistic chains"),
    "ectbn": Method("TreeEnsemble()", "ensemble of random tree networks, averaged marginals"),
    "forest": Method("DistributionalForest()", "label vectors of the leaf mates in a forest"),
    "weave": Method(
        "JointClassifierCV()",
        "chain on held-out log-odds of other classifiers, by default a forest",
    ),
    "best": Method("BestJoint()", "the best of a portfolio, by held-out log-likelihood"),
    "calibrated": Method(
        "CalibratedJointCV()",
        "probabilities calibrated on held-out rows; calibrated(mc(), marginals='sigmoid')",
    ),
    "conformal": Method(
        "ConformalClassifier()",
        "sets of label vectors with guaranteed coverage; conformal(mc())",
    ),
    "bomc-cmn": Method(
        "BayesianOnlineClassifier(decision=ClassMassNormalization(), settings=OnlineSettings())",
        "Bayesian online learner; test labels as frequent as in training",
    ),
    "bomc-sample": Method(
        "BayesianOnlineClassifier(decision=SampledF(), settings=OnlineSettings())",
        "Bayesian online learner; expected F1 by posterior samples",
    ),
    "bomc-ind-cmn": Method(
        "BayesianOnlineClassifier(coupled=False, decision=ClassMassNormalization(), "
        "settings=OnlineSettings())",
        "the same with one independent bias per label",
    ),
    "bomc-ind-sample": Method(
        "BayesianOnlineClassifier(coupled=False, decision=SampledF(), settings=OnlineSettings())",
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

#: Names of some methods in papers.
_ALIASES = {
    "ctbn": "sc",
    "svm-batch": "svm",
    "pa-onlinecv": "pa-online",
    "pa-batchcv": "pa-batch",
    "bomc": "bomc-cmn",
}

# A name without a dot is a public name of one of these packages.
_PACKAGES = ("labelweave", "labelweave.inference", "labelweave.decision")


def make_methods(specifications: str | Iterable[str], *, seed: int = 0) -> dict[str, Any]:
    """Make estimators from specifications, ready for `compare`.

    Parameters
    ----------
    specifications : str or iterable of str
        Specifications such as ``"br, pcc(C=1)"``: short names, names of labelweave's classes, or
        import paths of scikit-learn classifiers, each with options. Short names may be written as
        papers do: ``MC``, ``BOMC_CMN``, ``SVM_Batch``. The option `features` puts a transformer
        in front: ``"pcc(features=KernelFeatures())"``.
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
    """Make one estimator from its specification."""
    if isinstance(specification, str):
        specification = parse_specification(specification)
    estimator = build(specification)
    check_classifier(estimator, specification.name)
    if isinstance(estimator, ConformalClassifier | CalibratedJointCV):
        estimator.base_estimator()  # refused before any data are read
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
    """Make the object of a specification: an estimator, a strategy, a decision or a transformer."""
    options = dict(specification.options)
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
    """Return the method of a short name, unless a class has exactly that name."""
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
        if isinstance(part, Specification) and preset in list(
            getattr(_find_class(part.name), "presets", ())
        ):
            options[name] = replace(part, options=part.options | {"preset": preset})
    return replace(standard, options=options)


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
    return [*own, "preset"] if getattr(constructor, "presets", ()) else own


def _bound(specification: Specification, constructor: type) -> dict[str, Any]:
    """Return all arguments by name; those without a name are bound as Python would bind them."""
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
        is_one = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if is_one and not has_value:
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


def make_decision(text: str) -> str | Decision:
    """Return the decision that a text stands for, as models take it."""
    specification = parse_specification(text)
    name = specification.name
    if text.strip() in DECISION_NAMES:
        return name
    if not isinstance(getattr(decisions_package, name, None), type):
        raise ValueError(f"unknown decision {text!r}: {_suggestion(name)}")
    return resolve_decision(build(specification))


def _suggestion(name: str) -> str:
    public = decisions_package.__all__
    classes = [each for each in public if isinstance(getattr(decisions_package, each), type)]
    near = get_close_matches(name, [*DECISION_NAMES, *classes], n=2)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}choose from {', '.join(DECISION_NAMES)}, or an object such as PrecisionAtK(3)"


def make_decisions(text: str) -> dict[str, str | Decision]:
    """Return the decisions of a comma-separated list, by their text."""
    texts = split_specifications(text)
    if not texts:
        raise ValueError(f"no decisions given: choose from {', '.join(DECISION_NAMES)}")
    return {each: make_decision(each) for each in texts}


def with_decisions(
    methods: Mapping[str, Any], decisions: Mapping[str, str | Decision]
) -> dict[str, Any]:
    """Return each method with each decision; methods without a joint distribution stay unchanged.

    `compare` fits methods that differ only in their decision once.
    """
    expanded: dict[str, Any] = {}
    for method, estimator in methods.items():
        if not hasattr(last(estimator), "predict_joint"):
            expanded[method] = estimator
            continue
        for name, decision in decisions.items():
            expanded[f"{method}: {name}"] = deciding(estimator, decision)
    return expanded


def deciding(estimator: Any, decision: str | Decision) -> Any:
    """Return a clone of a method, or of a pipeline that ends in one, with another decision."""
    anew = clone(estimator)
    last(anew).set_params(decision=decision)
    return anew
