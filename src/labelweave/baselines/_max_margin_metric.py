"""The metric on label vectors that separates the truth from all other vectors by a margin.

With codes z = Vᵀy predicted as Vᵀŷ(x), where ŷ(x) are predictions of the labels, distances between
codes are distances between label vectors in the metric Q = VVᵀ. Q minimises the convex

    ½ tr Q + w · mean_i max_y [Δ(y_i, y) + ‖y_i − ŷ_i‖²_Q − ‖y − ŷ_i‖²_Q],   Q ⪰ 0

where Δ is the Hamming distance: every wrong vector should be farther from the prediction than the
true one, and the farther the more labels are wrong. The maximum is over vectors of 0 and 1. (Over
the box [0, 1]^L it is easier to find, but points near ŷ_i, which are not label vectors, would then
violate every margin and dominate the metric.) Each maximum is a cutting plane below the risk; a
bundle of planes and a proximal term give the next Q (a bundle method, which does not oscillate as
plain cutting planes do). The planes do not depend on w, so they are kept along a path of weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import LinearConstraint, minimize

from labelweave._common.arrays import Floats
from labelweave.baselines._local_search import descend

# Stop when the predicted decrease is less than this share of the objective.
TOLERANCE = 5e-3
MAX_PLANES = 60
# Accuracy of the subproblem, as a share of the objective.
ROUNDING = 1e-6
# A step is accepted if it achieves at least this share of the predicted decrease.
SUFFICIENT = 0.1


@dataclass(frozen=True)
class MarginRisk:
    """Mean violation of the margin as a function of the metric.

    Attributes
    ----------
    labels : (n, L) float array of 0/1
    predicted : (n, L) array
        Predictions of the labels' regressions for the same rows.
    weight : (n,) array
        Weights of the rows, which sum to one.
    """

    labels: Floats
    predicted: Floats
    weight: Floats

    def violators(self, Q: Floats) -> Floats:
        """Return label vectors of locally maximal margin violation, (n, L)."""
        # Any vector gives a plane below the risk, not only the worst one. Started from the truth,
        # the search ends at a vector that violates the margin or at the truth itself.
        return descend(Q, self.predicted @ Q + (1 - 2 * self.labels) / 2, self.labels)

    def plane(self, worst: Floats) -> tuple[float, Floats]:
        """Return (a, G) with risk(Q) ≥ a + ⟨G, Q⟩ for all Q, tight if `worst` is exact."""
        constant = float(self.weight @ np.abs(self.labels - worst).sum(axis=1))
        true, wrong = self.labels - self.predicted, worst - self.predicted
        weighted = self.weight[:, None]
        return constant, (weighted * true).T @ true - (weighted * wrong).T @ wrong


def learn_metrics(risk: MarginRisk, margin_weights: Sequence[float]) -> Iterator[Floats]:
    """Yield the optimal metric for each margin weight in turn, (L, L) each."""
    bundle = _Bundle(np.eye(risk.labels.shape[1]))
    bundle.risk = bundle.add(bundle.centre, *risk.plane(risk.violators(bundle.centre)))
    for margin_weight in margin_weights:
        bundle.margin_weight = margin_weight
        # The first step moves the metric by about one unit.
        slope = bundle.slope(bundle.gradients[-1])
        bundle.stiffness = max(float(np.linalg.norm(slope)), 1e-12)
        _minimise(bundle, risk)
        yield bundle.centre


def _minimise(bundle: _Bundle, risk: MarginRisk) -> None:
    """Move the centre of the bundle to the minimum."""
    for _ in range(MAX_PLANES):
        value = bundle.objective(bundle.centre, bundle.risk)
        candidate, promised = bundle.step()
        if value - promised <= TOLERANCE * max(value, 1e-12):
            break
        reached = bundle.add(candidate, *risk.plane(risk.violators(candidate)))
        gain = value - bundle.objective(candidate, reached)
        if gain >= SUFFICIENT * (value - promised):
            bundle.centre, bundle.risk = candidate, reached
            bundle.stiffness /= 2
        else:
            bundle.stiffness *= 1.3


@dataclass
class _Bundle:
    """Cutting planes below the risk, and the proximal centre."""

    centre: Floats
    risk: float = 0.0
    margin_weight: float = 0.0
    stiffness: float = 1.0
    constants: list[float] = field(default_factory=list)
    gradients: list[Floats] = field(default_factory=list)
    shares: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, Q: Floats, constant: float, gradient: Floats) -> float:
        """Add the plane that touches the risk at Q; return the risk there."""
        self.constants.append(constant)
        self.gradients.append(gradient)
        return float(constant + (gradient * Q).sum())

    def objective(self, Q: Floats, risk: float) -> float:
        return float(np.trace(Q) / 2 + self.margin_weight * risk)

    def slope(self, gradient: Floats) -> Floats:
        return np.asarray(np.eye(len(gradient)) / 2 + self.margin_weight * gradient)

    def step(self) -> tuple[Floats, float]:
        """Return the minimiser of the proximal subproblem, and the planes' objective there."""
        gradients = np.array(self.gradients)
        constants = np.array(self.constants)

        def negative_dual(share: Floats) -> tuple[float, Floats]:
            Q = self._at(np.tensordot(share, gradients, 1))
            planes = self.margin_weight * (constants + np.tensordot(gradients, Q, 2))
            proximal = self.stiffness / 2 * ((Q - self.centre) ** 2).sum()
            return -float(np.trace(Q) / 2 + share @ planes + proximal), -planes

        n = len(constants)
        # Start from the last step's dual variables, with a small share for the new plane.
        begin = np.append(0.9 * self.shares, np.full(n - len(self.shares), 0.1))
        found = minimize(
            negative_dual,
            begin / begin.sum(),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * n,
            constraints=LinearConstraint(np.ones((1, n)), 1.0, 1.0),
            options={"maxiter": 200, "ftol": ROUNDING * self.objective(self.centre, self.risk)},
        )
        # Planes with zero dual variables are inactive; dropping them makes the next step cheaper.
        kept = np.flatnonzero(found.x > 1e-8)
        self.constants = [self.constants[k] for k in kept]
        self.gradients = [self.gradients[k] for k in kept]
        self.shares = found.x[kept]
        Q = self._at(np.tensordot(found.x, gradients, 1))
        highest = float((constants + np.tensordot(gradients, Q, 2)).max())
        return Q, self.objective(Q, highest)

    def _at(self, gradient: Floats) -> Floats:
        """Return the metric that minimises one plane and the proximal term."""
        return nearest_metric(self.centre - self.slope(gradient) / self.stiffness)


def nearest_metric(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)
