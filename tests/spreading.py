"""An engine in this process, for tests of work that is spread over workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from labelweave._common.engine import Call
from labelweave.logistic import spreading


def spread_finely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let even the smallest fits be dealt out."""
    monkeypatch.setattr(spreading, "_WORTH_SENDING", 1e-9)
    monkeypatch.setattr(spreading, "_FEWEST_FITS", 1)


class CardTable:
    """Calls in this process, in an order of its own; remembers what was asked of it."""

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self.shared: list[Any] = []
        self.functions: list[str] = []

    def share(self, value: Any) -> Any:
        self.shared.append(value)
        return value

    def run(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        for number in np.random.default_rng(len(self.functions)).permutation(len(calls)):
            self.functions.append(calls[number].function.__name__)
            yield int(number), self.result(calls[number])

    def result(self, call: Call) -> Any:
        return call()
