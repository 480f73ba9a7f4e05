"""Trees of labels, one row and one label vector at a time, from their definition."""

import math

import numpy as np


def random_forest(rng, n, L, scale=2.0):
    """Log-odds (n, L, 2) and parents of a random forest whose labels stand in any order."""
    order = rng.permutation(L)
    parents = np.full(L, -1)
    for position in range(1, L):
        if rng.random() < 0.8:
            parents[order[position]] = order[rng.integers(position)]
    return rng.normal(scale=scale, size=(n, L, 2)), parents


def label_log_prob(y, z):
    """Log P(y | log-odds z), also for infinite z."""
    signed = z if y else -z
    if math.isinf(signed):
        return 0.0 if signed > 0 else -math.inf
    return min(signed, 0.0) - math.log1p(math.exp(-abs(signed)))


def log_prob(logits, parents, y):
    """Log P(y) of one row, ``logits`` (L, 2); a root reads the first log-odds."""
    return sum(
        label_log_prob(y[i], logits[i, y[parents[i]] if parents[i] >= 0 else 0])
        for i in range(len(y))
    )


def poisson_binomial(marginals):
    """Distribution of the number of successes of independent trials, (n, L) to (n, L + 1)."""
    n, L = marginals.shape
    out = np.zeros((n, L + 1))
    out[:, 0] = 1.0
    for label in range(L):
        p = marginals[:, label, None]
        out[:, 1:] = out[:, 1:] * (1 - p) + out[:, :-1] * p
        out[:, 0] *= 1 - p[:, 0]
    return out


def log_pair(z):
    """Return log P(y = 0) and log P(y = 1) for log-odds z."""
    tail = math.log1p(math.exp(-abs(z)))
    return (-z - tail, -tail) if z > 0 else (-tail, z - tail)


def probability(z):
    """P(y = 1) for log-odds z."""
    odds = math.exp(-abs(z))
    return (1 if z >= 0 else odds) / (1 + odds)


class PlainTree:
    """One row of a forest in plain Python: the passes every kernel is measured and tested against.

    Parameters
    ----------
    logits : (L, 2) array
    parents : sequence of int
    like : PlainTree, optional
        Another row of the same forest, whose structure is used again.
    """

    def __init__(self, logits, parents, like=None):
        self.z = logits.tolist()
        if like is not None:
            self.parents, self.children, self.order = like.parents, like.children, like.order
            return
        self.parents = [int(parent) for parent in parents]
        self.children = [[] for _ in self.parents]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                self.children[parent].append(i)
        self.order = [i for i, parent in enumerate(self.parents) if parent < 0]
        for i in self.order:
            self.order.extend(self.children[i])

    def _given(self, i, values):
        return 0 if self.parents[i] < 0 else values[self.parents[i]]

    def _logs(self):
        return [(log_pair(zero), log_pair(one)) for zero, one in self.z]

    def log_prob(self, y):
        return sum(log_pair(self.z[i][self._given(i, y)])[y[i]] for i in range(len(y)))

    def mode(self):
        """Max-sum."""
        log = self._logs()
        below = [[0.0, 0.0] for _ in self.parents]
        for i in reversed(self.order):
            for b in (0, 1):
                below[i][b] += sum(
                    max(log[c][b][0] + below[c][0], log[c][b][1] + below[c][1])
                    for c in self.children[i]
                )
        y = [0] * len(self.parents)
        for i in self.order:
            zero, one = log[i][self._given(i, y)]
            y[i] = int(one + below[i][1] > zero + below[i][0])
        return y

    def marginals(self):
        """From the roots to the leaves."""
        p = [0.0] * len(self.parents)
        for i in self.order:
            above = self._given(i, p)
            zero, one = self.z[i]
            p[i] = (1 - above) * probability(zero) + (above * probability(one) if above else 0.0)
        return p

    def pairwise(self):
        """By Cov(y_i, y_j) = (P(y_i | parent 1) - P(y_i | parent 0)) Cov(y_parent, y_j)."""
        p = self.marginals()
        covariance = [[0.0] * len(p) for _ in p]
        for t, i in enumerate(self.order):
            covariance[i][i] = p[i] * (1 - p[i])
            if self.parents[i] < 0:
                continue
            pull = probability(self.z[i][1]) - probability(self.z[i][0])
            for j in self.order[:t]:
                covariance[i][j] = covariance[j][i] = pull * covariance[self.parents[i]][j]
        return [[p[i] * p[j] + covariance[i][j] for j in range(len(p))] for i in range(len(p))]

    def sample(self, uniforms):
        """Ancestral, with the uniform number of every label."""
        y = [0] * len(self.parents)
        for i in self.order:
            y[i] = int(uniforms[i] < probability(self.z[i][self._given(i, y)]))
        return y

    def cardinality(self):
        """Polynomials from the leaves to the roots, one for each value of the parent."""
        done = [None] * len(self.parents)
        for i in reversed(self.order):
            below = [[1.0], [1.0]]
            for c in self.children[i]:
                below = [_product(below[b], done[c][b]) for b in (0, 1)]
            pairs = list(zip([*below[0], 0.0], [0.0, *below[1]], strict=True))
            done[i] = []
            for z in self.z[i]:
                p, q = probability(-z), probability(z)
                done[i].append([p * zero + q * one for zero, one in pairs])
        total = [1.0]
        for i in self.order:
            if self.parents[i] < 0:
                total = _product(total, done[i][0])
        return total

    def top(self, k):
        """Log-probabilities of the k best: a label keeps the k best of its subtree."""
        log = self._logs()
        done = [None] * len(self.parents)
        for i in reversed(self.order):
            below = [[(0.0, ())], [(0.0, ())]]
            for c in self.children[i]:
                below = [_best_pairs(below[b], done[c][b], k) for b in (0, 1)]
            done[i] = [
                sorted(
                    (
                        (score + log[i][a][b], ((i, b), rest))
                        for b in (0, 1)
                        for score, rest in below[b]
                    ),
                    key=lambda entry: -entry[0],
                )[:k]
                for a in (0, 1)
            ]
        total = [(0.0, ())]
        for i in self.order:
            if self.parents[i] < 0:
                total = _best_pairs(total, done[i][0], k)
        return [score for score, _ in total]


def _product(x, y):
    out = [0.0] * (len(x) + len(y) - 1)
    for s, p in enumerate(x):
        for t, q in enumerate(y):
            out[s + t] += p * q
    return out


def _best_pairs(x, y, k):
    """Return the k best sums of two decreasing lists; (s, t) has s t + s + t pairs before it."""
    pairs = (
        (p + q, (a, b))
        for s, (p, a) in enumerate(x)
        for t, (q, b) in enumerate(y)
        if (s + 1) * (t + 1) <= k
    )
    return sorted(pairs, key=lambda entry: -entry[0])[:k]
