"""What chains of any kind of conditionals have in common.

A chain writes P(y) = Π_j P(y_j | earlier labels) along an order of the labels. Evidence clamps
labels: the conditionals of clamped labels become weights, and only their *ancestors*, the labels
they depend on, have to be summed over to normalise. All other labels are still drawn one after
the other. So conditioning is exact while at most 16 unknown labels are ancestors of the evidence,
and uses likelihood-weighted draws beyond.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.seeds import derive_seed
from labelweave.joint import _checks as checks
from labelweave.joint._steps import beam_search, grid_log_odds
from labelweave.joint.base import JointDistribution
from labelweave.joint.enumeration import (
    MAX_ENUMERATED,
    MAX_SEARCHED,
    Enumeration,
    patterns,
    row_blocks,
)
from labelweave.joint.estimate import Estimate, log_mean, normalised_weights, resample
from labelweave.joint.independent import IndependentJoint
from labelweave.joint.mode import (
    Mode,
    Ranked,
    SearchedMode,
    SearchLimits,
    certified,
)

# Weighted draws that stand for the ancestors of the evidence when there are too many to enumerate.
POOL_SIZE = 1024
# Prefixes a search for the top k keeps, when k is not larger; and one where no proof is found.
BEAM_WIDTH = 64
# Nats: the gap after a tenth of the steps up to which the rest of them may still bring a proof.
NARROW_GAP = 3.0


class ChainForm(JointDistribution):
    """A chain with evidence, in terms of a few primitives that know the conditionals."""

    # Steps of search after which `mode` gives a proof up, or up to 20 labels looks at all vectors.
    _proof_budget: int

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        order: npt.ArrayLike | None,
        *,
        label_names: Sequence[str] | None,
        row_ids: npt.ArrayLike | None,
        n_threads: int,
    ) -> None:
        super().__init__(
            n_rows, n_labels, label_names=label_names, row_ids=row_ids, n_threads=n_threads
        )
        self.order = checks.check_order(order, n_labels)
        self._known = np.full((n_rows, n_labels), -1, dtype=np.int8)
        self._normaliser = Estimate.of_exact(np.zeros(n_rows))

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part._known = self._known[index]
        part._normaliser = self._normaliser[index]
        return part

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return self._known

    # ------------------------------------------------------------------ primitives

    @abstractmethod
    def _log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Log-odds of ``label`` in ``rows`` after the labels set in ``prefix``."""

    @abstractmethod
    def _prefix_log_odds(self, labels: Labels) -> Floats:
        """Log-odds of every label of (n, k, L) vectors given the vector's earlier labels."""

    @abstractmethod
    def _log_joint(self, labels: Labels) -> Floats:
        """Log-probability of whole vectors before conditioning."""

    @abstractmethod
    def _complete(self, labels: Labels, seed: int) -> Floats:
        """Draw every -1 of (n, k, L) ``labels`` in place; return the (n, k) log-weights."""

    @abstractmethod
    def _follow(self, labels: Labels) -> tuple[Floats, Floats]:
        """Choose every -1 of (n, L) ``labels`` greedily in place; return log-joint and a bound."""

    @abstractmethod
    def _log_joint_table(self, known: Labels, free: Indices, order: Indices) -> Floats:
        """Log-joint of the labels in ``order``: known where not ``free``, (n, 2^f)."""

    @abstractmethod
    def _search(self, limits: SearchLimits, floor: Floats, log_mass: Floats) -> SearchedMode:
        """Search the most probable vectors that agree with the evidence; all in log-joints.

        ``floor`` is that of the limits for each row, ``log_mass`` what all vectors have together.
        """

    @abstractmethod
    def _beam(self, width: int) -> tuple[Labels, Floats]:
        """Return the vectors a beam search finds, and a bound on the log-joint of all others."""

    @abstractmethod
    def _ancestors(self, labels: Indices) -> Indices:
        """Return the labels that ``labels`` depend on, and these themselves, in chain order."""

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, Y: Labels) -> Floats:
        possible = ((self._known < 0) | (self._known == Y)).all(axis=1)
        return np.where(possible, self._log_joint(Y) - self._normaliser.value, -np.inf)

    def _log_table(self, free: Indices) -> Floats:
        table = self._log_joint_table(self._known, free, self.order)
        return table - self._normaliser.value[:, None]

    def _normaliser_error(self) -> Floats:
        return self._normaliser.standard_error

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        merged = np.where(known >= 0, known, self._known)
        contradiction = ((self._known >= 0) & (merged != self._known)).any(axis=1)
        joint = self._log_evidence(merged)
        value = np.where(contradiction, -np.inf, joint.value - self._normaliser.value)
        error = np.hypot(joint.standard_error, self._normaliser.standard_error)
        return Estimate(value, error, joint.exact & self._normaliser.exact)

    def _log_evidence(self, known: Labels) -> Estimate:
        """Log-probability of clamped labels before conditioning."""
        value, error = np.zeros(self.n_rows), np.zeros(self.n_rows)
        exact = np.ones(self.n_rows, dtype=np.bool_)
        for rows, unknown in patterns(known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            exact[rows] = len(free) <= MAX_ENUMERATED
            for block in row_blocks(len(rows), self._ancestor_cells(len(free))):
                at = rows[block]
                part = self[at]
                if exact[at].all():
                    value[at] = logsumexp(part._log_joint_table(known[at], free, order), axis=1)
                else:
                    value[at], error[at] = log_mean(part._pool(known[at], seed=0)[1])
        return Estimate(value, error, exact)

    def _ancestor_cells(self, n_free: int) -> int:
        """Numbers a row needs to deal with the unknown ancestors of its evidence."""
        return 2**n_free if n_free <= MAX_ENUMERATED else POOL_SIZE * self.n_labels

    def _pool(self, known: Labels, seed: int) -> tuple[Labels, Floats]:
        """Likelihood-weighted draws given ``known``."""
        labels = np.repeat(known[:, None, :], POOL_SIZE, axis=1)
        return labels, self._complete(labels, seed)

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        posterior = self[:]
        posterior._known = np.where(known >= 0, known, self._known)
        value = np.where(np.isfinite(log_prob.value), log_prob.value, 0.0) + self._normaliser.value
        posterior._normaliser = Estimate(value, log_prob.standard_error, log_prob.exact)
        return posterior

    def greedy_path(self) -> IndependentJoint:
        """Return independent labels, each given the greedy values of the labels before it."""
        chosen = self._greedy_mode().labels[:, None, :]
        scores = np.empty((self.n_rows, self.n_labels))
        for position, label in enumerate(self.order):
            z = grid_log_odds(self._log_odds, int(label), chosen, self.order[:position])
            scores[:, label] = z[:, 0]
        # A label that is known is certain, whatever its conditional says.
        scores = np.where(self._known >= 0, np.where(self._known == 1, np.inf, -np.inf), scores)
        return IndependentJoint(
            scores,
            label_names=self.label_names,
            row_ids=self.row_ids,
            n_threads=self.n_threads,
        )

    # ------------------------------------------------------------------ draws

    def _sample(self, k: int, seed: int) -> Labels:
        labels = np.repeat(self._known[:, None, :], k, axis=1)
        for rows, unknown in patterns(self._known):
            order = self._ancestors(np.flatnonzero(~unknown))
            free = np.sort(order[unknown[order]])
            if len(free):
                labels[rows] = self._draw_ancestors(rows, free, order, k, seed)
        self._complete(labels, seed)
        return labels

    def _draw_ancestors(
        self, rows: Indices, free: Indices, order: Indices, k: int, seed: int
    ) -> Labels:
        """Posterior draws of the unknown ancestors of the evidence; -1 for the other labels."""
        draws = np.empty((len(rows), k, self.n_labels), dtype=np.int8)
        enumerable = len(free) <= MAX_ENUMERATED
        for block in row_blocks(len(rows), max(self._ancestor_cells(len(free)), k)):
            part = self[rows[block]]
            # The ancestral step never draws these labels, so the number of one of them is free.
            uniform = part._uniform(seed, k, int(free[0]))
            if enumerable:
                table = part._log_joint_table(part._known, free, order)
                table -= logsumexp(table, axis=1, keepdims=True)
                draws[block] = Enumeration(table, free, part._known).draw(uniform)
            else:
                pool, log_weight = part._pool(part._known, derive_seed(seed, 1))
                draws[block] = resample(pool, normalised_weights(log_weight), uniform)
        outside = np.setdiff1d(np.arange(self.n_labels), order)
        draws[:, :, outside] = -1
        return draws

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        log_weight = np.zeros((self.n_rows, k))
        if self._normaliser.exact.all():
            return self._sample(k, seed), log_weight
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        exact, rest = self[self._normaliser.exact], self[~self._normaliser.exact]
        labels[self._normaliser.exact] = exact._sample(k, seed)
        weighted = np.repeat(rest._known[:, None, :], k, axis=1)
        log_weight[~self._normaliser.exact] = rest._complete(weighted, seed)
        labels[~self._normaliser.exact] = weighted
        return labels, log_weight

    def _conditionals(self, labels: Labels) -> Floats:
        """Given the earlier labels, or where evidence depends on the label, given all others."""
        log_odds = self._prefix_log_odds(labels)
        for rows, unknown in patterns(self._known):
            ancestors = self._ancestors(np.flatnonzero(~unknown))
            for label in ancestors[unknown[ancestors]]:
                log_odds[rows, :, label] = self[rows]._full_log_odds(labels[rows], int(label))
        return np.asarray(expit(log_odds))

    def _full_log_odds(self, labels: Labels, label: int) -> Floats:
        """Log-odds (n, k) of one label given all other labels of the draws."""
        flipped, log_prob = labels.copy(), []
        for value in (0, 1):
            flipped[:, :, label] = value
            log_prob.append(self._log_prob_of_draws(flipped))
        # A draw that is impossible either way has no weight: any finite number will do.
        possible = np.isfinite(log_prob[0]) | np.isfinite(log_prob[1])
        return np.subtract(log_prob[1], log_prob[0], out=np.zeros(possible.shape), where=possible)

    # ------------------------------------------------------------------ search

    def _best_first(self, limits: SearchLimits) -> SearchedMode:
        """Return the best vectors a search within these limits finds."""
        normaliser = self._normaliser
        # An estimated normaliser bounds nothing; but no evidence has more than all the mass.
        log_mass = np.where(normaliser.exact, normaliser.value, 0.0)
        found = self._search(limits, limits.floor + normaliser.value, log_mass)
        return SearchedMode(
            found.labels,
            found.log_prob - normaliser.value,
            found.upper_bound - normaliser.value,
            found.nodes,
        )

    def _tightened(self, found: Mode, budget: int) -> Mode:
        """Return ``found`` or better, with bounds that ``budget`` more looks could lower."""
        return found

    def _mode(self) -> Mode:
        """Return the mode, proven unless that takes too long, and a bound where it is not."""
        few = (self._known < 0).sum(axis=1) <= MAX_SEARCHED
        found: Mode = self._best_first(SearchLimits(max(1, self._proof_budget // 10)))
        # A wide gap does not close within ten times the steps; a narrow one may.
        near = ~found.optimal & ~few & (found.gap <= NARROW_GAP)
        found = found.replaced(near, self[near]._best_first(SearchLimits(self._proof_budget)))
        left = ~found.optimal & ~few
        found = found.replaced(left, found[left].or_better(self[left]._beam_mode(BEAM_WIDTH)))
        left = ~found.optimal & ~few
        found = found.replaced(left, self[left]._tightened(found[left], self._proof_budget))
        settled = ~found.optimal & few
        return found.replaced(settled, self[settled]._exhaustive_mode(MAX_SEARCHED))

    def _beam_mode(self, width: int) -> Mode:
        labels, bound = self._beam(width)
        normaliser = self._normaliser
        log_prob = self._log_joint(labels) - normaliser.value
        return certified(labels, log_prob, bound - normaliser.value, normaliser.exact)

    def _greedy_mode(self) -> Mode:
        labels = self._known.copy()
        log_joint, bound = self._follow(labels)
        normaliser = self._normaliser
        return certified(
            labels, log_joint - normaliser.value, bound - normaliser.value, normaliser.exact
        )

    def _top_by_search(self, k: int) -> Ranked:
        found = beam_search(self._log_odds, self.order, self._known, k, max(k, BEAM_WIDTH))
        normaliser = self._normaliser.value
        return Ranked(
            found.labels, found.log_prob - normaliser[:, None], found.upper_bound - normaliser
        )
