"""The data set that every reader returns: features, labels and their names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Floats, Indicators, Indices
from labelweave._common.checks import are_binary, check_whole_number
from labelweave._common.matrices import canonical_csr, is_mapped, require_distinct_names
from labelweave.data.columns import feature_column, split_names
from labelweave.data.numbered_names import NumberedNames

if TYPE_CHECKING:
    import pandas as pd

# Sparse features are a `csr_array` (SciPy's current interface; for the older `csr_matrix`, `*` is a
# matrix product) with 32-bit indices, because some of scikit-learn's solvers reject 64-bit ones.
Features: TypeAlias = "Floats | sparse.csr_array | pd.DataFrame"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A multi-label data set.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, D)
        The features, stored as a C-ordered float64 array, as a float64 ``csr_array`` if sparse, or,
        if there are categories or missing values, as a data frame of float64 and ``category``
        columns, which :func:`labelweave.data.make_preprocessor` converts to numbers. Memory
        maps of these types are not copied (see `labelweave.data.write_mapped`).
    Y : array of shape (n, L)
        The labels, 0 or 1, stored as int64; an int8 memory map is not converted.
    feature_names : sequence of D strings, optional
        By default the columns of a data frame, otherwise ``x0, x1, …``.
    label_names : sequence of L strings, optional
        By default ``y0, y1, …``.
    name : str, optional
        Name of the data set in tables and messages.
    train_rows : array of int, optional
        Rows of the published training set, if there is one; the other rows are the test set.

    Examples
    --------
    >>> data = Dataset([[0.0, 1.5], [2.0, 0.0]], [[1, 0, 1], [0, 0, 1]], name="tiny")
    >>> data
    Dataset 'tiny': 2 rows, 2 features, 3 labels, cardinality 1.500, 2 distinct label sets
    >>> data.label_names
    ('y0', 'y1', 'y2')

    >>> import pandas as pd
    >>> songs = pd.DataFrame({"genre": ["rock", "folk", None], "bpm": [120, 80, 95]})
    >>> data = Dataset(songs, [[1], [0], [0]])
    >>> data.is_mixed, data.nominal_features
    (True, ('genre',))
    """

    X: Features
    Y: Indicators
    feature_names: Sequence[str] = ()
    label_names: Sequence[str] = ()
    name: str = "data"
    train_rows: Indices | None = None

    def __post_init__(self) -> None:
        """Convert the fields to their documented types."""
        X, Y = as_features(self.X), as_indicators(self.Y)
        if X.shape[0] != Y.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows but Y has {Y.shape[0]}: they must agree")
        given = self.feature_names
        if not given and is_mixed(self.X):
            given = [str(name) for name in cast(Any, self.X).columns]
        feature_names = _as_names(given, X.shape[1], "feature_names", "x")
        if is_mixed(X):
            X = cast(Any, X).set_axis(list(feature_names), axis="columns")
        fixed = {
            "X": X,
            "Y": Y,
            "feature_names": feature_names,
            "label_names": _as_names(self.label_names, Y.shape[1], "label_names", "y"),
            "train_rows": _as_rows(self.train_rows, Y.shape[0]),
        }
        for field, value in fixed.items():
            object.__setattr__(self, field, value)

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.Y.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels, L."""
        return int(self.Y.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is sparse."""
        return sparse.issparse(self.X)

    @property
    def is_mixed(self) -> bool:
        """Whether X is a data frame: some features are nominal or have missing values."""
        return is_mixed(self.X)

    @property
    def nominal_features(self) -> tuple[str, ...]:
        """Names of the categorical features."""
        types = cast(Any, self.X).dtypes.items() if self.is_mixed else ()
        return tuple(str(name) for name, dtype in types if dtype == "category")

    @property
    def cardinality(self) -> float:
        """Average number of labels per row."""
        return float(self.Y.sum() / self.n_rows) if self.n_rows else 0.0

    @property
    def density(self) -> float:
        """Cardinality divided by the number of labels."""
        return self.cardinality / self.n_labels if self.n_labels else 0.0

    @property
    def n_label_sets(self) -> int:
        """Number of distinct label sets among the rows."""
        packed = np.packbits(self.Y.astype(np.uint8), axis=1)
        return len({row.tobytes() for row in packed})

    def take(self, rows: Sequence[int] | NDArray[Any] | slice) -> Dataset:
        """Return a data set with the given rows, in the given order.

        Examples
        --------
        >>> Dataset([[1.0], [2.0], [3.0]], [[1], [0], [1]]).take([2, 0]).X.ravel()
        array([3., 1.])
        """
        chosen = np.arange(self.n_rows)[rows]
        X: Any = self.X
        X = X.iloc[chosen] if self.is_mixed else X[chosen]
        return Dataset(X, self.Y[chosen], self.feature_names, self.label_names, self.name)

    def without(self, features: str | Sequence[str]) -> Dataset:
        """Return a data set without the given features, such as an identifier of the rows.

        Numbered features of sparse data keep their numbers, because other files refer to them by
        number: the columns of dropped features are emptied instead of removed.

        Parameters
        ----------
        features : str or sequence of str
            Their names, as ``"a,b"`` or as a list.

        Examples
        --------
        >>> Dataset([[7.0, 1.5]], [[1]], ["id", "length"]).without("id").feature_names
        ('length',)
        """
        names = split_names(features) if isinstance(features, str) else list(features)
        unknown = [name for name in names if name not in self.feature_names]
        if unknown:
            raise ValueError(f"{self.name!r} has no feature {unknown[0]!r} to drop")
        dropped = {self.feature_names.index(name) for name in names}
        if not dropped:
            return self
        X: Any = self.X
        if self.is_sparse and isinstance(self.feature_names, NumberedNames):
            X = X.copy()
            X.data[np.isin(X.indices, list(dropped))] = 0.0
            X.eliminate_zeros()
            return replace(self, X=X)
        kept = np.setdiff1d(np.arange(self.n_features), list(dropped))
        X = X.iloc[:, kept] if self.is_mixed else X[:, kept]
        left = tuple(self.feature_names[column] for column in kept)
        return Dataset(X, self.Y, left, self.label_names, self.name, self.train_rows)

    def with_most_common_labels(self, count: int) -> Dataset:
        """Return a data set with the most common labels only, in their given order.

        All rows are kept, even if they have none of these labels. Among equally common labels,
        the first ones are kept.

        Examples
        --------
        >>> data = Dataset([[1.0], [2.0]], [[0, 1, 1], [0, 0, 1]], label_names=["a", "b", "c"])
        >>> data.with_most_common_labels(2).label_names
        ('b', 'c')
        """
        check_whole_number(count, "count", 1)
        if count > self.n_labels:
            raise ValueError(f"count is {count}, but {self.name!r} has {self.n_labels} labels")
        ranked = np.argsort(-self.Y.sum(axis=0), kind="stable")
        kept = np.sort(ranked[:count])
        names = tuple(self.label_names[label] for label in kept)
        return replace(self, Y=self.Y[:, kept], label_names=names)

    def published_split(self) -> tuple[Dataset, Dataset]:
        """Return the published training set and test set.

        Examples
        --------
        >>> from labelweave import load
        >>> train, test = load("emotions").published_split()
        >>> train.n_rows, test.n_rows
        (391, 202)
        """
        if self.train_rows is None:
            raise ValueError(f"{self.name!r} has no published training and test set")
        test_rows = np.setdiff1d(np.arange(self.n_rows), self.train_rows)
        return self.take(self.train_rows), self.take(test_rows)

    def __repr__(self) -> str:
        kind = "sparse features" if self.is_sparse else "features"
        if self.nominal_features:
            kind += f" ({len(self.nominal_features)} nominal)"
        return (
            f"Dataset {self.name!r}: {self.n_rows} rows, {self.n_features} {kind}, "
            f"{self.n_labels} labels, cardinality {self.cardinality:.3f}, "
            f"{self.n_label_sets} distinct label sets"
        )


