"""Rows of svmlight or XMC text as a stream: batch after batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Indices
from labelweave._core import native
from labelweave.datasets.files import FilePath
from labelweave.datasets.line_source import LineSource, Place

# Feature numbers beyond are taken for a damaged line unless the stream is told otherwise.
_MOST_FEATURES = 2**24
_MOST_COLUMNS = 2**31 - 1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class RowBatch:
    """Some rows of a stream.

    Parameters
    ----------
    X : (n, D) CSR array
        Features; D is what the header says, else the highest number seen in the batch.
    labels : (k,) array of int32
        The numbers of all rows' labels, one row after the other.
    label_starts : (n + 1,) array of int64
        Where each row's labels begin in `labels`.
    n_bad : int
        How many malformed lines were left out.
    complaint : str
        What is wrong with the first of them.
    """

    X: sparse.csr_array[np.float64]
    labels: NDArray[np.int32]
    label_starts: Indices
    n_bad: int = 0
    complaint: str = ""


class RowStream:
    r"""Read svmlight or XMC text without holding more than a batch of it.

    XMC text is known by its first line, three whole numbers: rows, features, labels. All else is
    taken for multi-label svmlight, whose features count from 1.

    Parameters
    ----------
    source : path or binary file
        A file, plain or compressed (.gz, .xz, .bz2), or an open stream such as
        ``sys.stdin.buffer``, which is read from where it stands.
    zero_based : bool, default=False
        Whether the features of svmlight text count from 0.
    n_features : int, optional
        The largest number of features to accept, by default 2^24: a damaged line should not be
        mistaken for a huge problem, nor a damaged header of XMC text.
    n_labels : int, optional
        The number of labels, from 0 on, to accept; any number if left out. XMC text says it itself.
    skip_bad : bool, default=False
        Leave malformed lines out and count them instead of stopping at the first.

    Attributes
    ----------
    header : (int, int, int) or None
        Rows, features and labels by the first line of XMC text.
    source : LineSource
        Where the lines come from; ``source.place`` is behind the last batch.

    Examples
    --------
    >>> import io
    >>> with RowStream(io.BytesIO(b"7,3 1:0.5 2:1\n3 1:2\n")) as stream:
    ...     for batch in stream.batches(1):
    ...         print(batch.X.toarray(), batch.labels, stream.source.place.line)
    [[0.5 1. ]] [7 3] 1
    [[2.]] [3] 2
    """

    def __init__(
        self,
        source: FilePath | BinaryIO,
        *,
        zero_based: bool = False,
        n_features: int | None = None,
        n_labels: int | None = None,
        skip_bad: bool = False,
    ) -> None:
        self.source = LineSource(source)
        self.skip_bad = skip_bad
        self._n_features = _MOST_FEATURES if n_features is None else n_features
        try:
            self.header = _header(self.source.peek())
            self._check_header()
        except ValueError:
            self.source.close()
            raise
        #: What decides how the text is read.
        self.options = {
            "zero_based": zero_based,
            "n_features": n_features,
            "n_labels": n_labels,
            "skip_bad": skip_bad,
        }
        self._first_feature = 0 if zero_based or self.header else 1
        self._n_labels = _MOST_COLUMNS if n_labels is None else n_labels
        if self.header:
            _, self._n_features, self._n_labels = self.header

    def _check_header(self) -> None:
        if self.header and self.header[1] > self._n_features:
            raise ValueError(
                f"{self.source.name}:1: the header speaks of {self.header[1]:,} features, more "
                f"than {self._n_features:,}: if that is meant, raise the limit (n_features=…, "
                "--features on the command line)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def batches(self, n_lines: int, start: Place | None = None) -> Iterator[RowBatch]:
        """Read batches of `n_lines` lines.

        Parameters
        ----------
        n_lines : int
            Lines in a batch.
        start : Place, optional
            A place between two batches that was reached before; the beginning if left out. What
            can be read only once is read up to it.
        """
        if start is not None or self.source.path is not None:
            self.source.go_to(start or Place())
        if self.header and self.source.place.line == 0:
            self.source.read(1)
        while batch := self._read(n_lines):
            yield batch
        self._check_end()

    def _read(self, n_lines: int) -> RowBatch | None:
        place = self.source.place
        if self.header:  # every line behind the header is a row
            n_lines = min(n_lines, 1 + self.header[0] - place.line)
        text, n_read = self.source.read(n_lines)
        if not n_read:
            return None
        if place.offset == 0:
            text = text.removeprefix(_BYTE_ORDER_MARK)
        data, columns, row_starts, labels, label_starts, n_bad, complaint = (
            native.parse_labelled_lines(
                text,
                place.line + 1,
                self.source.name,
                self._n_features,
                self._n_labels,
                self._first_feature,
                self.header is None,
                self.skip_bad,
            )
        )
        n_seen = int(columns.max()) + 1 if len(columns) else 0
        shape = (len(row_starts) - 1, self.header[1] if self.header else n_seen)
        X = sparse.csr_array((data, columns, row_starts), shape=shape)
        return RowBatch(X, labels, label_starts, n_bad, complaint.decode("utf-8", "replace"))

    def _check_end(self) -> None:
        """Nothing but blank lines may follow the rows that the header of XMC text promises."""
        if not self.header:
            return
        promised = f"{self.header[0]} rows, as the header says"
        place = self.source.place
        if place.line <= self.header[0]:
            raise ValueError(
                f"{self.source.name}:{place.line + 1}: expected {promised} (row {place.line} is "
                "missing), found the end of the file"
            )
        while line := self.source.read(1)[0]:
            if line.strip():
                raise ValueError(
                    f"{self.source.name}:{self.source.place.line}: expected the end of the file: "
                    f"{promised}"
                )


def _header(line: bytes) -> tuple[int, int, int] | None:
    words = line.removeprefix(_BYTE_ORDER_MARK).split()
    if len(words) != 3 or not all(word.isdigit() and len(word) < 19 for word in words):
        return None
    rows, features, labels = (int(word) for word in words)
    return (rows, features, labels) if max(features, labels) <= _MOST_COLUMNS else None
