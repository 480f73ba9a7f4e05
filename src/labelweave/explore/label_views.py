"""What the page shows of labels: how good each is, and how they depend on each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave.evaluation import chow_liu
from labelweave.explore.session import Session
from labelweave.metrics import reliability_curve, scores_by_label
from labelweave.models import Structure, structures_of

__all__ = ["MATRICES", "label_curves", "label_list", "label_matrix"]

#: What a cell of the matrix of labels says.
MATRICES = {
    "cooccurrence": "rows that have both labels",
    "conditional": "share of the rows with the row's label that have the column's too",
    "model": "probability of the column's label given the row's, by the model, over up to 200 rows",
}
_N_BINS = 10


def label_list(session: Session) -> dict[str, Any]:
    """Return the quality of every label, and the forests that labels depend on each other in."""
    done, answers = session.done, session.answers
    marginals = answers.marginals[done]
    expected = marginals.sum(axis=0, dtype=np.float64)
    listed = [
        {"label": j, "expected": float(expected[j]), "positives": None} | _UNKNOWN
        for j in range(session.n_labels)
    ]
    if session.truth is not None and done.stop:
        table = scores_by_label(session.truth[done], answers.labels[done], marginals)
        for entry, (_, line) in zip(listed, table.iterrows(), strict=True):
            entry["positives"] = int(line["support"])
            entry |= {name: _number(line[name]) for name in _UNKNOWN}
    return {"labels": listed, "ready": session.ready(done), "forests": _forests(session)}


_UNKNOWN: dict[str, Any] = {"f1": None, "precision": None, "recall": None, "auc": None}


def _forests(session: Session) -> list[dict[str, Any]]:
    structures = structures_of(session.model)
    if structures:
        several = len(structures) > 1
        return [
            _forest(
                structure,
                f"tree {k + 1} of {len(structures)}" if several else "learned tree",
                "gain in held-out log-likelihood",
            )
            for k, structure in enumerate(structures)
        ]
    if session.truth is None or session.n_labels < 2:
        return []
    return [
        _forest(
            chow_liu(session.truth), "labels of the data", "gain in log-likelihood, less ½ log n"
        )
    ]


def _forest(structure: Structure, title: str, measure: str) -> dict[str, Any]:
    return {
        "title": title,
        "measure": measure,
        "parents": structure.parents.tolist(),
        "strength": [_number(gain) for gain in structure.gains],
        "coupling": [_number(coupling) for coupling in structure.couplings],
    }


def label_matrix(session: Session, kind: str, labels: list[int]) -> dict[str, Any]:
    """Return a matrix over some of the labels."""
    if kind == "model":
        pairs = session.pairs[np.ix_(labels, labels)]
    elif session.truth is None:
        raise ValueError("the true labels of these rows are not known")
    else:
        chosen = session.truth[:, labels].astype(np.float64)
        pairs = chosen.T @ chosen
    if kind != "cooccurrence":
        own = np.diag(pairs)[:, None]
        pairs = np.divide(pairs, own, out=np.zeros_like(pairs), where=own > 0)
    return {
        "kind": kind,
        "labels": labels,
        "values": pairs.round(6).tolist(),
        "title": MATRICES[kind],
    }


def label_curves(session: Session, label: int) -> dict[str, Any]:
    """Return F1, precision and recall of a label by threshold, and how reliable its marginals are.

    Without true labels there are none.
    """
    done = session.done
    answer: dict[str, Any] = {"label": label, "curve": [], "reliability": [], "best": None}
    answer["ready"] = session.ready(done)
    if session.truth is None or done.stop == 0:
        return answer
    p = session.answers.marginals[done, label].astype(np.float64)
    truth = session.truth[done, label]
    thresholds = np.linspace(0.0, 1.0, 101)
    predicted = p[None, :] >= thresholds[:, None]
    hits, chosen = (predicted & (truth == 1)).sum(axis=1), predicted.sum(axis=1)
    n_true = int(truth.sum())
    precision = np.divide(hits, chosen, out=np.ones(len(hits)), where=chosen > 0)
    recall = hits / n_true if n_true else np.zeros(len(hits))
    f1 = 2 * hits / np.maximum(chosen + n_true, 1)
    columns = {"threshold": thresholds, "f1": f1, "precision": precision, "recall": recall}
    answer["curve"] = [
        dict(zip(columns, map(float, line), strict=True))
        for line in zip(*columns.values(), strict=True)
    ]
    answer["reliability"] = bins(reliability_curve(p, truth, _N_BINS))
    answer["best"] = float(thresholds[np.argmax(f1)]) if n_true else None
    return answer


def bins(curve: Any) -> list[dict[str, Any]]:
    """Return the bins of a reliability curve, for the page."""
    names = ("p", "rate", "n", "low", "high")
    columns = [np.asarray(getattr(curve, name)).tolist() for name in names]
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