def is_mixed(X: Any) -> bool:
    """Whether the features are a data frame."""
    return hasattr(X, "iloc")


def as_features(X: Any, *, nominal: Collection[str] = (), source: str = "X") -> Features:
    """Return X as documented in `Dataset`, with the columns named in `nominal` as categories."""
    if is_mixed(X):
        return _from_frame(X, nominal, source)
    if sparse.issparse(X):
        # SciPy's constructor would read a memory-mapped matrix and drop its canonical flag.
        is_csr = isinstance(X, sparse.csr_array) and X.dtype == np.float64
        csr = canonical_csr(X if is_csr else sparse.csr_array(cast(Any, X), dtype=np.float64))
        check_finite(csr.data)
        return _with_small_indices(csr)
    dense = np.ascontiguousarray(X, dtype=np.float64)
    if dense.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows and features), got {dense.ndim}")
    check_finite(dense)
    return dense


def _from_frame(frame: pd.DataFrame, nominal: Collection[str], source: str) -> Features:
    import pandas as pd

    require_distinct_names(frame)
    names = [str(name) for name in frame.columns]
    columns = [
        feature_column(frame.iloc[:, c], name, source, name in nominal)
        for c, name in enumerate(names)
    ]
    if all(column.dtype == np.float64 and column.notna().all() for column in columns):
        return np.column_stack([np.empty((len(frame), 0)), *columns])
    return pd.concat(columns, axis="columns").reset_index(drop=True)


