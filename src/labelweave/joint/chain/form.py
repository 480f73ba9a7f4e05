"""The chain rule: P(y) = Π_j P(y_j | earlier labels), for conditionals of any kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave.joint import checks
from labelweave.joint.base import JointDistribution
from labelweave.joint.chain.population import Populations
from labelweave.joint.estimate import Estimate
from labelweave.joint.mode import Ranked, SearchedMode, SearchLimits


class ChainForm(JointDistribution):
    """The chain rule, in terms of a few primitives that know the conditionals.

    ``_known`` are the clamped labels, ``_normaliser`` the log-probability of these: log P(y) is the
    log-joint minus the normaliser.
    """

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
    def conditional_log_odds(self, label: int, rows: Indices, prefix: Labels) -> Floats:
        """Return the log-odds of ``label`` in ``rows`` given the labels set in ``prefix``."""

    @abstractmethod
    def _scaled(self, factor: float) -> Self:
        """Chain with all log-odds times ``factor``; its evidence is not yet normalised."""

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
    def _populate(
        self,
        known: Labels,
        order: Indices,
        sizes: tuple[int, int],
        seed: int,
        *,
        vectors: bool = True,
    ) -> Populations:
        """Walk populations that agree with ``known`` through the labels in ``order``.

        ``sizes`` are how many populations and of how many prefixes. All rows have the same labels
        known. Without ``vectors`` none are returned.
        """

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
    def _beam_search(self, width: int) -> tuple[Labels, Floats]:
        """Return the vectors a beam search finds, and a bound on the log-joint of all others."""

    @abstractmethod
    def _beam_list(self, k: int, width: int) -> Ranked:
        """Return the k best vectors of a beam search, all in log-joints."""

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

    def log_prob_error(self) -> Floats:
        """Return the standard error of the probability of the evidence, (n,)."""
        return self._normaliser.standard_error
