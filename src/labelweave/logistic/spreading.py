"""Fits dealt out to the workers of an engine.

A fit has the same bits whatever the other fits and the number of threads, so any worker may make
it. Inside `spread_over`, the fits of a model are dealt out in blocks. Data that all blocks need are
sent once; all other arguments and the results are sent as arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Positions
from labelweave._common.engine import Call, Engine, all_results

# The least work of a block, in entries of X times fits times penalties. Ten million take about a
# tenth of a second; sending a block and its results takes a few hundredths.
_WORTH_SENDING = 5e6
# The kernel fits a block's problems side by side in vector lanes, which should be filled more than
# once.
_FEWEST_FITS = 16
# With several blocks per worker, a worker that finishes early takes over from a late one. They are
# few, because some lanes are empty at the end of each block.
_BLOCKS_PER_WORKER = 3
# Workers keep shared data until this many solves have not used them.
_KEPT_FOR = 8
# The name of a block lists at most this many labels.
_NAMED = 8


class Workers:
    """The workers of an engine, and the data that were sent to them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._shared: dict[Hashable, tuple[int, Any]] = {}
        self._n_solves = 0

    def deal(self, fits: Positions, work_of_one: float) -> list[Positions]:
        """Deal fits out in blocks; a single block is not worth sending."""
        n_blocks = min(
            _BLOCKS_PER_WORKER * self._engine.n_workers,
            int(len(fits) * work_of_one / _WORTH_SENDING),
            len(fits) // _FEWEST_FITS,
        )
        return [fits[number::n_blocks] for number in range(n_blocks)] if n_blocks > 1 else [fits]

    def run(
        self,
        function: Callable[..., Any],
        shared: Sequence[Any],
        blocks: Sequence[tuple[str, tuple[Any, ...]]],
    ) -> list[Any]:
        """Call `function` with the shared arguments and those of each block; return all results."""
        self._n_solves += 1
        standing_for = tuple(self._share(value) for value in shared)
        self._forget()
        calls = [Call(name, function, (*standing_for, *own)) for name, own in blocks]
        return all_results(self._engine, calls)

    def _share(self, value: Any) -> Any:
        if value is None:
            return None
        # The key is the content, as an array may be recreated for each solve, or be changed.
        key = _digest(value)
        standing_for = self._shared[key][1] if key in self._shared else self._engine.share(value)
        self._shared[key] = (self._n_solves, standing_for)
        return standing_for

    def _forget(self) -> None:
        oldest = self._n_solves - _KEPT_FOR
        self._shared = {key: entry for key, entry in self._shared.items() if entry[0] > oldest}


_WORKERS: ContextVar[Workers | None] = ContextVar("workers", default=None)


@contextmanager
def spread_over(engine: Engine) -> Iterator[None]:
    """Deal the logistic regressions that are fitted within this context out to an engine.

    Results are the same to the last bit. Work of less than about a tenth of a second is not sent.
    """
    token = _WORKERS.set(Workers(engine))
    try:
        yield
    finally:
        _WORKERS.reset(token)


def current_workers() -> Workers | None:
    """Return the workers of the surrounding `spread_over`, if any."""
    return _WORKERS.get()


def block_name(labels: NDArray[np.integer[Any]]) -> str:
    """Return a name for the fits of a block that lists their labels."""
    distinct = np.unique(labels)
    named = ", ".join(str(label) for label in distinct[:_NAMED])
    rest = f" and {len(distinct) - _NAMED} more" if len(distinct) > _NAMED else ""
    return f"the fits of labels {named}{rest}"


def n_entries(X: Any) -> int:
    """Return the number of entries that a pass over a matrix, or None, reads."""
    if X is None:
        return 0
    return int(X.size if isinstance(X, np.ndarray) else X.nnz)


def _digest(value: Any) -> Hashable:
    arrays = [value] if isinstance(value, np.ndarray) else [value.data, value.indices, value.indptr]
    digest = hashlib.sha256()  # uses the hash instructions of the CPU
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return value.shape, tuple(array.dtype.str for array in arrays), digest.digest()