def check_finite(values: Floats) -> None:
    """Raise a ValueError if there are NaN or infinite values."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A finite sum has finite terms, and its test needs no boolean array.
        finite = np.isfinite(values.sum()) or np.isfinite(values).all()
    if not finite:
        raise ValueError("X contains NaN or infinite values: impute them or drop those rows first")


def _with_small_indices(csr: sparse.csr_array) -> sparse.csr_array:
    if csr.indices.dtype == np.int32 or max(csr.nnz, *csr.shape) > np.iinfo(np.int32).max:
        return csr
    parts = (csr.data, csr.indices.astype(np.int32), csr.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=csr.shape)


def as_indicators(Y: Any) -> Indicators:
    """Return Y as documented in `Dataset`."""
    Y = np.asarray(cast(Any, Y).toarray() if sparse.issparse(Y) else Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must have two dimensions (rows and labels), got {Y.ndim}")
    if is_mapped(Y) and Y.dtype == np.int8 and are_binary(Y):
        return cast(Indicators, np.ascontiguousarray(Y))  # int64 would be eight times as large
    wrong = np.argwhere((Y != 0) & (Y != 1))
    if len(wrong):
        row, label = wrong[0]
        raise ValueError(f"Y must contain only 0 and 1: Y[{row}, {label}] is {Y[row, label]!s}")
    return np.ascontiguousarray(Y, dtype=np.int64)


def _as_names(names: Sequence[str] | None, count: int, argument: str, prefix: str) -> Sequence[str]:
    if names is None or len(names) == 0:
        return NumberedNames(prefix, count)
    if len(names) != count:
        raise ValueError(f"{argument} must have {count} names, got {len(names)}")
    return names if isinstance(names, NumberedNames) else tuple(str(name) for name in names)


def _as_rows(rows: Indices | None, n_rows: int) -> Indices | None:
    if rows is None:
        return None
    rows = np.asarray(rows, dtype=np.int64)
    if rows.ndim != 1 or len(np.unique(rows)) != len(rows):
        raise ValueError("train_rows must be a list of distinct row indices")
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise ValueError(f"train_rows must lie between 0 and {n_rows - 1}")
    return rows
