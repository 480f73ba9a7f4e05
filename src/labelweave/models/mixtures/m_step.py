"""The M-step of EM: every conditional and every break of the gate is a logistic regression.

All of them share the features, so they are solved side by side, in one call of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave.logistic import LogisticProblems, PenaltyChoice, Solutions, solve_problems
from labelweave.models.mixtures.gate import stick_breaks
from labelweave.models.mixtures.mixture import Mixture


@dataclass(frozen=True)
class MStep:
    """Rows that mixtures are refitted to.

    Attributes
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    penalties : PenaltyChoice
        Of every component; the gate's weights have the features' penalty.
    tolerance : float
        When the solver stops.
    n_threads : int
    """

    X: Any
    labels: Labels
    penalties: PenaltyChoice
    tolerance: float
    n_threads: int

    def refit(
        self, mixture: Mixture, learnable: Mask, row_weights: Floats, shares: Floats
    ) -> Mixture:
        """Refit a mixture, starting from its parameters.

        Parameters
        ----------
        mixture : Mixture
        learnable : (K, L) bool array
            The conditionals to be refitted.
        row_weights : (n, K) array
            The weight of every row in the conditionals of each component.
        shares : (n, K) array
            The weight of every row that each component takes from the gate. Constant mixing weights
            are left as they are.
        """
        chosen = np.nonzero(learnable)
        taken, left = stick_breaks(shares if mixture.gate.C is not None else shares[:, :1])
        n_conditionals, n_breaks = len(chosen[0]), taken.shape[1]
        if n_conditionals + n_breaks == 0:
            return mixture
        problems = self._problems(mixture, chosen, row_weights, taken, left)
        solutions = solve_problems(problems, tol=self.tolerance, n_threads=self.n_threads)
        return _with_solutions(mixture, chosen, solutions, n_breaks)

    def _problems(
        self,
        mixture: Mixture,
        chosen: tuple[Any, ...],
        row_weights: Floats,
        taken: Floats,
        left: Floats,
    ) -> LogisticProblems:
        """Return the conditionals, and after them the breaks of the gate."""
        component, label = chosen
        (n_components, n_labels), breaks = mixture.intercept.shape, np.arange(taken.shape[1])
        shape = (len(component) + len(breaks), 1)
        parents = np.zeros((shape[0], n_labels), dtype=bool)
        parents[: len(component)] = mixture.parents[chosen]
        start = np.zeros((shape[0], self.X.shape[1] + 1 + n_labels))
        start[: len(component)] = np.column_stack(
            [mixture.weights[chosen], mixture.intercept[chosen], mixture.coupling[chosen]]
        )
        if len(breaks):
            gate = np.column_stack([mixture.gate.weights, mixture.gate.intercept])
            start[len(component) :, :-n_labels] = gate
        has_extras = bool(parents.any())
        return LogisticProblems(
            X=self.X,
            targets=self.labels,
            shares=taken,
            target_of=np.concatenate([label, n_labels + breaks]).astype(np.int32),
            C=np.full(shape, self.penalties.C),
            extra_penalty=np.full(shape, self.penalties.label_penalty),
            extras=sp.csr_array(self.labels, dtype=np.float64) if has_extras else None,
            extra_mask=parents if has_extras else None,
            weights=np.hstack([row_weights, left]),
            weight_of=np.concatenate([component, n_components + breaks]).astype(np.int32),
            start=start if has_extras else start[:, :-n_labels],
        )


def _with_solutions(
    mixture: Mixture, chosen: tuple[Any, ...], solutions: Solutions, n_breaks: int
) -> Mixture:
    n_conditionals = len(chosen[0])
    weights, intercept = mixture.weights.copy(), mixture.intercept.copy()
    coupling, gate = mixture.coupling.copy(), mixture.gate
    weights[chosen] = solutions.coef[:n_conditionals]
    intercept[chosen] = solutions.intercept[:n_conditionals]
    if solutions.extra_coef.shape[1]:
        coupling[chosen] = solutions.extra_coef[:n_conditionals]
    if n_breaks:
        gate = replace(
            gate,
            weights=solutions.coef[n_conditionals:],
            intercept=solutions.intercept[n_conditionals:],
        )
    return replace(mixture, weights=weights, intercept=intercept, coupling=coupling, gate=gate)
