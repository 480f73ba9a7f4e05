"""Read multi-label svmlight files with scikit-learn."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from scipy import sparse

from labelweave.datasets.compression import FilePath, dataset_name, display_path, read_text
from labelweave.datasets.dataset import Dataset
from labelweave.datasets.limits import Limits
from labelweave.datasets.numbered_names import NumberedNames

# scikit-learn reads labels as floats, which represent all integers up to here.
_MOST_LABELS = 2**53


def read_svmlight(
    path: FilePath,
    n_labels: int | None = None,
    zero_based: bool | None = None,
    *,
    limits: Limits | None = None,
) -> Dataset:
    r"""Read a multi-label svmlight (libsvm) file with lines ``label,label feature:value …``.

    Parameters
    ----------
    path : path
        The file, plain or compressed (.gz, .xz, .bz2).
    n_labels : int, optional
        The number of labels, which are then numbered from 0 to ``n_labels - 1``. By default, the
        labels are those that occur, in ascending order.
    zero_based : bool, optional
        Whether feature indices start at 0 instead of 1. By default, they do if there is a feature
        0; set it for a file in which that feature may not occur.
    limits : Limits, optional
        Limits on the size of the file.

    Returns
    -------
    Dataset
        ``X`` is sparse. Features and labels are named by their numbers in the file: ``x1, x2, …``
        and ``1, 4, …``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toy.svm")
    >>> _ = path.write_text("1,4 1:0.5\n4 1:1 2:2\n")
    >>> data = read_svmlight(path)
    >>> data.label_names, data.Y.tolist()
    (('1', '4'), [[1, 1], [0, 1]])
    >>> folder.cleanup()
    """
    from sklearn.datasets import load_svmlight_file

    limits, source = limits or Limits(), display_path(path)
    text = read_text(path, limits)
    try:
        X, label_sets = load_svmlight_file(io.BytesIO(text), multilabel=True, zero_based=True)
    except (ValueError, OverflowError, IndexError) as error:
        raise ValueError(f"{source}: not a multi-label svmlight file: {error}") from error
    present = sorted({label for labels in label_sets for label in labels})
    if any(label < 0 or not float(label).is_integer() for label in present):
        raise ValueError(f"{source}: labels must be non-negative integers")
    if present and present[-1] >= _MOST_LABELS:
        raise ValueError(
            f"{source}: found label {present[-1]:.0f}: labels must be below 2^53; renumber them"
        )
    start = _first_feature(X, zero_based, source)
    n_features = max(1, X.shape[1] - start)
    limits.check_count(n_features, "features", len(text), source)
    X = sparse.csr_array((X.data, X.indices - start, X.indptr), shape=(X.shape[0], n_features))
    known = [int(label) for label in present] if n_labels is None else list(range(n_labels))
    if present and present[-1] > (known[-1] if known else -1):
        raise ValueError(
            f"{source}: found label {present[-1]:g}, but n_labels={n_labels} allows 0 to "
            f"{len(known) - 1}"
        )
    limits.check_matrix(len(label_sets), len(known), "rows × labels", source)
    column = {label: j for j, label in enumerate(known)}
    Y = np.zeros((len(label_sets), len(known)), dtype=np.int64)
    for row, labels in enumerate(label_sets):
        Y[row, [column[int(label)] for label in labels]] = 1
    names = NumberedNames("x", n_features, start)
    return Dataset(X, Y, names, tuple(map(str, known)), dataset_name(path))


def _first_feature(X: Any, zero_based: bool | None, source: str) -> int:
    """Return the number of the first feature, 0 or 1."""
    has_zero = bool((X.indices == 0).any())
    if zero_based is False and has_zero:
        raise ValueError(
            f"{source}: found feature 0, but features start at 1 (zero_based=False, --one-based): "
            "omit that, or correct the file"
        )
    return int(not has_zero) if zero_based is None else int(not zero_based)
