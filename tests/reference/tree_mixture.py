"""The published mixture of trees, plainly: scikit-learn's regressions and loops.

P(y|x) = Σ_k λ_k P(y|x, T_k). Parents are a list with -1 for roots; a tree's parameters are a list
of (weights, intercept, coupling), one per label. Splits are handed in: they are chance.
"""

import networkx as nx
import numpy as np
from sklearn.linear_model import LogisticRegression

N_ITERATIONS = 15


class PlainMixture:
    """Learns from rows X, Y under the penalty ½|w|²/C of features and κ times that of parents."""

    def __init__(self, X, Y, C, kappa):
        self.X, self.Y, self.C, self.kappa = X, Y, C, kappa

    def regression(self, target, parent, weight, rows=slice(None)):
        """Fit P(y_target | x, y_parent) to weighted rows."""
        X = self.X[rows]
        if parent >= 0:  # a column that is scaled up is penalised the less
            X = np.column_stack([X, self.Y[rows, parent] / np.sqrt(self.kappa)])
        model = LogisticRegression(C=self.C, solver="newton-cholesky", tol=1e-12, max_iter=500)
        model.fit(X, self.Y[rows, target], sample_weight=weight[rows])
        coef, D = model.coef_[0], self.X.shape[1]
        coupling = coef[D] / np.sqrt(self.kappa) if parent >= 0 else 0.0
        return coef[:D], model.intercept_[0], coupling

    def log_probs(self, parents, tree, X, Y):
        """Return log P(y_n | x_n, T), (n,), and its parts by label, (n, L)."""
        parts = []
        for label, (weights, intercept, coupling) in enumerate(tree):
            given = Y[:, parents[label]] if parents[label] >= 0 else 0.0
            z = X @ weights + intercept + coupling * given
            parts.append(np.where(Y[:, label] == 1, -np.logaddexp(0, -z), -np.logaddexp(0, z)))
        return np.sum(parts, axis=0), np.stack(parts, axis=1)

    def best_tree(self, weight, held_out):
        """Return the forest under which held-out rows have the largest weighted likelihood."""
        n_labels = self.Y.shape[1]
        graph = nx.DiGraph()
        X, Y, w = self.X[held_out], self.Y[held_out], weight[held_out]
        for target in range(n_labels):
            for parent in (p for p in range(-1, n_labels) if p != target):
                fitted = [(np.zeros(X.shape[1]), 0.0, 0.0)] * n_labels
                fitted[target] = self.regression(target, parent, weight, ~held_out)
                parents = [-1] * n_labels
                parents[target] = parent
                graph.add_edge(
                    parent, target, weight=w @ self.log_probs(parents, fitted, X, Y)[1][:, target]
                )
        forest = nx.maximum_spanning_arborescence(graph)
        return [next(iter(forest.predecessors(label))) for label in range(n_labels)]

    def m_step(self, trees, gamma):
        """Return λ_k = Γ_k/N and the regressions weighed by γ_k/Γ_k, scaled to sum to N."""
        total = gamma.sum(axis=0)
        n_rows = len(self.X)
        fitted = [
            [
                self.regression(label, parent, gamma[:, k] / total[k] * n_rows)
                for label, parent in enumerate(parents)
            ]
            for k, parents in enumerate(trees)
        ]
        return total / n_rows, fitted

    def log_joint(self, trees, model, X, Y):
        """Return log λ_k P(y_n | x_n, T_k), (n, K)."""
        shares, fitted = model
        columns = [
            np.log(share) + self.log_probs(parents, tree, X, Y)[0]
            for share, parents, tree in zip(shares, trees, fitted, strict=True)
        ]
        return np.stack(columns, axis=1)

    def objective(self, model, gamma, evidence):
        """Log-likelihood minus the penalties, each as much as its tree has of the rows."""
        costs = [
            sum(w @ w + self.kappa * v**2 for w, _, v in tree) / (2 * self.C) for tree in model[1]
        ]
        return evidence.sum() - gamma.mean(axis=0) @ costs

    def em(self, trees, model, n_iterations):
        """Iterate until nothing changes much."""
        last = None
        for iteration in range(n_iterations + 1):
            log_joint = self.log_joint(trees, model, self.X, self.Y)
            evidence = np.log(np.exp(log_joint).sum(axis=1))
            gamma = np.exp(log_joint - evidence[:, None])
            value = self.objective(model, gamma, evidence)
            settled = last is not None and abs(value - last) < 1e-5 * len(self.X)
            if iteration == n_iterations or settled:
                return model, gamma, evidence
            last, model = value, self.m_step(trees, gamma)
        raise AssertionError("unreachable")

    def sizes(self, held_out, max_components):
        """Yield mixtures of 1, 2, ... trees, each for the rows the ones before explain badly."""
        n_rows = len(self.X)
        trees, start = [self.best_tree(np.ones(n_rows), held_out)], np.ones((n_rows, 1))
        while True:
            model, gamma, evidence = self.em(trees, self.m_step(trees, start), N_ITERATIONS)
            yield list(trees), model
            if len(trees) == max_components:
                return
            omega = 1 - np.exp(evidence)
            omega /= omega.mean()
            trees.append(self.best_tree(omega, held_out))
            new = np.minimum(omega / len(trees), 0.9)[:, None]
            start = np.hstack([gamma * (1 - new), new])


def learn(X, Y, C, kappa, inside, held_out, max_components):
    """Grow on the rows `inside` until the others say it gets worse; relearn from all rows.

    `held_out` says which of the rows inside weigh the edges. Returns the trees, the shares and the
    regressions, and the held-out log-likelihood a row of every size that was tried.
    """
    part = PlainMixture(X[inside], Y[inside], C, kappa)
    best, validation = None, []
    for trees, model in part.sizes(held_out, max_components):
        log_joint = part.log_joint(trees, model, X[~inside], Y[~inside])
        validation.append(np.log(np.exp(log_joint).sum(axis=1)).mean())
        if best is not None and validation[-1] <= max(validation[:-1]):
            break
        best = trees, model
    whole = PlainMixture(X, Y, C, kappa)
    trees, model = best
    joint = np.exp(whole.log_joint(trees, model, X, Y))
    start = whole.m_step(trees, joint / joint.sum(axis=1, keepdims=True))
    (shares, fitted), _, _ = whole.em(trees, start, 2 * N_ITERATIONS)
    return trees, shares, fitted, validation
