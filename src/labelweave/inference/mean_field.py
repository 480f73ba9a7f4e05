"""Variational inference: the closest approximation of a chain by independent labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_whole_number
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, Mode
from labelweave.joint.capabilities import ChainRule, greedy_mode
from labelweave.joint.chain import Conditionals
from labelweave.joint.enumeration import row_blocks


@dataclass(frozen=True)
class MeanField(Inference):
    """The labels that are likelier than not under a mean-field approximation of a linear chain.

    Independent labels q are fitted to the chain by maximising E_q[log P(y)] + H(q), one label after
    the other. The expectation of softplus(z) has no closed form. The bound of Jaakkola and Jordan,
    z/2 + log(2 cosh(ξ/2)) at ξ² = E[z²], replaces it and needs the mean and the variance of z only.
    The objective is therefore a lower bound, and it never falls.

    The approximation is fast but ignores correlation: where the mode is one of several distant
    vectors, the rounded vector can lie between them. Forms that are not chains get the mode of
    `Auto`.

    Parameters
    ----------
    iterations : int, default=20
        Number of updates of every label.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[1.0, -1.0]]), np.array([[0.0, 0.0], [4.0, 0.0]]))
    >>> MeanField()(joint).labels
    array([[1, 1]], dtype=int8)
    """

    iterations: int = 20

    def __post_init__(self) -> None:
        check_whole_number(self.iterations, "iterations")

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the rounded vectors; ValueError for chains whose conditionals are not linear."""
        if not isinstance(joint, ChainRule):
            return joint.mode()
        if joint.conditionals.linear is None:
            raise ValueError(
                "MeanField needs linear conditionals to compute expected log-odds, and "
                f"{joint!r} has none: use inference=Beam() or MonteCarlo()"
            )
        known, labels = joint.known, joint.known.copy()
        for block in row_blocks(joint.n_rows, 4 * joint.n_labels):
            rows = np.arange(joint.n_rows, dtype=np.int64)[block]
            fit = _Fit(joint.conditionals.take(rows), known[block])
            for _ in range(self.iterations):
                fit.sweep()
            labels[block] = fit.q > 0.5
        log_prob = joint.log_prob(labels)
        return Mode(labels, log_prob, np.maximum(greedy_mode(joint).upper_bound, log_prob))


class _Fit:
    """The state of the approximation: q, and the mean and variance of every score under q."""

    def __init__(self, conditionals: Conditionals, known: Labels) -> None:
        assert conditionals.linear is not None
        scores, self.coupling = conditionals.linear
        self.order: Indices = conditionals.order
        self.known = known
        self.q: Floats = np.where(self.known >= 0, self.known, 0.0).astype(np.float64)
        self.mean = scores.copy()
        self.variance = np.zeros_like(self.mean)
        for label in self.order:  # forward, as if only the earlier labels mattered
            self._set(int(label), self.mean[:, label], np.zeros(len(self.mean)))

    def sweep(self) -> None:
        """Give every label its best log-odds while the others stay fixed."""
        for label in self.order:
            v = self.coupling[:, label]
            later = np.flatnonzero(v)
            v, mean = v[later], self.mean[:, later]
            # Jaakkola and Jordan's weight λ(ξ) = tanh(ξ/2) / 4ξ of E[z²]; it is 1/8 at zero.
            xi = np.sqrt(mean**2 + self.variance[:, later])
            weight = np.where(xi > 1e-6, np.tanh(xi / 2) / (4 * np.maximum(xi, 1e-6)), 0.125)
            without = mean - v * self.q[:, label, None]
            gain = (self.q[:, later] - 0.5) * v - weight * (v**2 + 2 * v * without)
            self._set(int(label), self.mean[:, label] + gain.sum(axis=1), self.q[:, label])

    def _set(self, label: int, log_odds: Floats, old: Floats) -> None:
        known = self.known[:, label]
        new = np.where(known >= 0, known, expit(log_odds))
        v = self.coupling[:, label]
        self.mean += np.outer(new - old, v)
        self.variance += np.outer(new * (1 - new) - old * (1 - old), v**2)
        np.maximum(self.variance, 0.0, out=self.variance)  # rounding
        self.q[:, label] = new
