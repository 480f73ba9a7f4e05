"""Results of a search over label vectors: the best one found, or the best few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from labelweave._common.arrays import Floats, Indices, Labels, Mask


@dataclass(frozen=True)
class Mode:
    """The most probable label vector found for each row, with a certificate.

    Attributes
    ----------
    labels : (n, L) int8 array
    log_prob : (n,) array
        Log-probability of ``labels``.
    upper_bound : (n,) array
        No label vector of the row is more probable than this.
    label_names : tuple of str or None
        Shown in notebooks; known if the joint distribution has names.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> mode = IndependentJoint(np.array([[2.0, -1.0]])).mode()
    >>> mode.labels
    array([[1, 0]], dtype=int8)
    >>> mode.optimal
    array([ True])
    """

    labels: Labels
    log_prob: Floats
    upper_bound: Floats
    label_names: tuple[str, ...] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )

    @property
    def gap(self) -> Floats:
        """How much more probable (in nats) the true mode could be at most; never negative."""
        # Equal infinities (an impossible row) leave no gap.
        difference = np.zeros_like(self.log_prob)
        np.subtract(
            self.upper_bound, self.log_prob, out=difference, where=self.upper_bound > self.log_prob
        )
        return difference

    @property
    def optimal(self) -> Mask:
        """Whether the vector is proven to be the mode."""
        return self.upper_bound <= self.log_prob

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks."""
        from labelweave.joint.notebook import mode_html  # which knows capabilities, and they modes

        return mode_html(self)

    def __getitem__(self, rows: Indices | Mask) -> Mode:
        """Return the modes of some rows."""
        return Mode(
            self.labels[rows],
            self.log_prob[rows],
            self.upper_bound[rows],
            label_names=self.label_names,
        )

    def replaced(self, rows: Mask, part: Mode) -> Mode:
        """Return these modes with those of some rows replaced by ``part``."""
        labels, log_prob = self.labels.copy(), self.log_prob.copy()
        upper_bound = self.upper_bound.copy()
        labels[rows], log_prob[rows], upper_bound[rows] = (
            part.labels,
            part.log_prob,
            part.upper_bound,
        )
        return Mode(labels, log_prob, upper_bound)

    @staticmethod
    def assembled(parts: Sequence[tuple[Mask, Mode]]) -> Mode:
        """Return the modes of all rows from parts that cover each row once.

        Parameters
        ----------
        parts : sequence of (mask, Mode)
            The rows of the batch a part stands for, and their modes in order.
        """
        n_rows = len(parts[0][0])
        labels = np.empty((n_rows, parts[0][1].labels.shape[1]), dtype=np.int8)
        log_prob, upper_bound = np.empty(n_rows), np.empty(n_rows)
        for rows, part in parts:
            labels[rows], log_prob[rows] = part.labels, part.log_prob
            upper_bound[rows] = part.upper_bound
        return Mode(labels, log_prob, upper_bound)

    def or_better(self, other: Mode) -> Mode:
        """Return row by row the more probable vector of two, and the lower of their bounds."""
        better = other.log_prob > self.log_prob
        log_prob = np.where(better, other.log_prob, self.log_prob)
        bound = np.maximum(np.minimum(self.upper_bound, other.upper_bound), log_prob)
        return Mode(np.where(better[:, None], other.labels, self.labels), log_prob, bound)


@dataclass(frozen=True)
class SearchedMode(Mode):
    """A mode that a search for it found, with what it took.

    Attributes
    ----------
    labels, log_prob, upper_bound, label_names
        As in `Mode`.
    nodes : (n,) int64 array
        Prefixes of label vectors whose continuations were looked at, or vectors taken from the
        lists of a mixture's components; zero where there was nothing to search.
    """

    nodes: Indices

    @staticmethod
    def of(mode: Mode) -> SearchedMode:
        """Return a mode that took no search of its own: its nodes are zero."""
        nodes = np.zeros(len(mode.labels), dtype=np.int64)
        return SearchedMode(mode.labels, mode.log_prob, mode.upper_bound, nodes)


@dataclass(frozen=True)
class SearchLimits:
    """When a search for the mode may stop before it has a proof.

    Attributes
    ----------
    budget : int
        Most prefixes to look at in each row.
    epsilon : float
        Stop a row when its vector is proven to be within this many nats of the mode.
    seconds : float
        Stop all rows after this time.
    floor : float
        Leave out prefixes whose log-probability is not above this.
    """

    budget: int
    epsilon: float = 0.0
    seconds: float = float("inf")
    floor: float = float("-inf")


def certified(labels: Labels, log_prob: Floats, upper_bound: Floats, normalised: Mask) -> Mode:
    """Return a mode whose bound also knows that probabilities sum to one.

    Any other vector has at most the remaining probability 1 - p: a vector with more than half of
    the mass is the mode. That needs exact probabilities, which ``normalised`` says row by row.
    """
    with np.errstate(divide="ignore"):
        rest = np.log1p(-np.exp(np.minimum(log_prob, 0.0)))
    bound = np.where(normalised, np.minimum(upper_bound, rest), upper_bound)
    return Mode(labels, log_prob, np.maximum(bound, log_prob))


@dataclass(frozen=True)
class Ranked:
    """The most probable label vectors of each row, in decreasing order.

    A row with fewer than k possible vectors is filled up with labels -1 and log-probability -inf.

    Attributes
    ----------
    labels : (n, k, L) int8 array
    log_prob : (n, k) array
    upper_bound : (n,) array
        No vector that is not listed is more probable than this.
    label_names : tuple of str or None
        Shown in notebooks; known if the joint distribution has names.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> top = IndependentJoint(np.array([[2.0, -1.0]])).top(2)
    >>> top.labels
    array([[[1, 0],
            [1, 1]]], dtype=int8)
    >>> top.exact
    array([ True])
    """

    labels: Labels
    log_prob: Floats
    upper_bound: Floats
    label_names: tuple[str, ...] | None = field(
        default=None, kw_only=True, repr=False, compare=False
    )

    @property
    def exact(self) -> Mask:
        """Whether the list is proven to hold the k most probable vectors."""
        return self.upper_bound <= self.log_prob[:, -1]

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks."""
        from labelweave.joint.notebook import ranked_html

        return ranked_html(self)
