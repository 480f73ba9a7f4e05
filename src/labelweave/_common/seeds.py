"""Random states as users give them, and the seeds they stand for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from labelweave._common.checks import check_whole_number

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


def resolve_seed(random_state: RandomState) -> int:
    """Return the 64-bit seed a random state stands for; None counts as 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return check_whole_number(random_state, "random_state", 0) % 2**64


def derive_seed(seed: int, stream: int) -> int:
    """Return a seed for an independent stream of random numbers."""
    return int(np.random.SeedSequence([seed, stream]).generate_state(1, np.uint64)[0])
