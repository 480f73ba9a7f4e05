"""Do a piece of work while threads or memory are refused; run by the tests, with a preloaded lib.

Prints how many refusals there were; any crash, hang or other result is the test's to notice.
"""

from __future__ import annotations

import ctypes
import faulthandler
import sys

import numpy as np

from tests.scarcity.work import THREADS, WORK

refuser = ctypes.CDLL(None)
refuser.allocations_remaining.restype = ctypes.c_long


def same(one, other):
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


def without_threads(work, expected):
    """Refuse all threads but a few: the result is the same."""
    for count in range(THREADS):
        refuser.refuse_threads_after(count)
        same(work(), expected)
    refuser.refuse_threads_after(-1)
    return THREADS


def without_memory(work, expected):
    """Refuse one allocation after the other until there are no more: an error or the result."""
    count = 0
    while True:
        refuser.refuse_allocation_after(count)
        try:
            result = work()
        except MemoryError:
            result = None
        done = refuser.allocations_remaining() >= 0
        refuser.refuse_allocation_after(-1)
        if result is not None:
            same(result, expected)
        if done:
            same(work(), expected)  # nothing was left behind
            return count
        count += max(1, count // 20)


if __name__ == "__main__":
    faulthandler.enable()
    piece = WORK[sys.argv[2]]
    way = {"threads": without_threads, "memory": without_memory}[sys.argv[1]]
    print(way(piece, piece()))
