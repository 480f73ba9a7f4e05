"""What the page shows of the model as a whole: its measures and its calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from labelweave._common.arrays import Floats, Labels
from labelweave._common.pipelines import is_fitted_search
from labelweave.evaluation import METRICS, Comparison, reliability_curve
from labelweave.explore.label_views import bins
from labelweave.explore.session import Session

__all__ = ["model_name", "model_view"]

_MEASURES = ("exact_match", "hamming_loss", "f1_example", "f1_micro", "f1_macro", "jaccard")
_N_BINS = 10


def model_name(model: Any) -> str:
    """Return a short name of a model.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from labelweave.models import ClassifierChain
    >>> model_name(make_pipeline(StandardScaler(), ClassifierChain()))
    'ClassifierChain after StandardScaler'
    """
    *before, last = _step_names(model)
    return f"{last} after {' and '.join(before)}" if before else last


def _step_names(model: Any) -> list[str]:
    """Return the names of the steps of a pipeline; a search counts as the model that it chose."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return [name for step in steps for name in _step_names(step)]
    if is_fitted_search(model):
        return _step_names(model.best_estimator_)
    if isinstance(model, FrozenEstimator):
        return _step_names(model.estimator)
    return [type(model).__name__]


def model_view(session: Session, comparison: Comparison | None = None) -> dict[str, Any]:
    """Return the measures of the rows that are done, their calibration, and a comparison."""
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
    """Return the mean of every method and measure, and which of them is the best."""
    means = comparison.to_frame().groupby("method", sort=False)[list(comparison.metrics)].mean()
    signs = np.array([1 if METRICS[name].higher_is_better else -1 for name in comparison.metrics])
    values = means.to_numpy(dtype=np.float64)
    best = values * signs == np.nanmax(values * signs, axis=0)
    return {
        "measures": [METRICS[name].title for name in comparison.metrics],
        "methods": [str(name) for name in means.index],
        "values": [[float(v) if np.isfinite(v) else None for v in line] for line in values],
        "best": best.tolist(),
        "note": f"Means over {len(comparison.fold_sizes)} folds of {comparison.data.name}.",
    }
