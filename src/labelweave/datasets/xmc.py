"""Read the text format of the Extreme Classification Repository (XMC)."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from labelweave._core import native
from labelweave.datasets.compression import FilePath, dataset_name, display_path, read_text
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.limits import Limits
from labelweave.datasets.numbered_names import NumberedNames


def read_xmc(path: FilePath, *, limits: Limits | None = None) -> Dataset:
    r"""Read XMC text: a header ``n D L``, then one row per line, with indices from 0.

    A row is ``label,label feature:value feature:value``; a row without labels starts with a blank
    or with its first feature. The file may be compressed (.gz, .xz, .bz2).

    Parameters
    ----------
    path : path
        The file.
    limits : Limits, optional
        Limits on the size of the file.

    Returns
    -------
    Dataset
        ``X`` is sparse, with features ``f0, f1, …`` and labels ``l0, l1, …``.

    Raises
    ------
    ValueError
        If the file is malformed. The message names the file, line and column, what was expected
        and what was found.

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
    limits, source = limits or Limits(), display_path(path)
    text = read_text(path, limits)
    (n, D, L), data, columns, row_starts, labels, label_starts = native.parse_xmc(text, source)
    limits.check_count(D, "features", len(text), source)
    limits.check_count(L, "labels", len(text), source)
    limits.check_matrix(n, L, "rows × labels", source)
    Y = np.zeros((n, L), dtype=np.int64)
    Y[np.repeat(np.arange(n), np.diff(label_starts)), labels] = 1
    return Dataset(
        sparse.csr_array((data, columns, row_starts), shape=(n, D)),
        Y,
        NumberedNames("f", D),
        NumberedNames("l", L),
        dataset_name(path),
    )
