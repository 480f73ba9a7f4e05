"""Read the text format of the extreme classification repository."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelweave._core import native
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.files import FilePath, data_name, read_text, shown

# Labels are held as a dense n × L matrix of 8-byte integers; beyond this it is no longer practical.
LARGEST_LABEL_MATRIX = 2**32


def read_xmc(path: FilePath) -> Dataset:
    r"""Read XMC text: a header ``n D L``, then a row a line, all counted from 0.

    A row is ``label,label feature:value feature:value``; one without labels begins with a blank
    or with its first feature. The file may be compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    Dataset
        With a sparse ``X``, features ``f0, f1, …`` and labels ``l0, l1, …``.

    Raises
    ------
    ValueError
        Where the file is not as expected: with file, line, column, what was expected and found.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.txt")
    >>> _ = path.write_text("2 3 2\n0,1 0:0.5 2:1\n 1:2\n")
    >>> data = read_xmc(path)
    >>> data.Y.tolist(), data.X.toarray().tolist()
    ([[1, 1], [0, 0]], [[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]])
    >>> folder.cleanup()
    """
    (n, D, L), data, columns, row_starts, labels, label_starts = native.parse_xmc(
        read_text(path), shown(path)
    )
    check_label_matrix(n, L, shown(path))
    Y = np.zeros((n, L), dtype=np.int64)
    Y[np.repeat(np.arange(n), np.diff(label_starts)), labels] = 1
    return Dataset(
        sparse.csr_array((data, columns, row_starts), shape=(n, D)),
        Y,
        tuple(f"f{j}" for j in range(D)),
        tuple(f"l{j}" for j in range(L)),
        data_name(path),
    )


def check_label_matrix(n_rows: int, n_labels: int, source: str) -> None:
    """Refuse a label matrix that would not fit in memory."""
    if n_rows * n_labels > LARGEST_LABEL_MATRIX:
        gigabytes = n_rows * n_labels * 8 / 1e9
        raise ValueError(
            f"{source}: {n_rows} rows and {n_labels} labels make a label matrix of "
            f"{gigabytes:.0f} GB: labelweave holds labels dense, so read fewer rows or labels"
        )
