"""Functions that workers import by name."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any


def total(number: int, values: Any) -> int:
    return number + int(sum(values))


def fails(number: int) -> None:
    raise ValueError(f"{number} is wrong")


def kills_its_worker(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def kills_its_worker_once(file: str, value: Any) -> Any:
    """Kill the worker unless the file is there; make it before."""
    try:
        Path(file).touch(exist_ok=False)
    except FileExistsError:
        return value
    return kills_its_worker()


def fails_on_this_machine_once(file: str, value: Any) -> Any:
    try:
        Path(file).touch(exist_ok=False)
    except FileExistsError:
        return value
    raise MemoryError("not here")
