"""Why this label: what features and other labels add to its log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.pipeline import Pipeline

from labelweave._common.arrays import Floats
from labelweave._common.pipelines import last_step
from labelweave.explore.session import Session
from labelweave.inference import Auto
from labelweave.joint.evidence import Evidence
from labelweave.logistic import LinearConditionals

__all__ = ["can_explain", "why"]

_MOST_PARTS = 40


def can_explain(session: Session) -> bool:
    """Whether the log-odds of each label are linear in the features and in other labels."""
    return _linear(session.model) is not None


def why(session: Session, row: int, label: int, fixed: Evidence) -> dict[str, Any]:
    """Return what adds up to the log-odds of a label given the labels it depends on.

    Labels that are not known have the values of the most probable label vector.
    """
    conditionals = _linear(session.model)
    if conditionals is None:
        raise ValueError("the log-odds of this model are not sums of contributions")
    joint = session.joint_of([row])
    given = joint.condition(fixed) if fixed else joint
    labels = given.mode(Auto()).labels[0].astype(np.float64)
    x, names = _prepared(session, row)
    of_features = conditionals.weights[label] * x
    of_labels = conditionals.coupling[label] * labels
    log_odds = float(conditionals.intercept[label] + of_features.sum() + of_labels.sum())
    parents = np.flatnonzero(conditionals.coupling[label])
    parts = [
        _part("intercept", "", 1.0, float(conditionals.intercept[label])),
        *(
            _part("feature", names[k], x[k], of_features[k])
            for k in np.argsort(-abs(of_features))[:_MOST_PARTS]
            if of_features[k]
        ),
        *(_part("label", session.label_names[k], labels[k], of_labels[k]) for k in parents),
    ]
    shown = sorted(parts, key=lambda part: -abs(part["contribution"]))[:_MOST_PARTS]
    return {
        "label": label,
        "log_odds": log_odds,
        "probability": float(expit(log_odds)),
        "given": [{"label": int(k), "value": int(labels[k])} for k in parents],
        "parts": shown,
        "rest": log_odds - sum(part["contribution"] for part in shown),
    }


def _part(kind: str, name: str, value: float, contribution: float) -> dict[str, Any]:
    numbers = {"value": float(value), "contribution": float(contribution)}
    return {"kind": kind, "name": str(name)} | numbers


def _linear(model: Any) -> LinearConditionals | None:
    found = getattr(last_step(model), "conditionals_", None)
    return found if isinstance(found, LinearConditionals) else None


def _prepared(session: Session, row: int) -> tuple[Floats, list[str]]:
    """Return the features of a row as the conditionals see them, and their names."""
    x, names, model = session.features_of([row]), session.feature_names, session.model
    while isinstance(model, Pipeline):
        before, model = model[:-1], model.steps[-1][1]
        if len(before):
            given = None if hasattr(x, "columns") or names is None else list(names)
            x = before.transform(x)
            names = list(before.get_feature_names_out(given))
    values = np.asarray(sparse.csr_array(x).toarray()[0], dtype=np.float64)
    return values, [str(k) for k in range(len(values))] if names is None else list(names)
