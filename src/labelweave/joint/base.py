"""The interface of every joint distribution over label vectors."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_choice, check_labels, check_whole_number
from labelweave._common.seeds import RandomState, resolve_seed
from labelweave._core import native
from labelweave.joint import _answers
from labelweave.joint import _checks as checks
from labelweave.joint._checks import Evidence
from labelweave.joint.enumeration import (
    MAX_ENUMERATED,
    MAX_SEARCHED,
    Enumeration,
    patterns,
    row_blocks,
)
from labelweave.joint.estimate import (
    QUANTITIES,
    Estimate,
    Quantity,
    expectation_from_draws,
    normalised_weights,
)
from labelweave.joint.mode import Mode, Ranked, certified

if TYPE_CHECKING:
    from labelweave.joint.tree import TreeJoint


class JointDistribution(ABC):
    """A batch of distributions over label vectors y in {0, 1}^L, one for each row.

    Every question is asked of the whole batch and answered for each row on its own.

    **Exact or estimated.** `marginals`, `pairwise`, `cardinality`, `cardinality_by_label` and
    `entropy` are exact wherever the form allows: by a closed formula, or by enumeration while at
    most 16 labels are unknown. Beyond that they are estimated from 1000 draws with seed 0.
    `estimate` gives the same values together with their standard errors, says which rows are exact,
    and takes the number of draws.

    **Random numbers** belong to (seed, row id, draw, label). Row ids are 0 … n−1 unless given, and
    ``joint[rows]`` keeps them: a sample does not depend on how rows are batched or on threads.

    Parameters
    ----------
    n_rows, n_labels : int
    label_names : sequence of str, optional
        Names by which `condition` may speak of the labels.
    row_ids : (n,) array of int, optional
        What random numbers are keyed by.
    n_threads : int, default 1
        Threads the compiled kernels may use; 0 or less means all cores. No result depends on it.
    """

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_rows = n_rows
        self.n_labels = n_labels
        self.label_names = checks.check_label_names(label_names, n_labels)
        self.row_ids = checks.check_row_ids(row_ids, n_rows)
        self.n_threads = int(n_threads)

    # ------------------------------------------------------------------ the batch

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_rows={self.n_rows}, n_labels={self.n_labels})"

    def __getitem__(self, rows: int | slice | npt.ArrayLike) -> Self:
        """Return the chosen rows (index, slice, index array or mask), with their row ids."""
        index = np.arange(self.n_rows, dtype=np.int64)[rows]  # type: ignore[index]
        return self._take(np.atleast_1d(index))

    def _take(self, index: Indices) -> Self:
        """Rows ``index``; every form adds the arrays of its own."""
        part = copy.copy(self)
        part.n_rows = len(index)
        part.row_ids = self.row_ids[index]
        return part

    def _renumbered(self, row_ids: Indices) -> Self:
        """Return the same distributions with other row ids."""
        joint = copy.copy(self)
        joint.row_ids = row_ids
        return joint

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return np.full((self.n_rows, self.n_labels), -1, dtype=np.int8)

    # ------------------------------------------------------------------ what a form must provide

    @abstractmethod
    def _log_prob(self, Y: Labels) -> Floats:
        """Log-probability of the checked (n, L) label vectors."""

    @abstractmethod
    def _sample(self, k: int, seed: int) -> Labels:
        """(n, k, L) draws."""

    @abstractmethod
    def _evidence_log_prob(self, known: Labels) -> Estimate:
        """Log-probability that the labels take the values in ``known`` (-1: any)."""

    @abstractmethod
    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        """Return the posterior given ``known``, whose log-probability is ``log_prob``.

        Rows whose evidence is impossible may become anything valid: the caller refuses or ignores
        them.
        """

    @abstractmethod
    def _log_table(self, free: Indices) -> Floats:
        """(n, 2^f) log-probabilities of the values of ``free``; all other labels are known."""

    # ------------------------------------------------------------------ probabilities

    def log_prob(self, Y: npt.ArrayLike) -> Floats:
        """Log-probability of one label vector for each row, (n,)."""
        return self._log_prob(check_labels(Y, self.n_rows, self.n_labels))

    def marginals(self) -> Floats:
        """P(y_j = 1), (n, L).

        Exact where the form allows. Chains with more than 16 unknown labels are sampled: the mean
        of each label's conditional probability over the draws, which is 0 or 1 only where the
        label is certain. `estimate` gives standard errors and takes more samples.
        """
        return self.estimate("marginals").value

    def pairwise(self) -> Floats:
        """P(y_i = 1, y_j = 1), (n, L, L); the diagonal holds the marginals, as far as exact."""
        return self.estimate("pairwise").value

    def cardinality(self) -> Floats:
        """Distribution of the number of positive labels, (n, L + 1)."""
        return self.estimate("cardinality").value

    def cardinality_by_label(self) -> Floats:
        """P(y_j = 1, |y| = s): each label together with the number of all, (n, L, L + 1).

        Over s it sums to the marginals, over j to s P(|y| = s). It is what the vector of the best
        expected F-measure is found from.
        """
        return self.estimate("cardinality_by_label").value

    def entropy(self) -> Floats:
        """Entropy in nats, (n,)."""
        return self.estimate("entropy").value

    def estimate(
        self,
        quantity: Quantity,
        *,
        samples: int | None = None,
        random_state: RandomState = 0,
    ) -> Estimate:
        """Return a quantity with its standard error.

        Parameters
        ----------
        quantity : {"marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy"}
        samples : int, optional
            Draws for each row. By default rows that can be exact are exact, the others use 1000.
        random_state : int, Generator, RandomState or None, default 0
        """
        check_choice(quantity, "quantity", QUANTITIES)
        if samples is not None:
            samples = check_whole_number(samples, "samples", 2)
        return _answers.estimate(self, quantity, samples, resolve_seed(random_state))

    def _is_exact(self, quantity: Quantity) -> Mask:
        """Rows for which `_exact` may be asked."""
        return np.asarray((self.known < 0).sum(axis=1) <= MAX_ENUMERATED)

    def _exact(self, quantity: Quantity) -> Floats:
        """Return the exact quantity of every row, by enumeration unless a form knows better."""
        return _answers.by_enumeration(self, quantity)

    def _enumerate(self) -> Iterator[tuple[Indices, Enumeration]]:
        """Tables of all rows: blocks of rows that share the set of unknown labels."""
        for rows, unknown in patterns(self.known):
            free = np.flatnonzero(unknown)
            for block in row_blocks(len(rows), 2 ** len(free) * (1 + self.n_labels // 8)):
                part = self[rows[block]]
                yield rows[block], Enumeration(part._log_table(free), free, part.known)

    # ------------------------------------------------------------------ draws

    def sample(self, k: int, random_state: RandomState = None) -> Labels:
        """``k`` independent label vectors for each row, (n, k, L) int8.

        The same `random_state` gives the same draws, and None counts as 0; a Generator or
        RandomState gives others at every call.
        """
        k = check_whole_number(k, "k", 0)
        seed = resolve_seed(random_state)
        blocks = row_blocks(self.n_rows, k * self.n_labels)
        if len(blocks) == 1:
            return self._sample(k, seed)
        out = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for block in blocks:
            out[block] = self[block]._sample(k, seed)
        return out

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        """Draws and their (n, k) log-weights, for forms that cannot draw from themselves."""
        return self._sample(k, seed), np.zeros((self.n_rows, k))

    def _marginals_from_draws(self, k: int, seed: int) -> tuple[Floats, Floats]:
        """Estimate P(y_j = 1) from k draws a row; return it with its standard error, (n, L) each.

        Rao-Blackwellised: what is averaged is not the drawn label but its probability given other
        labels of the draw. That has the same mean and less variance, and no label's probability is
        0 because no draw happened to have it.
        """
        labels, log_weight = self._weighted_sample(k, seed)
        probability = self._conditionals(labels)
        value, error = expectation_from_draws(probability, normalised_weights(log_weight))
        return np.where(self.known >= 0, self.known, value), error

    def _conditionals(self, labels: Labels) -> Floats:
        """Probabilities of the labels of (n, k, L) draws, each given some of the draw's others.

        Of a form whose conditionals are not known, the draws themselves: given all of its labels.
        """
        return labels.astype(np.float64)

    def _uniform(self, seed: int, k: int, label: int) -> Floats:
        """Return the (n, k) uniform numbers that belong to one label."""
        return self._uniforms(seed, k, label + 1)[:, :, label]

    def _uniforms(self, seed: int, k: int, n_labels: int) -> Floats:
        """Return the (n, k, n_labels) uniform numbers of the rows of this batch."""
        out = np.empty((k, self.n_rows, n_labels))
        for draw in range(k):
            native.fill_uniform(seed, self.row_ids, draw, out[draw], self.n_threads)
        return out.transpose(1, 0, 2)

    def _log_prob_of_draws(self, labels: Labels) -> Floats:
        """Log-probabilities (n, k) of (n, k, L) label vectors."""
        n, k, n_labels = labels.shape
        repeated = self[np.repeat(np.arange(n), k)]
        return repeated._log_prob(labels.reshape(n * k, n_labels)).reshape(n, k)

    def _normaliser_error(self) -> Floats:
        """Return standard error of `log_prob` itself; only conditioned chains may have one."""
        return np.zeros(self.n_rows)

    # ------------------------------------------------------------------ search

    def mode(self, inference: Callable[[JointDistribution], Mode] | None = None) -> Mode:
        """Return the most probable label vector of each row.

        Parameters
        ----------
        inference : callable, optional
            A strategy of `labelweave.inference`. By default the form's own exact algorithm.

        Returns
        -------
        Mode
            ``optimal`` says which rows are proven. Where a proof would take too long, the row has
            the best vector found, and ``gap`` says how much more probable the mode may be.
        """
        return self._mode() if inference is None else inference(self)

    def _mode(self) -> Mode:
        return self._exhaustive_mode(MAX_SEARCHED)

    def _exhaustive_mode(self, max_labels: int) -> Mode:
        """Return the mode of at most ``max_labels`` unknown labels, by whatever proves it."""
        return self._enumerated_mode(max_labels)

    def _enumerated_mode(self, max_labels: int) -> Mode:
        """Return the mode by looking at all vectors of at most ``max_labels`` unknown labels."""
        self._require_few_labels(max_labels)
        labels = np.empty((self.n_rows, self.n_labels), dtype=np.int8)
        log_prob = np.empty(self.n_rows)
        for rows, enumeration in self._enumerate():
            labels[rows], log_prob[rows] = enumeration.best()
        return Mode(labels, log_prob, log_prob.copy())

    def _require_few_labels(self, max_labels: int) -> None:
        unknown = int((self.known < 0).sum(axis=1).max(initial=0))
        if unknown > max_labels:
            raise ValueError(
                f"exact search for the mode would look at 2^{unknown} label vectors and is limited "
                f"to {max_labels} unknown labels: use inference=Greedy() or Auto(), or a larger "
                "limit with inference=Exhaustive(max_labels=...)"
            )

    def _greedy_mode(self) -> Mode:
        """Label by label, the likelier value given the labels already chosen."""
        chosen = self.known.copy()
        for label in range(self.n_labels):
            open_rows = chosen[:, label] < 0
            score = []
            for value in (0, 1):
                chosen[open_rows, label] = value
                score.append(self._evidence_log_prob(chosen).value)
            chosen[open_rows, label] = (score[1] > score[0])[open_rows]
        exact = np.ones(self.n_rows, dtype=np.bool_)
        return certified(chosen, self._log_prob(chosen), np.zeros(self.n_rows), exact)

    def greedy_path(self) -> JointDistribution:
        """Return what a plain classifier chain takes P(y) to be.

        It never looks beyond the values it has chosen: each label has its probability given the
        greedy values of the labels before it, and the product of these is not P(y). Papers report
        the CLL-loss of classifier chains by it. A mixture mixes the paths of its components; a form
        without a path, such as a tree, is its own.
        """
        return self

    def top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row (at most 2^L), decreasing.

        Exact by a closed formula or, while at most 16 labels are unknown, by enumeration; beyond
        that the best vectors a search finds, with a bound on those it may have missed.
        """
        k = min(check_whole_number(k, "k"), 2**self.n_labels)
        return _answers.ranked(self, k)

    def _tree_parts(self) -> list[tuple[Floats, TreeJoint]] | None:
        """Return the (n,) log-weights and trees this is a mixture of; None if it is not one."""
        return None

    def _top_by_search(self, k: int) -> Ranked:
        """Return good vectors and a bound, for rows with too many unknown labels for a table."""
        raise NotImplementedError(f"{type(self).__name__} has no search")

    # ------------------------------------------------------------------ Bayes' rule

    def evidence_log_prob(self, evidence: Evidence) -> Estimate:
        """Log-probability of the evidence in each row, with its standard error.

        Parameters
        ----------
        evidence : mapping
            As in `condition`.
        """
        return self._evidence_log_prob(self._resolve(evidence))

    def condition(self, evidence: Evidence) -> JointDistribution:
        """Return the distribution of all labels once some of them are known.

        Parameters
        ----------
        evidence : mapping
            From label index or name to 0 or 1, or to an (n,) array of 0, 1 and -1 (unknown).

        Raises
        ------
        ValueError
            If the evidence of a row has probability zero.
        """
        known = self._resolve(evidence)
        log_prob = self._evidence_log_prob(known)
        impossible = np.flatnonzero(np.isneginf(log_prob.value))
        if len(impossible):
            raise ValueError(
                f"evidence has probability zero in row {impossible[0]} "
                f"({len(impossible)} such rows): Bayes' rule has no answer there"
            )
        return self._condition(known, log_prob)

    def _resolve(self, evidence: Evidence) -> Labels:
        return checks.resolve_evidence(evidence, self.n_rows, self.n_labels, self.label_names)
