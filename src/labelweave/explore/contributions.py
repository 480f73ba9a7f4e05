"""Why this label: what features and other labels add to its log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from labelweave.explore.session import Session
from labelweave.joint.evidence import Evidence
from labelweave.models import Explanation, explain_label

__all__ = ["why"]

_MOST_PARTS = 40


def why(session: Session, row: int, label: int, fixed: Evidence) -> dict[str, Any]:
    """Return what adds up to the log-odds of a label given all others.

    Labels that are not known have the values of the most probable label vector.

    Raises
    ------
    ValueError
        If the conditionals of the model are not linear.
    """
    explanation = explain_label(
        session.model,
        session.features_of([row]),
        label,
        fixed,
        feature_names=session.feature_names,
    )
    log_odds = float(explanation.log_ratio[0])
    table = explanation.to_frame(max_terms=_MOST_PARTS)
    is_rest = table.kind == "rest"
    return {
        "label": label,
        "log_odds": log_odds,
        "probability": float(expit(log_odds)),
        "given": [
            {"label": k, "value": int(explanation.labels[0, k])} for k in _given(explanation, label)
        ],
        "parts": [
            _part(session, explanation.label_names, *line)
            for line in table[~is_rest].itertuples(index=False)
        ],
        "rest": float(table.contribution[is_rest].sum()),
    }


def _given(explanation: Explanation, label: int) -> list[int]:
    """Return the labels that the log-odds depend on: all others, if they say which component."""
    if explanation.between_components[0]:
        return [k for k in range(len(explanation.label_names)) if k != label]
    is_label = np.array(explanation.kinds) == "label"
    return [int(k) for k in np.flatnonzero(explanation.values[0, is_label])]


def _part(
    session: Session,
    names: tuple[str, ...],
    term: str,
    kind: str,
    value: float,
    contribution: float,
) -> dict[str, Any]:
    name = session.label_names[names.index(term)] if kind == "label" else term
    number = float(value) if np.isfinite(value) else None
    return {"kind": kind, "name": name, "value": number, "contribution": float(contribution)}
