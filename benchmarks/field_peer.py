"""A pairwise conditional random field the plain way: enumeration and SciPy's L-BFGS."""

from __future__ import annotations

from itertools import combinations
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from labelweave._common.arrays import Floats, Indicators

# Label vectors are enumerated in learning up to so many labels, as ours does by itself; beyond, the
# pseudo-likelihood is maximised.
MOST_EXACT = 10
_ROWS = 256


class PlainField:
    """P(y|x) ∝ exp(y·(Wx + b) + Σ v_ij y_i y_j), penalised by (|W|² + |v|²) / 2C with C = 1.

    L-BFGS starts at zero and stops at SciPy's tolerances.
    """

    def fit(self, X: Floats, Y: Indicators) -> Self:
        """Maximise the likelihood, or for many labels the pseudo-likelihood."""
        n_labels, n_features = Y.shape[1], X.shape[1]
        self.pairs = np.array(list(combinations(range(n_labels), 2))).T
        self.shape = (n_labels, n_features)
        objective = self._likelihood if n_labels <= MOST_EXACT else self._pseudo_likelihood
        start = np.zeros(n_labels * (n_features + 1) + self.pairs.shape[1])
        data = (X, Y.astype(np.float64))
        options = {"maxiter": 15_000, "maxfun": 20_000}
        found = minimize(objective, start, data, jac=True, method="L-BFGS-B", options=options)
        self.W, self.b, self.v = self._split(found.x)
        return self

    def predict(self, X: Floats) -> Indicators:
        """Most probable of all label vectors, (n, L)."""
        parts = np.array_split(X, max(1, len(X) // _ROWS))
        vectors = self._vectors()[:, : self.shape[0]]
        return np.concatenate([vectors[self._energy(part).argmax(axis=1)] for part in parts])

    def predict_proba(self, X: Floats) -> Floats:
        """Marginals by summing over all label vectors, (n, L)."""
        parts = np.array_split(X, max(1, len(X) // _ROWS))
        vectors = self._vectors()[:, : self.shape[0]]
        return np.concatenate([softmax(self._energy(part), axis=1) @ vectors for part in parts])

    def _energy(self, X: Floats) -> Floats:
        vectors = self._vectors()
        n_labels = self.shape[0]
        scores = (X @ self.W.T + self.b) @ vectors[:, :n_labels].T
        return np.asarray(scores + vectors[:, n_labels:] @ self.v)

    def _vectors(self) -> Floats:
        """All label vectors and their products of pairs, (2^L, L + E)."""
        n_labels = self.shape[0]
        vectors = np.arange(2**n_labels)[:, None] >> np.arange(n_labels) & 1
        i, j = self.pairs
        return np.hstack([vectors, vectors[:, i] * vectors[:, j]]).astype(np.float64)

    def _split(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        n_labels, n_features = self.shape
        W, b, v = np.split(theta, [n_labels * n_features, n_labels * (n_features + 1)])
        return W.reshape(self.shape), b, v

    def _likelihood(self, theta: Floats, X: Floats, Y: Floats) -> tuple[float, Floats]:
        W, b, v = self._split(theta)
        i, j = self.pairs
        vectors = self._vectors()
        n_labels = self.shape[0]
        scores = X @ W.T + b
        energy = scores @ vectors[:, :n_labels].T + vectors[:, n_labels:] @ v
        log_z = logsumexp(energy, axis=1)
        expected = np.exp(energy - log_z[:, None]) @ vectors
        pairs = Y[:, i] * Y[:, j]
        value = log_z.sum() - (scores * Y).sum() - (pairs @ v).sum()
        residual = expected[:, :n_labels] - Y
        by_pair = (expected[:, n_labels:] - pairs).sum(axis=0)
        gradient = [(residual.T @ X + W).ravel(), residual.sum(axis=0), by_pair + v]
        return value + ((W**2).sum() + (v**2).sum()) / 2, np.concatenate(gradient)

    def _pseudo_likelihood(self, theta: Floats, X: Floats, Y: Floats) -> tuple[float, Floats]:
        W, b, v = self._split(theta)
        i, j = self.pairs
        coupling = np.zeros((self.shape[0],) * 2)
        coupling[i, j] = coupling[j, i] = v
        z = X @ W.T + b + Y @ coupling
        value = (np.logaddexp(0, z) - Y * z).sum()
        residual = expit(z) - Y
        product = residual.T @ Y
        # Both ends of a pair see its coupling, so it is penalised twice.
        by_pair = product[i, j] + product[j, i] + 2 * v
        gradient = [(residual.T @ X + W).ravel(), residual.sum(axis=0), by_pair]
        return value + (W**2).sum() / 2 + (v**2).sum(), np.concatenate(gradient)
