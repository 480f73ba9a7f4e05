"""The relaxation of a chain in NumPy: all terms of one row at once, straight from the formulas."""

import numpy as np
from scipy.special import expit


class Relaxation:
    """Tangents, squares and splits of one row, in chain order; ``known`` is -1 where unknown."""

    def __init__(self, scores, coupling, known):
        unknown = np.flatnonzero(known < 0)
        given = np.where(known > 0, 1.0, 0.0)
        scores = scores + coupling @ given
        among = coupling[:, unknown]
        depends = (known >= 0) & (among != 0).any(axis=1)
        certain = (known >= 0) & ~depends
        signs = np.where(known[certain] == 1, 1.0, -1.0)
        self.constant = -np.logaddexp(0.0, -signs * scores[certain]).sum()
        terms = np.r_[unknown, np.flatnonzero(depends)]
        self.s, self.V, self.value = scores[terms], among[terms], known[terms]
        self.n = n = len(unknown)
        # Which splits there are: of every term and each unknown label, of two unknown ones once.
        self.pairs = np.ones_like(self.V)
        self.pairs[:n] = np.tril(self.pairs[:n], -1)
        rise, fall = (part.sum(axis=1) / 3 for part in (self.V.clip(0), self.V.clip(None, 0)))
        self.at = {
            "split": np.zeros_like(self.V),
            "roots": 0.5 * np.eye(n),
            "constants": np.full(n, -0.25),
            "u": -(self.s + rise),
            "v": self.s + fall,
        }
        self.memory = {name: (np.zeros_like(x), np.zeros_like(x)) for name, x in self.at.items()}

    def _value(self):
        at, s, V, n = self.at, self.s, self.V, self.n
        u, v = expit(at["u"]), expit(at["v"])
        squares = np.zeros_like(V)
        squares[:n] = 2 * at["roots"] @ at["roots"].T
        self.if_one = (u[:, None] * V + at["split"] + squares) * self.pairs
        self.if_zero = (at["split"] - v[:, None] * V) * self.pairs
        own = (at["roots"] * (at["roots"] + 2 * at["constants"])).sum(axis=1)
        self.one = u * s - _entropy(at["u"]) + self.if_one.clip(0).sum(axis=1)
        self.one[:n] += own - (at["split"] * self.pairs).sum(axis=0)
        self.zero = -v * s - _entropy(at["v"]) + self.if_zero.clip(0).sum(axis=1)

    def bound(self):
        self._value()
        best = np.where(self.value == 1, self.one, self.zero)
        best = np.where(self.value < 0, np.maximum(self.one, self.zero), best)
        return self.constant + best.sum() + (self.at["constants"] ** 2).sum()

    def _slopes(self, doubt):
        at, n = self.at, self.n
        u, v = expit(at["u"]), expit(at["v"])
        y = np.where(self.value < 0, expit((self.one - self.zero) / doubt), self.value)
        one, zero = (self.if_one > 0), (self.if_zero > 0)
        weights = y[:n, None] * one[:n]
        weights = weights + weights.T + np.diag(y[:n])
        return {
            "split": (y[:, None] * one + (1 - y)[:, None] * zero - y[None, :n]) * self.pairs,
            "roots": 2 * np.tril(weights @ at["roots"] + y[:n, None] * at["constants"]),
            "constants": 2 * (at["constants"] + y[:n] @ at["roots"]),
            "u": y * (self.s + at["u"] + (one * self.V).sum(axis=1)) * u * (1 - u),
            "v": (1 - y) * (at["v"] - self.s - (zero * self.V).sum(axis=1)) * v * (1 - v),
        }

    def fit(self, n_steps):
        for step in range(1, n_steps + 1):
            left = 1 - step / n_steps
            self._value()
            for name, slope in self._slopes(0.09 * left + 1e-3).items():
                mean, square = self.memory[name]
                mean += 0.1 * (slope - mean)
                square += 0.01 * (slope**2 - square)
                pace = (0.01 * left + 1e-5) * (20 if name in "uv" else 1)
                root = np.sqrt(square / (1 - 0.99**step)) + 1e-8
                self.at[name] = self.at[name] - pace * mean / (1 - 0.9**step) / root
        return self


def _entropy(log_odds):
    return np.logaddexp(0.0, log_odds) - expit(log_odds) * log_odds
