"""Expectation maximisation for mixtures: P(y|x) = Σ_k λ_k(x) P_k(y|x) (math.md, section 3.3).

A component is a set of linear conditionals, one per label, each given the features and the label's
parents in the component's structure: a tree, a chain or the empty graph. The gate, which is the
mixing weights λ_k(x), breaks a stick: component k is chosen with probability σ(g_k(x)) if none
before it was, and the last one takes the rest. So every conditional and every break of the gate is
a logistic regression over the same features, and an M-step solves all of them in one call of the
engine. Constant mixing weights are the case without features.

With responsibilities γ_k and Γ_k = Σ_n γ_k(n), EM climbs the penalised log-likelihood
``Σ_n w_n [log Σ_k λ_k(x_n) P_k(y_n|x_n) + ε Σ_k log P_k(y_n|x_n)] - Σ_k c_k penalty_k``, where
c_k = 1 if components are weighted by "share" and c_k = Γ_k / Σ_n w_n if they are "equal". For
"share" it never decreases: each M-step starts where the last one ended, and steps are lengthened
only while the objective rises. For "equal" the penalties move with the shares and it may decrease a
little; steps are those of the M-step. The term with ε, the `prior_weight`, is an empirical prior: a
label that a small component has hardly seen does not become impossible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Mask
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave._common.folds import content_uniforms
from labelweave._common.matrices import linear_scores
from labelweave._common.presets import Preset, Presets, published
from labelweave._common.progress import steps
from labelweave.logistic.conditionals import LinearConditionals
from labelweave.logistic.edges import EDGE_TOLERANCE
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve_problems
from labelweave.models.conditionals import TrainingRows

# Log-odds of a break beyond which a component is practically always or never chosen.
_SURE = 700.0


@dataclass(frozen=True, kw_only=True)
class MixtureSettings:
    """How a mixture is learned, and how the number of its components is chosen.

    Its values are parameters of an estimator, too: ``settings__gate`` in a grid search,
    ``mc(gate='constant')`` in the specification of a method. The preset "published" holds those of
    the preset of `TreeMixture`.

    Parameters
    ----------
    max_components : int, default=12
        Largest number of components that ``n_components="auto"`` tries.
    cv : int, default=3
        How often rows are held out. "auto" compares sizes on at most this many fifths of the rows;
        1 keeps the components learned without the held-out fifth and refits only their parameters
        to all rows. The edges of trees are weighed by as many folds, as in `TreeNetwork`.
    patience : int, default=2
        "auto" stops after this many consecutive sizes that are worse than the best, or one that is
        worse by more than three standard errors.
    gate : {"linear", "constant"}, default="linear"
        Whether the mixing weights depend on x, through linear log-odds, or are constant.
    weighting : {"share", "equal"}, default="share"
        Weight of a row in the M-step of a component: "share" is its responsibility γ, so that a
        component with few rows is shrunk more by its penalty; "equal" is γ divided by the sum of
        all γ of the component, so that all components are penalised alike.
    prior_weight : float, default=0.01
        Additional weight of every row in every component, which shrinks components with few rows
        towards a fit to all rows.

    Examples
    --------
    >>> from labelweave import MixtureSettings, TreeMixture
    >>> model = TreeMixture(settings=MixtureSettings(gate="constant"))
    >>> model.set_params(settings__patience=1).settings.patience
    1
    """

    max_components: int = 12
    cv: int = 3
    patience: int = 2
    gate: str = "linear"
    weighting: str = "share"
    prior_weight: float = 0.01

    presets: ClassVar[Presets] = published(
        cv=1, patience=1, gate="constant", weighting="equal", prior_weight=0.0
    )
    preset = Preset()

    def __post_init__(self) -> None:
        for name in ("max_components", "cv", "patience"):
            check_whole_number(getattr(self, name), name)
        check_choice(self.gate, "gate", ("linear", "constant"))
        check_choice(self.weighting, "weighting", ("share", "equal"))
        check_number(self.prior_weight, "prior_weight", minimum=0)


@dataclass(frozen=True)
class Gate:
    """Logistic regressions of the breaks of the stick."""

    weights: Floats  # (K - 1, D)
    intercept: Floats  # (K - 1,)
    C: float | None  # inverse penalty of the weights; None if the mixing weights are constant

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
            breaks = linear_scores(X, self.weights, self.intercept, n_threads)
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

    ``parents[k, j, i]`` says whether label i is a parent of label j in component k. The last axis
    of `coef` holds the weights of the D features, the intercept and the couplings of the L labels.
    """

    parents: Mask  # (K, L, L)
    coef: Floats  # (K, L, D + 1 + L)
    gate: Gate

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return len(self.parents)

    @property
    def weights(self) -> Floats:
        """The weights of the features, (K, L, D)."""
        return self.coef[:, :, : -1 - self.coef.shape[1]]

    @property
    def intercept(self) -> Floats:
        """The intercepts, (K, L)."""
        return self.coef[:, :, -1 - self.coef.shape[1]]

    @property
    def coupling(self) -> Floats:
        """The coefficient of label i in the log-odds of label j, ``coupling[k, j, i]``."""
        return self.coef[:, :, -self.coef.shape[1] :]

    def conditionals(self, penalties: PenaltyChoice) -> list[LinearConditionals]:
        """Return the conditionals of every component."""
        parts = self.weights, self.intercept, self.coupling
        weights, intercept, coupling = (np.ascontiguousarray(part) for part in parts)
        C, penalty = penalties.C, penalties.label_penalty
        return [
            LinearConditionals(weights[k], intercept[k], coupling[k], C, penalty)
            for k in range(self.n_components)
        ]

    def log_probs(self, rows: TrainingRows) -> Floats:
        """Return log P_k(y_n|x_n) of every row and component, (n, K)."""
        columns = [
            component.log_prob(rows.X, rows.labels, n_threads=rows.n_threads)
            for component in self.conditionals(PenaltyChoice(np.nan, np.nan))
        ]
        return np.stack(columns, axis=1)

    def log_joint(self, rows: TrainingRows) -> Floats:
        """Return log λ_k(x_n) P_k(y_n|x_n), (n, K)."""
        return self.log_probs(rows) + self.gate.log_weights(rows.X, rows.n_threads)

    def replaced(self, other: Mixture, sources: Sequence[int]) -> Mixture:
        """Return a mixture with the parameters of component ``sources[k]`` of `other` for each k.

        Where that is -1 they stay. So do all structures and the gate.
        """
        source = np.asarray(sources)
        changed = np.flatnonzero(source >= 0)
        coef = self.coef.copy()
        coef[changed] = other.coef[source[changed]]
        return replace(self, coef=coef)

    def towards(self, other: Mixture, length: float) -> Mixture:
        """Return the parameters at 1 - length times these plus length times those of `other`."""
        gate = replace(
            self.gate,
            weights=_between(self.gate.weights, other.gate.weights, length),
            intercept=_between(self.gate.intercept, other.gate.intercept, length),
        )
        return replace(self, coef=_between(self.coef, other.coef, length), gate=gate)


