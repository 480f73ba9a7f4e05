"""Mode and Ranked: the best label vectors found, with a bound on all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.wording import counted, left_out, positive_labels

if TYPE_CHECKING:
    from pandas import DataFrame

# A gain, or a bound above a value, of less than this in log-probability may be rounding. The walks
# in native/chain/gibbs.hpp count ties alike.
TIE = 1e-9
# Sums of the same numbers in another order differ by this much, relatively: less is equal. Lists
# and best-first searches compare such sums only, hence they can be stricter than `TIE`.
ROUNDING = 1e-12

# Notebooks show this many modes, or the lists of half as many rows, and this many labels by name.
_SHOWN_MODES, _SHOWN_LABELS = 10, 12


@dataclass(frozen=True)
class Mode:
    """The most probable label vector found for each row, with a certificate.

    Attributes
    ----------
    labels, log_prob : (n, L) int8 and (n,) arrays
        The vectors and their log-probabilities.
    upper_bound : (n,) array
        No label vector of the row is more probable than this.
    nodes : (n,) int64 array or None
        The work of a search: partial vectors whose continuations were looked at, or vectors taken
        from the lists of a mixture's components. None where nothing was counted.
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
    nodes: Indices | None = None
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

    def to_frame(self) -> DataFrame:
        """Return a table of the rows: positive labels, probability, and what is proven.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import IndependentJoint
        >>> IndependentJoint(np.array([[2.0, -1.0]])).mode().to_frame()
          labels  probability certificate
        0      0     0.643914      proven
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "labels": _shown(self.labels, self.label_names),
                "probability": np.exp(self.log_prob),
                "certificate": [
                    "proven" if sure else f"gap ≤ {gap:.3g} nats"
                    for sure, gap in zip(self.optimal, self.gap, strict=True)
                ],
            }
        )

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks."""
        n = len(self.labels)
        caption = f"Mode: {counted(n, 'row')}, {int(self.optimal.sum())} proven"
        shown = self[np.arange(n) < _SHOWN_MODES].to_frame()
        return frame_html(shown, caption, left_out(n - len(shown)))

    def __getitem__(self, rows: slice | Indices | Mask) -> Mode:
        """Return the modes of some rows."""
        return Mode(
            self.labels[rows],
            self.log_prob[rows],
            self.upper_bound[rows],
            None if self.nodes is None else self.nodes[rows],
            label_names=self.label_names,
        )

    def replaced(self, rows: Mask, part: Mode) -> Mode:
        """Return these modes with those of some rows replaced by ``part``."""
        every = replace(self, nodes=None, label_names=None)
        return assembled(len(self.labels), [(slice(None), every), (rows, part)])

    def or_vectors(self, labels: Labels, log_prob: Floats) -> Mode:
        """Return row by row the more probable vector of two, under the bound of these modes."""
        return self.or_better(Mode(labels, log_prob, np.full(log_prob.shape, np.inf)))

    def or_better(self, other: Mode) -> Mode:
        """Return row by row the more probable vector of two, and the lower of their bounds."""
        better = other.log_prob > self.log_prob
        log_prob = np.where(better, other.log_prob, self.log_prob)
        bound = np.maximum(np.minimum(self.upper_bound, other.upper_bound), log_prob)
        return Mode(np.where(better[:, None], other.labels, self.labels), log_prob, bound)


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
    labels, log_prob : (n, k, L) int8 and (n, k) arrays
        The vectors and their log-probabilities.
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

    @staticmethod
    def padded(labels: Labels, log_prob: Floats, k: int, unlisted: Floats | float) -> Ranked:
        """Return lists of ``k`` vectors; others that were met have at most ``unlisted``."""
        n, kept, n_labels = labels.shape
        vectors = np.full((n, k, n_labels), -1, dtype=np.int8)
        values = np.full((n, k), -np.inf)
        vectors[:, :kept], values[:, :kept] = labels, log_prob
        vectors[np.isneginf(values)] = -1
        return Ranked(vectors, values, np.maximum(unlisted, values[:, -1]))

    @property
    def exact(self) -> Mask:
        """Whether the list is proven to hold the k most probable vectors."""
        return self.upper_bound <= self.log_prob[:, -1]

    def to_frame(self) -> DataFrame:
        """Return a table of the possible vectors: row, rank, positive labels and probability.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import IndependentJoint
        >>> IndependentJoint(np.array([[2.0, -1.0]])).top(2).to_frame()
                 labels  probability certificate
        row rank
        0   0         0     0.643914      proven
            1      0, 1     0.236883      proven
        """
        import pandas as pd

        rows, ranks = np.nonzero(np.isfinite(self.log_prob))
        proof = [
            "proven" if exact else f"others ≤ {np.exp(bound):.3g}"
            for exact, bound in zip(self.exact, self.upper_bound, strict=True)
        ]
        return pd.DataFrame(
            {
                "labels": _shown(self.labels[rows, ranks], self.label_names),
                "probability": np.exp(self.log_prob[rows, ranks]),
                "certificate": [proof[row] for row in rows],
            },
            index=pd.MultiIndex.from_arrays([rows, ranks], names=["row", "rank"]),
        )

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks."""
        n, k, _ = self.labels.shape
        caption = f"Ranked: {counted(n, 'row')}, the {k} most probable vectors of each"
        few = slice(0, _SHOWN_MODES // 2)
        first = Ranked(self.labels[few], self.log_prob[few], self.upper_bound[few])
        frame = replace(first, label_names=self.label_names).to_frame()
        return frame_html(frame, caption, left_out(n - len(first.labels)))


def _shown(vectors: Labels, label_names: tuple[str, ...] | None) -> list[str]:
    return [positive_labels(y, label_names, _SHOWN_LABELS) for y in vectors]


Found = TypeVar("Found", Mode, Ranked)
Rows: TypeAlias = slice | Indices | Mask


def assembled(n_rows: int, parts: Sequence[tuple[Rows, Found]]) -> Found:
    """Return the results of all rows from parts, each with the rows that it stands for.

    Nodes are counted if every part counts them.
    """
    names = ["labels", "log_prob", "upper_bound"]
    if all(getattr(part, "nodes", None) is not None for _, part in parts):
        names.append("nodes")
    arrays: dict[str, Any] = {}
    for name in names:
        first: npt.NDArray[Any] = getattr(parts[0][1], name)
        arrays[name] = np.empty((n_rows, *first.shape[1:]), dtype=first.dtype)
        for rows, part in parts:
            arrays[name][rows] = getattr(part, name)
    return type(parts[0][1])(**arrays)


def frame_html(
    frame: DataFrame, caption: str, notes: Sequence[str] = (), *, numbers: str = "{:.3g}"
) -> str:
    """Return a frame as notebooks show it, with a caption and notes below; all text is escaped."""
    import pandas as pd

    with pd.option_context("display.max_colwidth", None):
        table = frame.to_html(float_format=numbers.format) if len(frame) else ""
    below = "".join(f"<div>{escape(note)}</div>" for note in notes)
    # The class keeps notebooks from reading text between dollar signs as a formula.
    return f'<div class="tex2jax_ignore"><b>{escape(caption)}</b>{table}{below}</div>'
