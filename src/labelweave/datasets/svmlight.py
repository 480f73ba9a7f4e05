"""Read multi-label svmlight files through scikit-learn."""

from __future__ import annotations

import io

import numpy as np

from labelweave.datasets.dataset import Dataset
from labelweave.datasets.files import FilePath, data_name, read_text, shown
from labelweave.datasets.limits import Limits

# scikit-learn reads labels as floating-point numbers, which tell whole numbers apart up to here.
_MOST_LABELS = 2**53


def read_svmlight(
    path: FilePath,
    n_labels: int | None = None,
    zero_based: bool | None = None,
    *,
    limits: Limits | None = None,
) -> Dataset:
    r"""Read a multi-label svmlight (libsvm) file: ``label,label feature:value …`` a line.

    Parameters
    ----------
    path : path
        The file, plain or compressed (.gz, .xz, .bz2).
    n_labels : int, optional
        The number of labels, which are then those from 0 to ``n_labels - 1``. If left out, the
        labels are those that occur, in ascending order.
    zero_based : bool, optional
        Whether features count from 0 instead of 1. If left out, they do so if there is a feature 0:
        say it for a file that may show only some of the features.
    limits : Limits, optional
        How large the file may be.

    Returns
    -------
    Dataset
        With a sparse ``X``; the label names are their numbers in the file.

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

    limits, source = limits or Limits(), shown(path)
    text = read_text(path, limits)
    try:
        base = "auto" if zero_based is None else zero_based
        X, label_sets = load_svmlight_file(io.BytesIO(text), multilabel=True, zero_based=base)
    except (ValueError, OverflowError, IndexError) as error:
        raise ValueError(f"{source}: not a multi-label svmlight file: {error}") from error
    present = sorted({label for labels in label_sets for label in labels})
    if any(label < 0 or not float(label).is_integer() for label in present):
        raise ValueError(f"{source}: expected whole numbers from 0 as labels, found others")
    if present and present[-1] >= _MOST_LABELS:
        raise ValueError(
            f"{source}: found label {present[-1]:.0f}: labels must be below 2^53 to be told apart; "
            "number them anew"
        )
    limits.check_count(X.shape[1], "features", len(text), source)
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
    return Dataset(X, Y, label_names=tuple(map(str, known)), name=data_name(path))
