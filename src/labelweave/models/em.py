"""Expectation maximisation: parameters, gate, E-step, M-step.

The gate of a mixture: mixing weights λ_k(x) by logistic stick-breaking.

Component k is chosen with probability σ(g_k(x)) if none before it was; the last one takes the rest
of the stick. Each break is a logistic regression, so the gate is fitted by the same engine as
everything else. Constant mixing weights are the case without features.

The parameters of a mixture.

The M-step of EM: every conditional and every break of the gate is a logistic regression.

All of them share the features, so they are solved side by side, in one call of the engine.

Expectation maximisation for mixtures of structured components.

A component is a set of linear conditionals, one per label, each given the features and the label's
parents in the component's structure: a tree, a chain or the empty graph. The M-step (`m_step`)
starts from their last values.

The weight of a row in the M-step of component k:

- "share": its responsibility γ_k. A component with few rows is then shrunk more by its penalty, and
  the largest component takes over what it cannot hold.
- "equal": the published γ_k / Γ_k, with Γ_k = Σ_n γ_k(n), scaled so that every component has the
  total weight of the data: all are penalised alike, whatever their share.

Every row may also have a small weight ε in every component, whatever its responsibilities. This is
an empirical prior: a component with few rows is shrunk towards a fit to all rows, so that a label
it has hardly seen does not become impossible and large mixtures do not overfit.

The penalised log-likelihood ``Σ_n w_n [log Σ_k λ_k(x_n) P_k(y_n|x_n) + ε Σ_k log P_k(y_n|x_n)] -
Σ_k c_k penalty_k`` has c_k = 1 for "share" and c_k = Γ_k / Σ_n w_n for "equal". For "share" it
never decreases: prior and penalties are the same in every iteration, each M-step starts where the
last one ended, and steps are lengthened only while the objective rises. For "equal" the penalties
move with the shares and it may decrease a little; steps are those of the M-step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.progress import steps
from labelweave.logistic.conditionals import LinearConditionals
from labelweave.logistic.edges import EDGE_TOLERANCE
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve_problems

# Log-odds of a break beyond which a component is practically always or never chosen.
_SURE = 700.0


@dataclass(frozen=True)
class Gate:
    """Logistic regressions of the breaks of the stick.

    Attributes
    ----------
    weights : (K - 1, D) array
    intercept : (K - 1,) array
    C : float or None
        Inverse penalty of the weights; None if the mixing weights are constant.
    """

    weights: Floats
    intercept: Floats
    C: float | None

    @classmethod
    def constant(cls, shares: Floats, n_features: int, C: float | None) -> Gate:
        """Return constant mixing weights, in proportion to the sums of (n, K) shares."""
        taken = shares[:, :-1].sum(axis=0)
        left = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1][:, 1:].sum(axis=0)
        with np.errstate(divide="ignore"):
            odds = np.log(taken) - np.log(left)
        odds = np.clip(np.nan_to_num(odds, nan=0.0), -_SURE, _SURE)
        return cls(np.zeros((len(odds), n_features)), odds, C)

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.intercept) + 1

    @property
    def penalty(self) -> float:
        """The penalty of the weights."""
        return 0.0 if self.C is None else float((self.weights**2).sum()) / (2.0 * self.C)

    def log_weights(self, X: Any, n_threads: int = 1) -> Floats:
        """Return log λ_k(x) of every row and component, (n, K)."""
        n_rows, n_breaks = X.shape[0], len(self.intercept)
        if n_breaks == 0:
            return np.zeros((n_rows, 1))
        if self.C is None:
            breaks = np.tile(self.intercept, (n_rows, 1))
        else:
            empty = np.zeros((n_breaks, n_breaks))
            lines = LinearConditionals(self.weights, self.intercept, empty, self.C, 1.0)
            breaks = lines.scores(X, n_threads=n_threads)
        taken = np.hstack([-np.logaddexp(0.0, -breaks), np.zeros((n_rows, 1))])
        passed = np.cumsum(-np.logaddexp(0.0, breaks), axis=1)
        taken[:, 1:] += passed
        return taken


def stick_breaks(shares: Floats) -> tuple[Floats, Floats]:
    """Return the part of the rest that each break takes, and the rest, (n, K - 1) each."""
    left = np.cumsum(shares[:, ::-1], axis=1)[:, :0:-1]
    taken = np.divide(shares[:, :-1], left, out=np.zeros_like(left), where=left > 0)
    return taken, left


@dataclass(frozen=True)
class Mixture:
    """Parameters of K components and their mixing weights.

    Attributes
    ----------
    parents : (K, L, L) bool array
        ``parents[k, j, i]``: label i is a parent of label j in component k.
    weights : (K, L, D) array
    intercept : (K, L) array
    coupling : (K, L, L) array
    gate : Gate
    """

    parents: Mask
    weights: Floats
    intercept: Floats
    coupling: Floats
    gate: Gate

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.parents)

    def conditionals(self, penalties: PenaltyChoice) -> list[LinearConditionals]:
        """Return the conditionals of every component."""
        return [
            LinearConditionals(
                self.weights[k],
                self.intercept[k],
                self.coupling[k],
                penalties.C,
                penalties.label_penalty,
            )
            for k in range(self.n_components)
        ]

    def replaced(self, other: Mixture, sources: Sequence[int]) -> Mixture:
        """Return a mixture with the parameters of component ``sources[k]`` of `other` for each k.

        Where that is -1 they stay. So do all structures and the gate.
        """
        source = np.asarray(sources)
        changed = np.flatnonzero(source >= 0)

        def put(here: Floats, there: Floats) -> Floats:
            merged = here.copy()
            merged[changed] = there[source[changed]]
            return merged

        return replace(
            self,
            weights=put(self.weights, other.weights),
            intercept=put(self.intercept, other.intercept),
            coupling=put(self.coupling, other.coupling),
        )

    def towards(self, other: Mixture, length: float) -> Mixture:
        """Return the parameters at 1 - length times these plus length times those of `other`."""

        def between(here: Floats, there: Floats) -> Floats:
            return here + length * (there - here)

        gate = replace(
            self.gate,
            weights=between(self.gate.weights, other.gate.weights),
            intercept=between(self.gate.intercept, other.gate.intercept),
        )
        return replace(
            self,
            weights=between(self.weights, other.weights),
            intercept=between(self.intercept, other.intercept),
            coupling=between(self.coupling, other.coupling),
            gate=gate,
        )


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
        """Refit a mixture, starting from its parameters."""
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


class Tolerances(NamedTuple):
    """How accurate a mixture is.

    Attributes
    ----------
    m_step : float
        When the solver of an M-step stops.
    objective : float
        When EM stops: the least change of its objective, per unit of weight.
    edges : float
        Accuracy of the weights by which structures are chosen before EM; see `edge_weights`.
    """

    m_step: float
    objective: float
    edges: float = EDGE_TOLERANCE


#: As accurate as the fit of a single model.
EXACT = Tolerances(m_step=1e-14, objective=1e-5)
#: Accurate enough to keep a mixture; M-steps that end earlier differ for dense and sparse features.
CLOSE = Tolerances(m_step=1e-10, objective=1e-3, edges=1e-2)
#: Accurate enough to compare mixtures.
ROUGH = Tolerances(m_step=1e-2, objective=1e-3, edges=1e-2)
# Longest step of EM, as a multiple of the M-step's.
_LONGEST_STEP = 64.0
# A component, or a class of a label within a component, of less than this weight keeps its
# parameters: nothing more can be learned about it.
_LEAST_WEIGHT = 1e-8


class _Expectation(NamedTuple):
    """A mixture after an E-step: its responsibilities, (n, K), and penalised log-likelihood."""

    mixture: Mixture
    responsibilities: Floats
    objective: float


@dataclass(frozen=True)
class EM:
    """The data that mixtures are fitted to, and the settings of EM.

    Attributes
    ----------
    X : (n, D) array or CSR
    labels : (n, L) int8 array
    weight : (n,) array
    penalties : PenaltyChoice
        Of every component.
    linear_gate : bool
        Whether the mixing weights depend on x; the penalty of their weights is the features'.
    n_threads : int
    equal : bool
        Whether every component has the total weight of the data, or its share.
    prior_weight : float
        Additional weight ε of every row in every component.
    tolerances : Tolerances
    """

    X: Any
    labels: Labels
    weight: Floats
    penalties: PenaltyChoice
    linear_gate: bool
    n_threads: int
    equal: bool
    prior_weight: float
    tolerances: Tolerances = EXACT

    def log_probs(self, mixture: Mixture, X: Any = None, labels: Any = None) -> Floats:
        """Return log P_k(y_n|x_n) of every row and component, (n, K)."""
        features = self.X if X is None else X
        truth = self.labels if labels is None else labels
        columns = [
            component.log_prob(features, truth, n_threads=self.n_threads)
            for component in mixture.conditionals(self.penalties)
        ]
        return np.stack(columns, axis=1)

    def log_joint(self, mixture: Mixture, X: Any = None, labels: Any = None) -> Floats:
        """Return log λ_k(x_n) P_k(y_n|x_n), (n, K)."""
        features = self.X if X is None else X
        return self.log_probs(mixture, X, labels) + mixture.gate.log_weights(
            features, self.n_threads
        )

    def penalty(self, mixture: Mixture, responsibilities: Floats) -> float:
        """Return the penalty of the parameters."""
        coupling = self.penalties.label_penalty * (mixture.coupling**2).sum(axis=(1, 2))
        features = (mixture.weights**2).sum(axis=(1, 2))
        cost = (features + coupling) / (2.0 * self.penalties.C)
        if self.equal:
            cost *= self.weight @ responsibilities / self.weight.sum()
        return float(cost.sum()) + mixture.gate.penalty

    def run(self, mixture: Mixture, n_iterations: int) -> tuple[Mixture, list[float]]:
        """Iterate until the objective hardly changes; a single component is optimal already.

        Returns the mixture and the penalised log-likelihood before each iteration and at the end.
        """
        total = float(self.weight.sum())
        now = self._expect(mixture)
        objectives = [now.objective]
        iterations = list(range(n_iterations if mixture.n_components > 1 else 0))
        for _ in steps(f"EM with {mixture.n_components} components, at most", iterations):
            refitted = self._expect(self.refit(now.mixture, now.responsibilities))
            now = refitted if self.equal else self._lengthened(now, refitted)
            objectives.append(now.objective)
            if abs(objectives[-1] - objectives[-2]) < self.tolerances.objective * total:
                break
        return now.mixture, objectives

    def _expect(self, mixture: Mixture) -> _Expectation:
        """Do the E-step."""
        log_probs = self.log_probs(mixture)
        log_joint = log_probs + mixture.gate.log_weights(self.X, self.n_threads)
        evidence = logsumexp(log_joint, axis=1)
        responsibilities = np.exp(log_joint - evidence[:, None])
        prior = self._prior(mixture.n_components) * log_probs.sum(axis=1)
        objective = float(self.weight @ (evidence + prior))
        return _Expectation(
            mixture, responsibilities, objective - self.penalty(mixture, responsibilities)
        )

    def _lengthened(self, before: _Expectation, after: _Expectation) -> _Expectation:
        """Go on in the direction of an M-step, in steps twice as long, while the objective rises.

        EM takes many short steps in the same direction, and an E-step, which is all that a trial
        takes, costs a fraction of an M-step.
        """
        end, length = after.mixture, 2.0
        while length <= _LONGEST_STEP:
            further = self._expect(before.mixture.towards(end, length))
            if not further.objective > after.objective:
                break
            after, length = further, 2.0 * length
        return after

    def start(self, parents: Mask, responsibilities: Floats) -> Mixture:
        """Fit components to initial responsibilities, (n, K)."""
        return self.refit(self.zero(parents, responsibilities), responsibilities)

    def zero(self, parents: Mask, responsibilities: Floats) -> Mixture:
        """Return the mixture whose weights and couplings are zero."""
        n_components, n_labels = parents.shape[:2]
        negative, positive = self._classes()
        return Mixture(
            parents=parents,
            weights=np.zeros((n_components, n_labels, self.X.shape[1])),
            intercept=np.tile(np.log((positive + 1.0) / (negative + 1.0)), (n_components, 1)),
            coupling=np.zeros((n_components, n_labels, n_labels)),
            gate=self._constant_gate(responsibilities * self.weight[:, None]),
        )

    def refit(self, mixture: Mixture, responsibilities: Floats) -> Mixture:
        """Do the M-step: refit all conditionals, and the gate, to the responsibilities."""
        shares = responsibilities * self.weight[:, None]
        row_weights = shares + self._prior(mixture.n_components) * self.weight[:, None]
        learnable = self._learnable(row_weights)
        if self.equal:
            row_weights *= self.weight.sum() / np.maximum(row_weights.sum(axis=0), _LEAST_WEIGHT)
        if not self.linear_gate:
            mixture = replace(mixture, gate=self._constant_gate(shares))
        m_step = MStep(self.X, self.labels, self.penalties, self.tolerances.m_step, self.n_threads)
        return m_step.refit(mixture, learnable, row_weights, shares)

    def _constant_gate(self, shares: Floats) -> Gate:
        C = self.penalties.C if self.linear_gate else None
        return Gate.constant(shares, self.X.shape[1], C)

    def _learnable(self, shares: Floats) -> Mask:
        """Return which labels of which components have weight in both classes, (K, L)."""
        positive = shares.T @ self.labels
        negative = shares.T @ (1 - self.labels)
        negative_all, positive_all = self._classes()
        constant = (negative_all == 0) | (positive_all == 0)
        learnable: Mask = (np.minimum(negative, positive) > _LEAST_WEIGHT) & ~constant
        return learnable

    def _classes(self) -> tuple[Floats, Floats]:
        """Return the weight of the negative and of the positive rows of every label."""
        return self.weight @ (1 - self.labels), self.weight @ self.labels

    def _prior(self, n_components: int) -> float:
        """Return ε, or zero for a single component, which has all rows already."""
        return self.prior_weight if n_components > 1 else 0.0
