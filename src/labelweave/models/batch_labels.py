"""Labels of the batches of a stream, which must be consistent with the first one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Labels
from labelweave.models.label_encoding import LabelEncoding, read_labels


def read_batch_labels(
    y: Any,
    n_rows: int,
    known: LabelEncoding | None,
    classes: Any = None,
    *,
    may_grow: bool = False,
) -> tuple[Labels, LabelEncoding]:
    """Return the labels of a batch as 0/1 and their encoding: the known one, possibly extended.

    `classes` are the two values of a one-dimensional y, needed if the first batch has only one of
    them. With `may_grow`, later batches may append labels on the right.

    Examples
    --------
    >>> _, first = read_batch_labels([[0, 1]], 1, None)
    >>> labels, grown = read_batch_labels([[0, 1, 1]], 1, first, may_grow=True)
    >>> len(grown.classes)
    3
    """
    labels, encoding = read_labels(y, n_rows)
    if encoding.single and (known is None or known.single):
        return _single_labels(np.asarray(y), labels, encoding, known, classes)
    if known is None:
        return labels, encoding
    n_known, n_labels = len(known.classes), labels.shape[1]
    shrinks = known.single or encoding.single or n_labels < n_known
    if shrinks or (n_labels > n_known and not may_grow):
        raise ValueError(
            f"y has {n_labels} labels, but the model has learned "
            f"{1 if known.single else n_known}: later batches need the same ones"
            + (", or more" if may_grow else "")
        )
    return labels, _continued(known, encoding)


def _continued(known: LabelEncoding, encoding: LabelEncoding) -> LabelEncoding:
    """Return the known encoding, extended by the labels that a batch appends."""
    n_known, n_labels = len(known.classes), len(encoding.classes)
    if known.names is None:
        return LabelEncoding(encoding.classes)
    if encoding.names is None and n_labels == n_known:
        return known
    if encoding.names is None or encoding.names[:n_known] != known.names:
        raise ValueError(
            "the label names of y do not begin with those of the batches before: keep their "
            "order and append new labels on the right"
        )
    return encoding


def _single_labels(
    y: NDArray[Any],
    labels: Labels,
    encoding: LabelEncoding,
    known: LabelEncoding | None,
    classes: Any,
) -> tuple[Labels, LabelEncoding]:
    both = known.classes if known is not None else classes
    if both is None:
        if len(encoding.classes) < 2:
            raise ValueError("the first batch has only one class in y: name both in classes=")
        return labels, encoding
    both = np.unique(np.asarray(both))
    if len(both) != 2:
        raise ValueError(f"classes must be the two values of y; got {classes!r}")
    if not np.isin(encoding.classes, both).all():
        first, second = both.tolist()
        raise ValueError(f"y must contain only the classes {first!r} and {second!r} in every batch")
    return (y == both[1]).reshape(-1, 1).astype(np.int8), LabelEncoding(both)
