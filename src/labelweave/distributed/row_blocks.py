"""Rows on a cluster, block by block: dask arrays, dense or sparse, and data frames.

Inside, all of them are dask arrays with one block for each chunk or partition. A block is whatever
the user's blocks are: a NumPy array, a sparse matrix, a pandas data frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import tokenize
from dask.delayed import Delayed
from dask.graph_manipulation import bind
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray

Frame: TypeAlias = "pd.DataFrame | pd.Series[Any]"
# What dask takes for the result of a task that returns any object.
_NO_OBJECTS = np.empty((0, 0), dtype=object)


@dataclass(frozen=True)
class RowBlocks:
    """The rows of X in blocks.

    Attributes
    ----------
    blocks : dask.array.Array
        One block of rows beside the next; all columns are in one block.
    columns : list or None
        The names of the columns of a data frame; None if X is an array.
    divisions : tuple
        The index values at which the partitions of a data frame begin.
    """

    blocks: da.Array
    columns: list[Any] | None = None
    divisions: tuple[Any, ...] = ()

    @classmethod
    def of(cls, X: Any) -> RowBlocks:
        """Return the blocks of a dask array or data frame."""
        if isinstance(X, da.Array):
            return cls._of_array(X)
        if hasattr(X, "to_dask_array") and hasattr(X, "columns"):
            return cls._of_frame(X)
        raise TypeError(
            f"X must be a dask array or a dask data frame; got {type(X).__name__}: "
            "model.predict(X) predicts rows that are in memory"
        )

    @classmethod
    def _of_array(cls, X: da.Array) -> RowBlocks:
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, rows by features; got shape {X.shape}")
        if X.numblocks[1] != 1:
            raise ValueError(
                f"the columns of X are in {X.numblocks[1]} chunks, but a row is predicted as a "
                "whole: call X.rechunk({1: -1}) first"
            )
        return cls(X)

    @classmethod
    def _of_frame(cls, X: Any) -> RowBlocks:
        parts = X.to_delayed()
        name = f"frames-{tokenize(X)}"
        keys = {(name, number, 0): part.key for number, part in enumerate(parts)}
        # All parts have one graph: that of the first is that of all.
        graph = HighLevelGraph.from_collections(name, keys, dependencies=parts[:1])
        chunks = ((np.nan,) * len(parts), (len(X.columns),))
        return cls(da.Array(graph, name, chunks, dtype=object), list(X.columns), X.divisions)

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""
        number = self.blocks.shape[0]
        return None if np.isnan(number) else int(number)

    @property
    def n_blocks(self) -> int:
        """The number of blocks of rows."""
        return int(self.blocks.numblocks[0])

    def after(self, step: Delayed) -> Self:
        """Return the same rows, read again once a step is done.

        Tasks that share a block would keep it in memory until the last of them: all rows, if one of
        them needs a figure about all rows.
        """
        return replace(self, blocks=bind(self.blocks, step))

    def map_to_objects(self, function: Callable[..., Any], /, **arguments: Any) -> da.Array:
        """Return the results of ``function(block, **arguments)``, whatever they are."""
        chunks = ((1,) * self.n_blocks, (1,))
        return self.blocks.map_blocks(
            function, dtype=object, meta=_NO_OBJECTS, chunks=chunks, **arguments
        )

    def map_to_rows(
        self,
        function: Callable[..., Any],
        /,
        nothing: NDArray[Any],
        names: list[Any],
        **arguments: Any,
    ) -> Any:
        """Return ``function(block, **arguments)`` for all rows, an array or a data frame like X."""
        of_rows = partial(_of_rows, function, nothing)
        if self.columns is not None:
            frames = self.map_to_objects(partial(_framed, of_rows, names), **arguments)
            return self._frame_of(frames, _frame(nothing, names, None))
        widths = tuple((width,) for width in nothing.shape[1:])
        return self.blocks.map_blocks(
            of_rows,
            dtype=nothing.dtype,
            meta=nothing,
            chunks=(self.blocks.chunks[0], *widths),
            drop_axis=None if widths else 1,
            **arguments,
        )

    def _frame_of(self, frames: da.Array, meta: Frame) -> Any:
        from dask.dataframe import from_delayed

        parts = list(frames.to_delayed().ravel())
        return from_delayed(parts, meta=meta, divisions=self.divisions, verify_meta=False)


def _of_rows(
    function: Callable[..., Any], nothing: NDArray[Any], block: Any, **arguments: Any
) -> NDArray[Any]:
    return np.asarray(function(block, **arguments)) if block.shape[0] else nothing


def _framed(
    function: Callable[..., Any], names: list[Any], block: pd.DataFrame, **arguments: Any
) -> Frame:
    return _frame(function(block, **arguments), names, block.index)


def _frame(values: NDArray[Any], names: list[Any], index: Any) -> Frame:
    if values.ndim == 1:
        return pd.Series(values, index=index)
    return pd.DataFrame(values, index=index, columns=names)
