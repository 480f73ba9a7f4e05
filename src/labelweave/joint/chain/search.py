"""Searches for the mode of a chain: greedy, best-first and beam."""

from __future__ import annotations

import numpy as np

from labelweave.joint.chain.estimates import EstimatedChain
from labelweave.joint.chain.steps import grid_log_odds
from labelweave.joint.independent import IndependentJoint
from labelweave.joint.mode import Mode, Ranked, SearchedMode, SearchLimits, certified

# Prefixes a search for the top k keeps, when k is not larger.
BEAM_WIDTH = 64


class SearchedChain(EstimatedChain):
    """A chain whose most probable vectors can be looked for.

    Its capabilities are `SearchesBestFirst`, `SearchesBeam` and `ListsVectors`. Searches work with
    log-joints; what they return is divided by the probability of the evidence.
    """

    def best_first(self, limits: SearchLimits) -> SearchedMode:
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

    def beam(self, width: int) -> Mode:
        """Return the best vector of a beam of ``width`` prefixes, and what bounds all others."""
        labels, bound = self._beam_search(width)
        normaliser = self._normaliser
        log_prob = self._log_joint(labels) - normaliser.value
        return certified(labels, log_prob, bound - normaliser.value, normaliser.exact)

    def greedy_mode(self) -> Mode:
        """Return the vector a plain classifier chain predicts, with an upper bound."""
        labels = self._known.copy()
        log_joint, bound = self._follow(labels)
        normaliser = self._normaliser
        return certified(
            labels, log_joint - normaliser.value, bound - normaliser.value, normaliser.exact
        )

    def greedy_path(self) -> IndependentJoint:
        """Return independent labels, each given the greedy values of the labels before it."""
        chosen = self.greedy_mode().labels[:, None, :]
        scores = np.empty((self.n_rows, self.n_labels))
        for position, label in enumerate(self.order):
            z = grid_log_odds(self.conditional_log_odds, int(label), chosen, self.order[:position])
            scores[:, label] = z[:, 0]
        # A label that is known is certain, whatever its conditional says.
        scores = np.where(self._known >= 0, np.where(self._known == 1, np.inf, -np.inf), scores)
        return IndependentJoint(
            scores,
            label_names=self.label_names,
            row_ids=self.row_ids,
            n_threads=self.n_threads,
        )

    def list_vectors(self, k: int) -> Ranked:
        """Return the ``k`` best vectors of a beam search, and what bounds all others."""
        found = self._beam_list(k, max(k, BEAM_WIDTH))
        normaliser = self._normaliser.value
        return Ranked(
            found.labels, found.log_prob - normaliser[:, None], found.upper_bound - normaliser
        )
