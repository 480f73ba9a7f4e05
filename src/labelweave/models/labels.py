"""Label matrices as users hand them over, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target


@dataclass(frozen=True)
class LabelEncoding:
    """How label vectors of 0/1 stand for what the user gave.

    Attributes
    ----------
    classes : array or list of arrays
        The two values of a one-dimensional target, or the values 0 and 1 for each label.
    names : tuple of str or None
        Label names, if Y had any.
    """

    classes: Any
    names: tuple[str, ...] | None = None

    @property
    def single(self) -> bool:
        """Whether the target was one-dimensional."""
        return not isinstance(self.classes, list)

    def decode(self, labels: NDArray[np.int8]) -> NDArray[Any]:
        """Labels in the user's terms: int64 of 0/1, or the classes of a one-dimensional target."""
        if self.single:
            # A target of one class only can say nothing else.
            return np.asarray(self.classes[np.minimum(labels[:, 0], len(self.classes) - 1)])
        return labels.astype(np.int64)

    def probabilities(self, marginals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Marginals in the form of scikit-learn's predict_proba."""
        if not self.single:
            return marginals
        if len(self.classes) == 1:
            return np.ones_like(marginals)
        return np.hstack([1.0 - marginals, marginals])


def read_labels(Y: Any, n_rows: int) -> tuple[NDArray[np.int8], LabelEncoding]:
    """Labels as an (n, L) int8 array of 0/1, and how to translate them back."""
    if Y is None:
        raise ValueError(
            "This estimator requires Y to be passed, but the target Y is None: "
            "pass the label matrix as the second argument of fit"
        )
    names = _names_of(Y)
    if hasattr(Y, "toarray"):
        Y = Y.toarray()
    if np.ndim(Y) != 2:
        return _read_single(Y, n_rows)
    values = check_array(Y, dtype=None, input_name="Y", ensure_min_features=0)
    if len(values) != n_rows:
        raise ValueError(f"Y has {len(values)} rows but X has {n_rows}: they must match")
    if values.shape[1] == 0:
        raise ValueError("Y has no labels: it needs one column per label")
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise ValueError(_not_binary(values, names))
    labels = np.ascontiguousarray(values, dtype=np.int8)
    return labels, LabelEncoding([np.array([0, 1])] * labels.shape[1], names)


def _read_single(y: Any, n_rows: int) -> tuple[NDArray[np.int8], LabelEncoding]:
    y = column_or_1d(y)
    if y.dtype.kind == "f":
        check_array(y[:, None], input_name="y")
    check_classification_targets(y)
    if len(y) != n_rows:
        check_consistent_length(np.empty(n_rows), y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}: pass Y as a matrix with one 0/1 column per label"
        )
    return codes.reshape(-1, 1).astype(np.int8), LabelEncoding(classes)


def _names_of(Y: Any) -> tuple[str, ...] | None:
    columns = getattr(Y, "columns", None)
    if columns is None:
        return None
    names = tuple(str(column) for column in columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"Y has two labels named {twice!r}: label names must be distinct")
    return names


def _not_binary(values: NDArray[Any], names: tuple[str, ...] | None) -> str:
    if values.dtype.kind in "biuf":
        row, column = np.argwhere(~np.isin(values, (0, 1)))[0]
    else:
        row, column = 0, 0
    label = repr(names[column]) if names else f"column {column}"
    return (
        f"Y must contain only 0 and 1; row {row} of {label} is {values[row, column]!r}. "
        "Encode every label as a 0/1 column, e.g. with sklearn's MultiLabelBinarizer"
    )
