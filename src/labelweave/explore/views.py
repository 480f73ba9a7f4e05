"""Rows, labels, the model and contributions to a log-odds, as JSON for the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.pipeline import Pipeline

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.pipelines import layers
from labelweave.decision import FLoss, HammingLoss, SubsetLoss
from labelweave.decision.losses import Loss
from labelweave.evaluation import Comparison, chow_liu
from labelweave.explore.session import Session
from labelweave.inference import Auto
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.distribution import Evidence
from labelweave.metrics import METRICS, reliability_curve, scores_by_label
from labelweave.models.explanations import Explanation, explain_label
from labelweave.models.structure import Structure, structures_of

_MOST_PARTS = 40


def why(session: Session, row: int, label: int, fixed: Evidence) -> dict[str, Any]:
    """Return the contributions that add up to the log-odds of a label given all others.

    Unknown labels have their values in the most probable label vector.
    """
    explanation = explain_label(
        session.model, session.features_of([row]), label, fixed, feature_names=session.feature_names
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
    """Return the labels on which the log-odds depend: all others if they affect the components."""
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
    return {
        "kind": kind,
        "name": session.label_names[names.index(term)] if kind == "label" else term,
        "value": _number(value),
        "contribution": float(contribution),
    }


#: The meaning of the cells of each matrix of labels.
MATRICES = {
    "cooccurrence": "rows that have both labels",
    "conditional": "share of the rows with the row's label that have the column's too",
    "model": "probability of the column's label given the row's, by the model, over up to 200 rows",
}
# Bins of calibration curves.
_N_BINS = 10


def label_list(session: Session) -> dict[str, Any]:
    """Return the quality of every label, and the forests of dependence between labels."""
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
    """Return F1, precision and recall by threshold, and the reliability of a label's marginals.

    Without true labels, both are empty.
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
    names = ("p", "rate", "n", "low", "high")
    columns = [np.asarray(getattr(curve, name)).tolist() for name in names]
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


_MEASURES = ("exact_match", "hamming_loss", "f1_example", "f1_micro", "f1_macro", "jaccard")


def model_name(model: Any) -> str:
    *before, last = _step_names(model)
    return f"{last} after {' and '.join(before)}" if before else last


def _step_names(model: Any) -> list[str]:
    """Return the names of the steps of a pipeline; a search counts as the model that it chose."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return [name for step in steps for name in _step_names(step)]
    inwards = [each.model for each in layers(model)]
    pipeline = next((each for each in inwards if isinstance(each, Pipeline)), None)
    return [type(inwards[-1]).__name__] if pipeline is None else _step_names(pipeline)


def model_view(session: Session, comparison: Comparison | None = None) -> dict[str, Any]:
    """Return the measures and the calibration of the rows that are done, and a comparison."""
    done, answers = session.done, session.answers
    answer: dict[str, Any] = {
        "ready": session.ready(done),
        "measures": [],
        "marginals": [],
        "joint": [],
        "coverage": [],
        "comparison": None if comparison is None else _compared(comparison),
    }
    if session.truth is None or done.stop == 0:
        return answer
    truth, labels = session.truth[done], answers.labels[done]
    confidence = np.minimum(np.exp(answers.log_prob[done]), 1.0)
    right = (truth == labels).all(axis=1)
    measures = [(METRICS[name].title, METRICS[name](truth, labels)) for name in _MEASURES]
    measures.append((METRICS["cll_loss"].title, -float(answers.log_truth[done].mean())))
    answer["measures"] = [
        {"name": name, "value": float(value)} for name, value in measures if np.isfinite(value)
    ]
    marginals = reliability_curve(answers.marginals[done].ravel(), truth.ravel(), _N_BINS)
    answer["marginals"] = bins(marginals)
    answer["joint"] = bins(reliability_curve(confidence, right, _N_BINS))
    answer["coverage"] = _coverage(confidence, right)
    return answer


def _coverage(confidence: Floats, right: Labels) -> list[dict[str, float]]:
    """Return the share of exact matches among the most confident rows, for growing shares."""
    order = np.argsort(-confidence, kind="stable")
    matches = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    places = np.unique(np.linspace(0, len(order) - 1, 100).astype(np.int64))
    return [
        {
            "coverage": float((place + 1) / len(order)),
            "exact_match": float(matches[place]),
            "confidence": float(confidence[order[place]]),
        }
        for place in places
    ]


def _compared(comparison: Comparison) -> dict[str, Any]:
    """Return the mean of every method and measure, and the best method for each measure."""
    means = comparison.to_frame().groupby("method", sort=False)[list(comparison.metrics)].mean()
    signs = np.array([1 if METRICS[name].higher_is_better else -1 for name in comparison.metrics])
    values = means.to_numpy(dtype=np.float64)
    best = values * signs == np.nanmax(values * signs, axis=0)
    return {
        "measures": [METRICS[name].title for name in comparison.metrics],
        "methods": [str(name) for name in means.index],
        "values": [[_number(value) for value in line] for line in values],
        "best": best.tolist(),
        "note": f"Means over {len(comparison.fold_sizes)} folds of {comparison.data.name}.",
    }


#: The possible orders of rows.
ORDERS = {
    "number": "row number",
    "confidence": "confidence",
    "entropy": "entropy",
    "error": "suspected error",
    "labels": "number of labels",
}
#: The losses to decide for: the title, and the page's name for one minus the expected loss.
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
    """Return the rows whose number, or whose true or predicted labels, contain this text."""
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
    error = answers.best[row] - answers.log_truth[row]
    return {
        "row": row,
        "predicted": _present(answers.labels[row]) if known else [],
        "truth": None if session.truth is None else _present(session.truth[row]),
        "confidence": float(np.exp(answers.log_prob[row])) if known else None,
        "entropy": float(answers.entropy[row]) if known else None,
        # There is no error without true labels, nor if they are impossible under the model.
        "error": _number(error) if known else None,
        "n_labels": int(answers.labels[row].sum()) if known else None,
    }


def row_answer(session: Session, row: int, fixed: Evidence, decision: str) -> dict[str, Any]:
    """Return the model's answers for a row, given its known labels."""
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
    """Return a row's features that are farthest from their means, and the number of features.

    Zeros of a sparse matrix and missing values do not count.
    """
    given = session.features_of([row])
    columns, values = _columns_and_values(given)
    numbers = np.array([np.nan if isinstance(v, str) else v for v in values], dtype=np.float64)
    deviations = (numbers - session.spread.mean_[columns]) / session.spread.scale_[columns]
    is_known = np.isfinite(numbers) | [isinstance(v, str) for v in values]
    # Text has no distance from a mean, so it comes last, as NaN does.
    order = np.argsort(-np.abs(deviations), kind="stable")
    farthest = order[is_known[order]]
    names = session.feature_names
    shown = [
        {
            "name": str(columns[k]) if names is None else str(names[columns[k]]),
            "value": values[k] if isinstance(values[k], str) else float(numbers[k]),
            "deviation": _number(deviations[k]),
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
