"""Fit the parameters of a pairwise field, and choose which labels to couple."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.features import without_empty_columns
from labelweave.baselines._field_objectives import ExactLikelihood, FieldData, PseudoLikelihood
from labelweave.baselines._newton import minimise
from labelweave.logistic import LinearConditionals


def fit_field(
    X: Any,
    labels: Labels,
    edges: Mask,
    start: LinearConditionals,
    sample_weight: Floats | None,
    *,
    exact: bool,
) -> LinearConditionals:
    """Fit a field, starting from conditionals whose couplings are not tied.

    Parameters
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    edges : (L, L) bool array
        Symmetric mask of the pairs that may be coupled.
    start : LinearConditionals
        Fitted with the same penalties, each label given those that it may be coupled with.
    sample_weight : (n,) array, optional
    exact : bool
        Whether to maximise the likelihood rather than the pseudo-likelihood.
    """
    # A constant label has no finite optimum: it keeps the smoothed intercept of the start.
    varies = np.flatnonzero(labels.min(axis=0) != labels.max(axis=0))
    inner = edges[np.ix_(varies, varies)]
    # The weights of features that no row has are zero, in the start as at the optimum.
    features, used = without_empty_columns(X)
    data = FieldData(
        features,
        labels[:, varies].astype(np.float64),
        np.ones(len(labels)) if sample_weight is None else sample_weight,
        np.argwhere(np.triu(inner, 1)),
        start.C,
        start.label_penalty,
    )
    weights, intercept = start.weights.copy(), start.intercept.copy()
    coupling = np.zeros_like(start.coupling)
    # Without couplings the start is the optimum of both likelihoods.
    if len(data.edges):
        fitted = np.ix_(varies, used)
        i, j = varies[data.edges].T
        mean = (start.coupling[i, j] + start.coupling[j, i]) / 2
        parameters = data.pack(weights[fitted], intercept[varies], mean)
        objective = ExactLikelihood(data) if exact else PseudoLikelihood(data)
        parameters = minimise(objective, parameters)
        weights[fitted], intercept[varies], values = data.unpack(parameters)
        coupling[np.ix_(varies, varies)] = data.matrix(values)
    return LinearConditionals(weights, intercept, coupling, start.C, start.label_penalty)


def strongest_pairs(
    scores: Floats, labels: Labels, sample_weight: Floats | None, allowed: Mask, k: int
) -> Mask:
    """Return the ``k`` allowed pairs of largest score test, (L, L) bool.

    Rao's score test at independent labels: the squared slope of the pseudo-likelihood in the
    coupling of a pair over the variance of that slope. It needs no fit of any pair.

    Parameters
    ----------
    scores : (n, L) array
        Log-odds of independently fitted labels.
    labels, sample_weight
        The rows that they were fitted to.
    allowed : (L, L) bool array
    k : int
    """
    probability: Floats = expit(scores)
    Y = labels.astype(np.float64)
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    slope = (weight[:, None] * (Y - probability)).T @ Y
    spread = (weight[:, None] * probability * (1 - probability)).T @ Y
    total = spread + spread.T
    test = (slope + slope.T) ** 2 / np.where(total > 0, total, np.inf)
    candidates = np.argwhere(np.triu(allowed, 1))
    order = np.argsort(-test[tuple(candidates.T)], kind="stable")[:k]
    chosen = np.zeros_like(allowed)
    i, j = candidates[order].T
    chosen[i, j] = chosen[j, i] = True
    return chosen
