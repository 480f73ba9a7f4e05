"""Batches: rows over the same labels, their ids, names and random numbers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._core import native
from labelweave.joint import checks


class Batch:
    """Rows over the same labels, with the ids by which random numbers are keyed.

    Parameters
    ----------
    n_rows, n_labels : int
    label_names : sequence of str, optional
    row_ids : (n,) array of int, optional
    n_threads : int, default 1
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

    def with_row_ids(self, row_ids: Indices) -> Self:
        """Return the same distributions with other row ids: draws are keyed by these.

        Examples
        --------
        >>> from labelweave.joint import IndependentJoint
        >>> IndependentJoint([[0.0], [0.0]]).with_row_ids(np.array([7, 7])).row_ids
        array([7, 7])
        """
        batch = copy.copy(self)
        batch.row_ids = row_ids
        return batch

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return np.full((self.n_rows, self.n_labels), -1, dtype=np.int8)

    @property
    def n_unknown(self) -> Indices:
        """Number of labels of each row that are not known, (n,)."""
        return np.asarray((self.known < 0).sum(axis=1))

    def _uniform(self, seed: int, k: int, label: int) -> Floats:
        """Return the (n, k) uniform numbers that belong to one label."""
        return self._uniforms(seed, k, label + 1)[:, :, label]

    def _uniforms(self, seed: int, k: int, n_labels: int) -> Floats:
        """Return the (n, k, n_labels) uniform numbers of the rows of this batch."""
        out = np.empty((k, self.n_rows, n_labels))
        for draw in range(k):
            native.fill_uniform(seed, self.row_ids, draw, out[draw], self.n_threads)
        return out.transpose(1, 0, 2)
