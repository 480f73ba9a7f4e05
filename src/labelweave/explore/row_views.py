"""What the page shows of rows: the list of them, and the answers about one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from labelweave._common.arrays import Floats, Indices, Mask
from labelweave.decision import FLoss, HammingLoss, SubsetLoss
from labelweave.decision.losses import Loss
from labelweave.explore.session import Session
from labelweave.inference import Auto
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.evidence import Evidence

__all__ = ["DECISIONS", "ORDERS", "row_answer", "row_list"]

#: By what rows can be ordered.
ORDERS = {
    "number": "row number",
    "confidence": "confidence",
    "entropy": "entropy",
    "error": "suspected error",
    "labels": "number of labels",
}
#: The losses to decide for: the title, and what the page calls one minus the expected loss.
DECISIONS = {
    "subset": ("most probable set", "expected exact match"),
    "hamming": ("each label by itself", "expected share of right labels"),
    "f1": ("best expected F1", "expected F1"),
}
_LOSSES: dict[str, Loss] = {"subset": SubsetLoss(), "hamming": HammingLoss(), "f1": FLoss()}
_MOST_ROWS = 500
_MOST_FEATURES = 60
_TOP = 8


def row_list(
    session: Session, start: int, count: int, order: str, descending: bool, search: str
) -> dict[str, Any]:
    """Return a page of the list of rows.

    Rows whose answers are not known yet are listed by number only.
    """
    keys: Floats = _ORDER_KEYS[order](session)
    chosen = np.flatnonzero(_matches(session, len(keys), search))
    ranked = chosen[np.argsort(keys[chosen], kind="stable")]
    if descending:
        ranked = ranked[::-1]
    page = ranked[start : start + min(count, _MOST_ROWS)]
    rows = [_listed(session, int(row)) for row in page]
    return {"total": len(ranked), "ready": session.ready(session.done), "rows": rows}


_ORDER_KEYS: dict[str, Callable[[Session], Any]] = {
    "number": lambda session: np.arange(session.n_rows),
    "confidence": lambda session: session.answers.log_prob[session.done],
    "entropy": lambda session: session.answers.entropy[session.done],
    "error": lambda session: (session.answers.best - session.answers.log_truth)[session.done],
    "labels": lambda session: session.answers.labels[session.done].sum(axis=1),
}


def _matches(session: Session, n_rows: int, search: str) -> Mask:
    """Return which rows have a number or a label, true or predicted, with this text in it."""
    text = search.strip().casefold()
    if not text:
        return np.ones(n_rows, dtype=np.bool_)
    named = [j for j, name in enumerate(session.label_names) if text in name.casefold()]
    found = np.zeros(n_rows, dtype=np.bool_)
    known = min(n_rows, session.answers.n_done)
    found[:known] = session.answers.labels[:known][:, named].any(axis=1)
    if session.truth is not None:
        found |= session.truth[:n_rows][:, named].astype(np.bool_).any(axis=1)
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) < n_rows:
        found[int(text)] = True
    return found


def _listed(session: Session, row: int) -> dict[str, Any]:
    answers = session.answers
    known = row < answers.n_done
    error = float(answers.best[row] - answers.log_truth[row])
    return {
        "row": row,
        "predicted": _present(answers.labels[row]) if known else [],
        "truth": None if session.truth is None else _present(session.truth[row]),
        "confidence": float(np.exp(answers.log_prob[row])) if known else None,
        "entropy": float(answers.entropy[row]) if known else None,
        # Neither without true labels, nor if the model takes them to be impossible.
        "error": error if known and np.isfinite(error) else None,
        "n_labels": int(answers.labels[row].sum()) if known else None,
    }


def row_answer(session: Session, row: int, fixed: Evidence, decision: str) -> dict[str, Any]:
    """Return what the model says of a row once some of its labels are known.

    Raises
    ------
    ValueError
        If the known labels are impossible.
    """
    begin = time.perf_counter()
    joint = session.joint_of([row])
    evidence = float(np.exp(joint.evidence_log_prob(fixed).value[0])) if fixed else 1.0
    given = joint.condition(fixed) if fixed else joint
    marginals, mode, top = given.estimate("marginals"), given.mode(Auto()), given.top(_TOP)
    return {
        "row": row,
        "truth": None if session.truth is None else _present(session.truth[row]),
        "features": _features(session, row),
        "evidence_probability": evidence,
        "marginals": marginals.value[0].tolist(),
        "standard_error": marginals.standard_error[0].tolist(),
        "exact": bool(marginals.exact[0]),
        "top": [
            {"labels": _present(labels), "p": float(np.exp(log_prob))}
            for labels, log_prob in zip(top.labels[0], top.log_prob[0], strict=True)
            if np.isfinite(log_prob)
        ],
        "mode": {
            "labels": _present(mode.labels[0]),
            "p": float(np.exp(mode.log_prob[0])),
            "optimal": bool(mode.optimal[0]),
            "bound": float(np.exp(min(mode.upper_bound[0], 0.0))),
        },
        "decision": _decided(given, decision, mode),
        "milliseconds": 1000 * (time.perf_counter() - begin),
    }


def _decided(joint: JointDistribution, name: str, mode: Mode) -> dict[str, Any]:
    if name == "subset":
        labels, score = mode.labels, np.exp(mode.log_prob)
    else:
        decided = joint.decide(_LOSSES[name])
        labels, score = decided.labels, decided.score
    return {"name": name, "labels": _present(labels[0]), "expected": float(score[0])}


def _features(session: Session, row: int) -> dict[str, Any]:
    """Return the features of a row that are farthest from their means, and how many there are.

    Zeros of a sparse matrix and missing values do not count.
    """
    given = session.features_of([row])
    columns, values = _columns_and_values(given)
    numbers = np.array([np.nan if isinstance(v, str) else v for v in values], dtype=np.float64)
    deviations = (numbers - session.spread.mean_[columns]) / session.spread.scale_[columns]
    is_known = np.isfinite(numbers) | [isinstance(v, str) for v in values]
    # Text has no distance from a mean; it comes last, as NaN does.
    order = np.argsort(-np.abs(deviations), kind="stable")
    farthest = order[is_known[order]]
    names = session.feature_names
    shown = [
        {
            "name": str(columns[k]) if names is None else str(names[columns[k]]),
            "value": values[k] if isinstance(values[k], str) else float(numbers[k]),
            "deviation": float(deviations[k]) if np.isfinite(deviations[k]) else None,
        }
        for k in farthest[:_MOST_FEATURES]
    ]
    return {"shown": shown, "count": len(farthest), "sparse": sparse.issparse(given)}


def _columns_and_values(given: Any) -> tuple[Indices, list[Any]]:
    """Return the columns of one row that have a value, and these values."""
    if hasattr(given, "tocsr"):
        line = given.tocsr()
        line.eliminate_zeros()
        return line.indices, line.data.tolist()
    values = list(given.iloc[0] if hasattr(given, "iloc") else np.asarray(given)[0])
    return np.arange(len(values)), values


def _present(labels: Any) -> list[int]:
    places: Indices = np.flatnonzero(labels)
    return [int(place) for place in places]
