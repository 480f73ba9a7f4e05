"""Decisions by what a user writes, and methods that decide for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from sklearn.base import clone

from labelweave import decision as decisions_package
from labelweave._common.pipelines import last_step
from labelweave.decision.decide import DECISION_NAMES, resolve_decision
from labelweave.decision.losses import Decision
from labelweave.evaluation.methods.registry import build
from labelweave.evaluation.methods.specifications import parse_specification, split_specifications

__all__ = ["make_decision", "make_decisions", "with_decisions"]


def make_decision(text: str) -> str | Decision:
    """Return the decision that a text stands for, as models take it.

    Parameters
    ----------
    text : str
        A name such as "f1", or a class of `labelweave.decision` with its options:
        ``"PrecisionAtK(3)"``, ``"FLoss(beta=2)"``, ``"PartialAbstention(price=0.2)"``.

    Examples
    --------
    >>> make_decision("f1"), make_decision("FLoss(beta=2)")
    ('f1', FLoss(beta=2))
    """
    specification = parse_specification(text)
    name = specification.name
    if text.strip() in DECISION_NAMES:
        return name
    if not isinstance(getattr(decisions_package, name, None), type):
        raise ValueError(f"unknown decision {text!r}: {_suggestion(name)}")
    return resolve_decision(build(specification))


def _suggestion(name: str) -> str:
    classes = [
        each
        for each in decisions_package.__all__
        if isinstance(getattr(decisions_package, each), type)
    ]
    near = get_close_matches(name, [*DECISION_NAMES, *classes], n=2)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"{hint}choose from {', '.join(DECISION_NAMES)}, or an object such as PrecisionAtK(3)"


def make_decisions(text: str) -> dict[str, str | Decision]:
    """Return the decisions of a comma-separated list, by what was written.

    Examples
    --------
    >>> make_decisions("subset, FLoss(beta=2)")
    {'subset': 'subset', 'FLoss(beta=2)': FLoss(beta=2)}
    """
    texts = split_specifications(text)
    if not texts:
        raise ValueError(f"no decisions given: choose from {', '.join(DECISION_NAMES)}")
    return {each: make_decision(each) for each in texts}


def with_decisions(
    methods: Mapping[str, Any], decisions: Mapping[str, str | Decision] | Iterable[str]
) -> dict[str, Any]:
    """Return every method once for each decision; methods without a joint distribution as they are.

    `compare` fits those that differ in nothing else only once.

    Parameters
    ----------
    methods : mapping of str to estimator
    decisions : mapping of str to decision, or iterable of names

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> with_decisions({"br": BinaryRelevance()}, ["hamming", "f1"])
    {'br: hamming': BinaryRelevance(decision='hamming'), 'br: f1': BinaryRelevance(decision='f1')}
    """
    chosen = decisions if isinstance(decisions, Mapping) else {name: name for name in decisions}
    expanded: dict[str, Any] = {}
    for method, estimator in methods.items():
        if not hasattr(last_step(estimator), "predict_joint"):
            expanded[method] = estimator
            continue
        for name, decision in chosen.items():
            expanded[f"{method}: {name}"] = deciding(estimator, decision)
    return expanded


def deciding(estimator: Any, decision: str | Decision) -> Any:
    """Return a clone of a method, or of a pipeline that ends in one, with another decision."""
    anew = clone(estimator)
    last_step(anew).set_params(decision=decision)
    return anew
