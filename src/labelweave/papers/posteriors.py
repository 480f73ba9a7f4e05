"""Posteriors of BOMC: whether expected F1 predicts true F1, and how fast messages converge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from labelweave._common.arrays import Floats, Indicators, Labels
from labelweave.data import Dataset
from labelweave.decision import SampledF, TunedThresholds
from labelweave.metrics import METRICS, f1_by_threshold
from labelweave.models.methods import make_method
from labelweave.models.online.classifier import BayesianOnlineClassifier
from labelweave.models.online.state import OnlineState
from labelweave.papers.measurements import Values, first_rows, random_split
from labelweave.papers.plan import Task

# The number of labels whose curves are kept, from the most frequent to the rarest.
_SHOWN = 4


def expected_f1(task: Task, data: Dataset) -> Values:
    """Compare the expected F1 of BOMC's thresholds with the true one, label by label.

    Settings: ``size``, the number of training rows; ``samples``, the number of posterior samples.
    Three values are sums of the true F1 over the labels that occur in the test rows: ``chosen`` at
    the candidates with the highest expected F1, ``best`` at the best candidates, ``best_of_all`` at
    the best of all thresholds. Curves over the candidates (``thresholds``) are kept for four
    labels, from frequent to rare: ``expected/k`` and ``true/k``; ``rows/k`` counts the label's test
    rows.
    """
    train, test = first_rows(*random_split(task, data), task.settings["size"])
    model = _fitted(task, train.X, train.Y)
    scores = model.state_.noise_free(test.X).probabilities()
    n_samples = task.settings["samples"]
    counts = SampledF(samples=n_samples).statistics(test.n_labels)
    counts.update(scores, model.state_.sample_labels(test.X, n_samples, model.seed_))
    expected, true = counts.expected_f1(), f1_by_threshold(scores, test.Y, counts.grid)
    chosen = true[np.arange(len(true)), np.searchsorted(counts.grid, counts.thresholds())]
    occurs = test.Y.any(axis=0)
    values: Values = {
        "n_labels": int(occurs.sum()),
        "chosen": float(chosen[occurs].sum()),
        "best": float(true[occurs].max(axis=1).sum()),
        "best_of_all": _best_of_all(scores[:, occurs], test.Y[:, occurs]),
        "n_rows": test.n_rows,
        "thresholds": counts.grid.tolist(),
    }
    for k, label in enumerate(_from_frequent_to_rare(test.Y)):
        values[f"expected/{k}"] = expected[label].tolist()
        values[f"true/{k}"] = true[label].tolist()
        values[f"rows/{k}"] = int(test.Y[:, label].sum())
    return values


def _best_of_all(scores: Floats, truth: Indicators) -> float:
    labels = TunedThresholds().informed(truth.mean(axis=0), (scores, truth)).label(scores)
    return float(truth.shape[1] * METRICS["f1_macro"](truth, labels))


def _from_frequent_to_rare(truth: Indicators) -> list[int]:
    frequency = truth.sum(axis=0)
    ranked = np.argsort(-frequency, kind="stable")[: np.count_nonzero(frequency)]
    return [int(ranked[k]) for k in np.linspace(0, len(ranked) - 1, _SHOWN).round().astype(int)]


def message_changes(task: Task, data: Dataset) -> Values:
    """Measure how much the messages to BOMC's bias change from one iteration of EP to the next.

    Settings: ``learned``, numbers of rows to learn from; ``rows``, the number of following rows to
    measure, each as if it were learned next; ``iterations``. ``mean@learned`` and
    ``variance@learned`` are the relative changes of the messages' mean and variance from each
    iteration to the next, averaged over messages and rows.
    """
    train, _ = random_split(task, data)
    n_rows, iterations = task.settings["rows"], task.settings["iterations"]
    values: Values = {}
    for learned in task.settings["learned"]:
        seen, following = first_rows(
            train, train.take(np.arange(learned, learned + n_rows)), learned
        )
        state = _fitted(task, seen.X, seen.Y).state_
        changes = np.mean(
            [
                _changes(factors, state, iterations)
                for factors in next_factors(state, following.X, following.Y)
            ],
            axis=0,
        )
        values[f"mean@{learned}"], values[f"variance@{learned}"] = changes.tolist()
    return values


def bias_variance(task: Task, data: Dataset) -> Values:
    """Return the mean posterior variance of BOMC's biases; ``size`` training rows."""
    train, _ = first_rows(*random_split(task, data), task.settings["size"])
    model = _fitted(task, train.X, train.Y)
    return {"variance": float(np.mean(model.bias_variance_))}


@dataclass(frozen=True)
class Factors:
    """The factors I(d > margin) of a row with d = sign (score - bias), one entry per label."""

    mean: Floats  # of the noisy scores
    variance: Floats
    sign: Floats
    margin: Floats


def next_factors(state: OnlineState, X: Any, Y: Indicators) -> list[Factors]:
    """Return the factors of each row as if it were learned next."""
    settings = state.settings
    assert settings.margin is not None
    mean, variance = state.moments(X)
    rows = []
    for m, v, y in zip(mean, variance + settings.noise**2, Y, strict=True):
        margin = np.full(len(y), float(settings.margin))
        if settings.skew_margin:
            positives = np.maximum(state.positives + y, 1)
            absent = (state.observed + 1 - positives) / positives
            margin[y == 1] *= np.log(np.e + absent[y == 1])
        rows.append(Factors(m, v, np.where(y == 1, 1.0, -1.0), margin))
    return rows


def _changes(factors: Factors, state: OnlineState, iterations: int) -> Floats:
    """Return the mean relative changes of means and of variances, (2, iterations - 1)."""
    precision, weighted_mean = messages(
        factors,
        float(np.ravel(state.bias_mean)[0]),
        float(np.ravel(state.bias_variance)[0]),
        iterations,
    )
    # A message without precision is uninformative, and has neither mean nor variance.
    says = (precision > 0).all(axis=0)
    moments = np.stack([weighted_mean[:, says] / precision[:, says], 1 / precision[:, says]])
    relative = np.abs(np.diff(moments, axis=1)) / np.abs(moments[:, 1:])
    return np.asarray(relative.mean(axis=2))


def messages(
    factors: Factors, bias_mean: float, bias_variance: float, iterations: int
) -> tuple[Floats, Floats]:
    """Return precisions and precision-weighted means of the messages to the bias, per iteration.

    As in the kernels, all labels send their messages at the same time (math.md, 4).
    """
    prior = np.array([1.0, bias_mean]) / bias_variance
    sites = np.zeros((iterations + 1, 2, len(factors.mean)))
    for last, new in pairwise(sites):
        cavity = prior[:, None] + last.sum(axis=1, keepdims=True) - last
        variance, mean = 1 / cavity[0], cavity[1] / cavity[0]
        total = factors.variance + variance
        t = (factors.sign * (factors.mean - mean) - factors.margin) / np.sqrt(total)
        shift = np.exp(-0.5 * (t**2 + np.log(2 * np.pi)) - log_ndtr(t))
        shrink = shift * (shift + t)
        gradient = factors.sign * shift / np.sqrt(total)
        new[0] = shrink / (factors.variance + variance * (1 - shrink))
        new[1] = new[0] * mean - gradient * (1 + variance * new[0])
    return sites[1:, 0], sites[1:, 1]


def _fitted(task: Task, X: Any, Y: Indicators | Labels) -> BayesianOnlineClassifier:
    model = make_method(task.method, seed=task.seed)
    assert isinstance(model, BayesianOnlineClassifier)
    return model.fit(X, Y)
