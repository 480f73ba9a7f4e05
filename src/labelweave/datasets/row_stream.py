"""Stream rows of svmlight or XMC text in batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Indices
from labelweave._core import native
from labelweave.datasets.compression import FilePath
from labelweave.datasets.limits import Limits
from labelweave.datasets.line_reader import LineReader, Place

_MOST_COLUMNS = 2**31 - 1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class RowBatch:
    """A batch of rows from a stream.

    Parameters
    ----------
    X : (n, D) CSR array
        Features; D is given by the header, or else by the highest index in the batch.
    labels : (k,) array of int32
        The labels of all rows, concatenated.
    label_starts : (n + 1,) array of int64
        Where the labels of each row begin in `labels`.
    n_bad : int
        Number of malformed lines that were skipped.
    complaint : str
        The error in the first of them.
    """

    X: sparse.csr_array[np.float64]
    labels: NDArray[np.int32]
    label_starts: Indices
    n_bad: int = 0
    complaint: str = ""


class RowStream:
    r"""Read svmlight or XMC text while holding only one batch in memory.

    XMC text is recognised by its first line, three integers: the numbers of rows, features and
    labels. Everything else is read as multi-label svmlight, whose feature indices start at 1.

    Parameters
    ----------
    source : path or binary file
        A file, plain or compressed (.gz, .xz, .bz2), or an open stream such as
        ``sys.stdin.buffer``, which is read from its current position.
    zero_based : bool, default=False
        Whether the feature indices of svmlight text start at 0.
    n_labels : int, optional
        The number of labels to accept in svmlight text, numbered from 0; unlimited by default. XMC
        text declares it.
    max_features, max_labels : int, optional
        The largest numbers of features and of labels to accept, by default those of `Limits`, so
        that a corrupt line or XMC header is not mistaken for a huge problem. The header of a file
        that is long enough to name more may declare more.
    skip_bad : bool, default=False
        Skip and count malformed lines instead of stopping at the first.

    Attributes
    ----------
    header : (int, int, int) or None
        Numbers of rows, features and labels in the first line of XMC text.
    first_feature : int
        The number of the first feature, 0 or 1.
    source : LineReader
        The reader of the lines; ``source.place`` is the position after the last batch.

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
        n_labels: int | None = None,
        max_features: int | None = None,
        max_labels: int | None = None,
        skip_bad: bool = False,
    ) -> None:
        self.source = LineReader(source)
        self.skip_bad = skip_bad
        given = {"features": max_features, "labels": max_labels}
        limits = Limits(**{name: most for name, most in given.items() if most is not None})
        self._n_features = limits.features
        try:
            self.header = _header(self.source.peek())
            self._check_header(limits)
        except ValueError:
            self.source.close()
            raise
        #: The options that determine how the text is parsed.
        self.options = {
            "zero_based": zero_based,
            "n_labels": n_labels,
            "max_features": max_features,
            "max_labels": max_labels,
            "skip_bad": skip_bad,
        }
        self.first_feature = 0 if zero_based or self.header else 1
        self._n_labels = _MOST_COLUMNS if n_labels is None else n_labels
        if self.header:
            _, self._n_features, self._n_labels = self.header

    def _check_header(self, limits: Limits) -> None:
        if self.header:
            n_bytes, name = self.source.n_bytes(), f"{self.source.name}:1"
            limits.check_count(self.header[1], "features", n_bytes, name)
            limits.check_count(self.header[2], "labels", n_bytes, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def batches(self, n_lines: int, start: Place | None = None) -> Iterator[RowBatch]:
        """Read batches of `n_lines` lines.

        Parameters
        ----------
        n_lines : int
            Lines per batch.
        start : Place, optional
            A position between two batches that was reached before; by default the start. A stream
            that can be read only once is read up to it.
        """
        if start is not None or self.source.path is not None:
            self.source.seek(start or Place())
        if self.header and self.source.place.line == 0:
            self.source.read(1)
        while batch := self._read(n_lines):
            yield batch
        self._check_end()

    def _read(self, n_lines: int) -> RowBatch | None:
        place = self.source.place
        if self.header:  # every line after the header is a row
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
                self.first_feature,
                self.header is None,
                self.skip_bad,
            )
        )
        n_seen = int(columns.max()) + 1 if len(columns) else 0
        shape = (len(row_starts) - 1, self.header[1] if self.header else n_seen)
        X = sparse.csr_array((data, columns, row_starts), shape=shape)
        return RowBatch(X, labels, label_starts, n_bad, complaint.decode("utf-8", "replace"))

    def _check_end(self) -> None:
        """Only blank lines may follow the rows that the header of XMC text declares."""
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
