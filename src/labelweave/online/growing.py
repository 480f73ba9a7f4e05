"""Batches of a stream, whose features and labels may become more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave.models.base import MultiLabelClassifier
from labelweave.models.labels import LabelEncoding, read_labels


def batch_features(model: MultiLabelClassifier, X: Any) -> Any:
    """Return X checked; a wider one than before becomes what the model expects from now on."""
    width = getattr(model, "n_features_in_", None)
    if width is None or np.ndim(X) != 2 or np.shape(X)[1] <= width:
        return model._features(X, reset=width is None)
    known = getattr(model, "feature_names_in_", None)
    wider = model._features(X, reset=True)
    names = getattr(model, "feature_names_in_", None)
    if known is not None and (names is None or list(names[:width]) != list(known)):
        raise ValueError(
            "X has new features, but its feature names do not begin with those seen before: "
            "append new columns on the right"
        )
    return wider


def batch_labels(
    y: Any, n_rows: int, known: LabelEncoding | None, classes: Any
) -> tuple[NDArray[np.int8], LabelEncoding]:
    """Labels as 0/1 and their encoding, which is the known one or goes on from it."""
    values = np.asarray(y) if not hasattr(y, "toarray") else y
    if (known is None or known.single) and values.ndim == 1:
        return _single_labels(values, n_rows, known, classes)
    labels, encoding = read_labels(y, n_rows)
    if known is None:
        return labels, encoding
    n_known = len(known.classes)
    if known.single or labels.shape[1] < n_known or encoding.single:
        raise ValueError(
            f"y has {labels.shape[1]} labels, but the model has learned "
            f"{1 if known.single else n_known}: later batches need the same ones, or more"
        )
    if known.names is not None and (
        encoding.names is None or encoding.names[:n_known] != known.names
    ):
        raise ValueError(
            "the label names of y do not begin with those of the batches before: append new "
            "labels on the right"
        )
    if known.names is None and encoding.names is not None:
        encoding = LabelEncoding(encoding.classes)
    return labels, encoding


def _single_labels(
    y: NDArray[Any], n_rows: int, known: LabelEncoding | None, classes: Any
) -> tuple[NDArray[np.int8], LabelEncoding]:
    labels, encoding = read_labels(y, n_rows)
    both = known.classes if known is not None else classes
    if both is None:
        if len(encoding.classes) < 2:
            raise ValueError("the first batch has only one class in y: name both in classes=")
        return labels, encoding
    both = np.unique(np.asarray(both))
    if len(both) != 2:
        raise ValueError(f"classes must be the two values of y; got {classes!r}")
    if not np.isin(encoding.classes, both).all():
        raise ValueError(f"y must contain only the classes {both[0]!r} and {both[1]!r}")
    return (y == both[1]).reshape(-1, 1).astype(np.int8), LabelEncoding(both)
