"""Batches of a stream, whose features may become more."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelweave.models.base import MultiLabelClassifier


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
