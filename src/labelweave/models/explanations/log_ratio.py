"""log P(y|x) - log P(y'|x) as a sum, under linear conditionals (math.md, 12)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels
from labelweave._common.features import dense_features
from labelweave.models.linear_members import LinearMembers


@dataclass(frozen=True)
class LogRatio:
    """The terms of n log-ratios.

    ``base + features.sum(1) + labels.sum(1) + interaction + components.sum(1)`` is the log-ratio,
    which is also ``by_label.sum(1) + between_components``.

    Attributes
    ----------
    base : (n,) array
        The linear part at the baseline.
    features : (n, S) array
    labels : (n, L) array
        Of labels as parents of those that differ, and of the conditionals of labels that do not.
    interaction : (n,) array
        What is not linear in labels that differ together with their parents.
    components : (n, K) array
        Of mixing: how far the members that explain the row differ from those of the baseline.
    shares : (n, K) array
        How much each member explains.
    by_label : (n, L) array
        Differences of the conditionals' log-probabilities, averaged over the members.
    between_components : (n,) array
        The rest of the log-ratio: what the vectors say about the member.
    """

    base: Floats
    features: Floats
    labels: Floats
    interaction: Floats
    components: Floats
    shares: Floats
    by_label: Floats
    between_components: Floats


def decompose(
    rows: LinearMembers, baseline: LinearMembers, rates: Floats, labels: Labels, against: Labels
) -> LogRatio:
    """Split the log-ratios of `labels` and `against`, (n, L) each, relative to a baseline.

    The baseline is a single row, whose labels have the values `rates`.
    """
    change = labels.astype(np.float64) - against
    log_odds, others = rows.log_odds(labels), rows.log_odds(against)
    by_label = _log_sigmoid(labels, log_odds) - _log_sigmoid(against, others)
    shares, gaps = _shares(
        rows.log_weights + _log_sigmoid(labels, log_odds).sum(axis=2).T,
        rows.log_weights + _log_sigmoid(against, others).sum(axis=2).T,
    )
    at_baseline = change @ baseline.log_odds(rates[None])[:, 0].T
    prior = np.exp(baseline.log_weights[0])
    base = at_baseline @ prior
    differs = change != 0
    bend = np.where(differs, _log_normaliser(others) - _log_normaliser(log_odds), 0.0)
    of_children = np.where(differs, 0.0, by_label)
    return LogRatio(
        base=base,
        features=_of_features(rows, baseline, change, shares),
        labels=_of_parents(rows, change, shares) * ((labels + against) / 2.0 - rates)
        + _averaged(of_children, shares),
        interaction=_averaged(bend, shares).sum(axis=1),
        components=(shares - prior) * (at_baseline - base[:, None]) + gaps,
        shares=shares,
        by_label=_averaged(by_label, shares),
        between_components=gaps.sum(axis=1),
    )


def _log_sigmoid(labels: Labels, log_odds: Floats) -> Floats:
    """Return log P(y_j | parents) of labels with these log-odds."""
    return -np.logaddexp(0.0, (1.0 - 2.0 * labels) * log_odds)


def _log_normaliser(log_odds: Floats) -> Floats:
    """Return log 2 cosh(z/2), so that log P(y_j | parents) = ±z/2 less this."""
    return np.logaddexp(0.5 * log_odds, -0.5 * log_odds)


def _shares(log_joint: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return how much each member counts, and its part of the rest of the log-ratio, (n, K).

    A member counts by its mean responsibility for the two vectors: log P(y) - log P(y') is, for
    every member k, log P_k(y) - log P_k(y') + log r'_k - log r_k.
    """
    log_share = log_joint - logsumexp(log_joint, axis=1, keepdims=True)
    log_other = others - logsumexp(others, axis=1, keepdims=True)
    shares = (np.exp(log_share) + np.exp(log_other)) / 2.0
    possible = shares > 0
    gap = np.subtract(log_other, log_share, out=np.zeros_like(shares), where=possible)
    return shares, shares * gap


def _averaged(terms: Floats, shares: Floats) -> Floats:
    """Return the mean over the members of terms (K, n, L)."""
    return np.asarray(np.einsum("nk,knl->nl", shares, terms))


def _of_features(
    rows: LinearMembers, baseline: LinearMembers, change: Floats, shares: Floats
) -> Floats:
    weights = sum(
        (shares[:, [k]] * change) @ member.weights for k, member in enumerate(rows.conditionals)
    )
    distance = dense_features(rows.features) - dense_features(baseline.features)
    return np.asarray(weights * distance)


def _of_parents(rows: LinearMembers, change: Floats, shares: Floats) -> Floats:
    couplings = [
        (shares[:, [k]] * change) @ member.coupling for k, member in enumerate(rows.conditionals)
    ]
    return np.asarray(sum(couplings))