def _between(here: Floats, there: Floats, length: float) -> Floats:
    return here + length * (there - here)


class Tolerances(NamedTuple):
    """How accurate a mixture is."""

    m_step: float  # when the solver of an M-step stops
    objective: float  # EM stops at a smaller change of its objective, per unit of weight
    edges: float = EDGE_TOLERANCE  # accuracy of the weights by which structures are chosen
    n_iterations: int = 7  # the most, with lengthened steps


#: As accurate as the fit of a single model.
EXACT = Tolerances(m_step=1e-14, objective=1e-5)
#: Accurate enough to keep a mixture; M-steps that end earlier differ for dense and sparse features.
CLOSE = Tolerances(m_step=1e-10, objective=1e-3, edges=1e-2)
#: Accurate enough to compare mixtures.
ROUGH = Tolerances(m_step=1e-2, objective=1e-3, edges=1e-2, n_iterations=2)
# Iterations with plain steps (weighting="equal"); seven lengthened ones lead at least as far.
_N_PLAIN = 15
# Keeps samples of rows independent of all folds.
_SAMPLE_SEED = 2_000_003
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
    """Expectation maximisation on one set of rows.

    The penalties are those of every component; the gate's weights have the features' penalty.
    """

    rows: TrainingRows
    penalties: PenaltyChoice
    settings: MixtureSettings
    tolerances: Tolerances = EXACT

    @cached_property
    def uniforms(self) -> Floats:
        """Numbers between 0 and 1 by which the rows of a structure are sampled, (n,)."""
        return content_uniforms(self.rows.X, self.rows.seed + _SAMPLE_SEED)

    @property
    def equal(self) -> bool:
        """Whether every component has the total weight of the data."""
        return self.settings.weighting == "equal"

    @property
    def n_iterations(self) -> int:
        """Largest number of iterations."""
        return _N_PLAIN if self.equal else self.tolerances.n_iterations

    def run(self, mixture: Mixture, n_iterations: int) -> tuple[Mixture, list[float]]:
        """Iterate until the objective hardly changes; return its values, from first to last, too.

        A single component is optimal already.
        """
        total = float(self.rows.weight.sum())
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

    def start(self, parents: Mask, responsibilities: Floats) -> Mixture:
        """Fit components to initial responsibilities, (n, K)."""
        return self.refit(self.zero(parents, responsibilities), responsibilities)

    def zero(self, parents: Mask, responsibilities: Floats) -> Mixture:
        """Return the mixture whose weights and couplings are zero."""
        n_components, n_labels = parents.shape[:2]
        negative, positive = self._classes()
        coef = np.zeros((n_components, n_labels, self.rows.X.shape[1] + 1 + n_labels))
        gate = self._constant_gate(responsibilities * self.rows.weight[:, None])
        mixture = Mixture(parents, coef, gate)
        mixture.intercept[:] = np.log((positive + 1.0) / (negative + 1.0))
        return mixture

    def _expect(self, mixture: Mixture) -> _Expectation:
        log_probs = mixture.log_probs(self.rows)
        log_joint = log_probs + mixture.gate.log_weights(self.rows.X, self.rows.n_threads)
        evidence = logsumexp(log_joint, axis=1)
        responsibilities = np.exp(log_joint - evidence[:, None])
        prior = self._prior(mixture.n_components) * log_probs.sum(axis=1)
        objective = float(self.rows.weight @ (evidence + prior))
        objective -= self._penalty(mixture, responsibilities)
        return _Expectation(mixture, responsibilities, objective)

    def _penalty(self, mixture: Mixture, responsibilities: Floats) -> float:
        coupling = self.penalties.label_penalty * (mixture.coupling**2).sum(axis=(1, 2))
        features = (mixture.weights**2).sum(axis=(1, 2))
        cost = (features + coupling) / (2.0 * self.penalties.C)
        if self.equal:
            cost *= self.rows.weight @ responsibilities / self.rows.weight.sum()
        return float(cost.sum()) + mixture.gate.penalty

    def _lengthened(self, before: _Expectation, after: _Expectation) -> _Expectation:
        """Go on in the direction of an M-step, in steps twice as long, while the objective rises.

        The E-step of a trial costs a fraction of an M-step.
        """
        end, length = after.mixture, 2.0
        while length <= _LONGEST_STEP:
            further = self._expect(before.mixture.towards(end, length))
            if not further.objective > after.objective:
                break
            after, length = further, 2.0 * length
        return after

    def refit(self, mixture: Mixture, responsibilities: Floats) -> Mixture:
        """Refit all conditionals, and the gate, to the responsibilities, from their last values."""
        shares = responsibilities * self.rows.weight[:, None]
        row_weights = shares + self._prior(mixture.n_components) * self.rows.weight[:, None]
        chosen = np.nonzero(self._learnable(row_weights))
        if self.equal:
            row_weights *= self.rows.weight.sum() / np.maximum(
                row_weights.sum(axis=0), _LEAST_WEIGHT
            )
        if self.settings.gate == "constant":
            mixture = replace(mixture, gate=self._constant_gate(shares))
        taken, left = stick_breaks(shares if mixture.gate.C is not None else shares[:, :1])
        n_breaks = taken.shape[1]
        if len(chosen[0]) + n_breaks == 0:
            return mixture
        problems = self._problems(mixture, chosen, row_weights, taken, left)
        solutions = solve_problems(
            problems, tol=self.tolerances.m_step, n_threads=self.rows.n_threads
        )
        return _with_solutions(mixture, chosen, solutions, n_breaks)

    def _problems(
        self,
        mixture: Mixture,
        chosen: tuple[Any, ...],
        row_weights: Floats,
        taken: Floats,
        left: Floats,
    ) -> LogisticProblems:
        """Return the conditionals that are chosen, and after them the breaks of the gate."""
        component, label = chosen
        (n_components, n_labels), breaks = mixture.intercept.shape, np.arange(taken.shape[1])
        shape = (len(component) + len(breaks), 1)
        parents = np.zeros((shape[0], n_labels), dtype=bool)
        parents[: len(component)] = mixture.parents[chosen]
        has_extras = bool(parents.any())
        start = _start(mixture, chosen, len(breaks))
        return LogisticProblems(
            X=self.rows.X,
            targets=self.rows.labels,
            shares=taken,
            target_of=np.concatenate([label, n_labels + breaks]).astype(np.int32),
            C=np.full(shape, self.penalties.C),
            extra_penalty=np.full(shape, self.penalties.label_penalty),
            extras=sp.csr_array(self.rows.labels, dtype=np.float64) if has_extras else None,
            extra_mask=parents if has_extras else None,
            weights=np.hstack([row_weights, left]),
            weight_of=np.concatenate([component, n_components + breaks]).astype(np.int32),
            start=start if has_extras else start[:, :-n_labels],
        )

    def _constant_gate(self, shares: Floats) -> Gate:
        C = self.penalties.C if self.settings.gate == "linear" else None
        return Gate.constant(shares, self.rows.X.shape[1], C)

    def _learnable(self, shares: Floats) -> Mask:
        """Return which labels of which components have weight in both classes, (K, L)."""
        labels = self.rows.labels
        positive = shares.T @ labels
        negative = shares.T @ (1 - labels)
        negative_all, positive_all = self._classes()
        constant = (negative_all == 0) | (positive_all == 0)
        learnable: Mask = (np.minimum(negative, positive) > _LEAST_WEIGHT) & ~constant
        return learnable

    def _classes(self) -> tuple[Floats, Floats]:
        """Return the weight of the negative and of the positive rows of every label."""
        return self.rows.weight @ (1 - self.rows.labels), self.rows.weight @ self.rows.labels

    def _prior(self, n_components: int) -> float:
        """Return ε, or zero for a single component, which has all rows already."""
        return self.settings.prior_weight if n_components > 1 else 0.0


def _start(mixture: Mixture, chosen: tuple[Any, ...], n_breaks: int) -> Floats:
    """Return the last values of the conditionals that are chosen and of the breaks of the gate."""
    n_labels, gate = mixture.intercept.shape[1], mixture.gate
    breaks = [gate.weights, gate.intercept[:, None], np.zeros((len(gate.intercept), n_labels))]
    return np.vstack([mixture.coef[chosen], np.hstack(breaks)[:n_breaks]])


def _with_solutions(
    mixture: Mixture, chosen: tuple[Any, ...], solutions: Solutions, n_breaks: int
) -> Mixture:
    n_conditionals, gate, coef = len(chosen[0]), mixture.gate, mixture.coef.copy()
    # There are no couplings if no chosen label has a parent.
    found = np.hstack([solutions.coef, solutions.intercept[:, None], solutions.extra_coef])
    coef[(*chosen, slice(found.shape[1]))] = found[:n_conditionals]
    if n_breaks:
        gate = replace(
            gate,
            weights=solutions.coef[n_conditionals:],
            intercept=solutions.intercept[n_conditionals:],
        )
    return replace(mixture, coef=coef, gate=gate)
