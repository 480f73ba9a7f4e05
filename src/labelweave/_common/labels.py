"""Convert users' targets to (n, L) label matrices of 0/1, and back."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.checks import are_binary


@dataclass(frozen=True)
class LabelEncoding:
    """How label vectors of 0/1 encode the target y.

    The `classes` are the two values of a one-dimensional target, or the values 0 and 1 of each
    label, (L, 2); `names` holds the label names, if y has any.
    """

    classes: NDArray[Any]
    names: tuple[str, ...] | None = None

    @property
    def single(self) -> bool:
        return self.classes.ndim == 1

    def decode(self, labels: Labels) -> NDArray[Any]:
        """Return labels as `predict` does: int64 of 0/1, or classes of a one-dimensional target."""
        if self.single:
            if (labels < 0).any():
                raise ValueError(
                    "a one-dimensional y has no class for labels that stay open: use decide"
                )
            # If there is a single class, it is always predicted.
            return np.asarray(self.classes[np.minimum(labels[:, 0], len(self.classes) - 1)])
        return labels.astype(np.int64)

    def named(self, labels: Labels) -> Any:
        """Return labels as a data frame with their names, or as they are if they have none."""
        if self.names is None:
            return labels
        import pandas as pd

        return pd.DataFrame(labels, columns=list(self.names))

    def probabilities(self, marginals: Floats) -> Floats:
        """Return marginals in the form of scikit-learn's predict_proba."""
        if not self.single:
            return marginals
        if len(self.classes) == 1:
            return np.ones_like(marginals)
        return np.hstack([1.0 - marginals, marginals])


def read_labels(y: Any, n_rows: int) -> tuple[Labels, LabelEncoding]:
    """Return labels as an (n, L) int8 array of 0/1, and their encoding."""
    if y is None:
        raise ValueError(
            "the estimator requires y to be passed, but the target y is None: "
            "pass the label matrix as the second argument of fit"
        )
    names = _names_of(y)
    y = _as_array(y)
    if y.ndim != 2:
        return _read_single(y, n_rows)
    # Other entries are checked one by one: some, like pandas.NA, cannot be compared.
    numeric = y.dtype.kind in "biuf"
    values = check_array(
        y, dtype=None, input_name="y", ensure_min_features=0, ensure_all_finite=numeric
    )
    if len(values) != n_rows:
        raise ValueError(f"y has {len(values)} rows but X has {n_rows}: they must match")
    if values.shape[1] == 0:
        raise ValueError("y has no labels: it needs one column per label")
    labels = _binary(values, numeric, names)
    return labels, LabelEncoding(np.tile([0, 1], (labels.shape[1], 1)), names)


def _binary(values: NDArray[Any], numeric: bool, names: tuple[str, ...] | None) -> Labels:
    """Return 0/1 values as int8, without a copy if they are int8 already."""
    if not are_binary(values):
        wrong = (values != 0) & (values != 1) if numeric else ~_is_binary(values)
        if wrong.any():
            raise ValueError(_not_binary(values, wrong, names))
    return np.ascontiguousarray(values, dtype=np.int8)


def _read_single(y: Any, n_rows: int) -> tuple[Labels, LabelEncoding]:
    if y.ndim != 1:
        raise ValueError(
            f"y should be a 1d array or a matrix with one column per label, got an array of shape "
            f"{y.shape} instead"
        )
    if y.dtype.kind == "f":
        check_array(y[:, None], input_name="y")
    check_classification_targets(y)
    if len(y) != n_rows:
        check_consistent_length(np.empty(n_rows), y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(y)}: pass y as a matrix with one 0/1 column per label"
        )
    return codes.reshape(-1, 1).astype(np.int8), LabelEncoding(classes)


def _names_of(y: Any) -> tuple[str, ...] | None:
    columns = getattr(y, "columns", None)
    if columns is None:
        return None
    names = tuple(str(column) for column in columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"y has two labels named {twice!r}: label names must be distinct")
    return names


def _as_array(y: Any) -> NDArray[Any]:
    if hasattr(y, "toarray"):
        return np.asarray(y.toarray())
    try:
        return np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y must be a matrix with one 0/1 column per label; its rows differ in length. "
            "Lists of labels become a matrix with sklearn's MultiLabelBinarizer"
        ) from error


def _is_binary(values: NDArray[Any]) -> Mask:
    """Return which entries of an object array (say, of nullable columns) are 0 or 1."""

    def is_binary(value: Any) -> bool:
        return isinstance(value, bool | np.bool_ | Real) and value in (0, 1)

    return np.frompyfunc(is_binary, 1, 1)(values).astype(np.bool_)  # type: ignore[no-any-return]


def _not_binary(values: NDArray[Any], wrong: Mask, names: tuple[str, ...] | None) -> str:
    row, column = np.argwhere(wrong)[0]
    label = repr(names[column]) if names else f"column {column}"
    return (
        f"y must contain only 0 and 1; row {row} of {label} is {values[row, column]!r}. "
        "Encode every label as a 0/1 column, e.g. with sklearn's MultiLabelBinarizer"
    )


def read_batch_labels(
    y: Any,
    n_rows: int,
    known: LabelEncoding | None,
    classes: Any = None,
    *,
    may_grow: bool = False,
) -> tuple[Labels, LabelEncoding]:
    """Return the labels of a batch as 0/1 and their encoding: the known one, possibly extended.

    `classes` are the two values of a one-dimensional y, whose first batch may have only one. With
    `may_grow`, later batches may append labels on the right.
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
