"""Where the benchmarks find the published data sets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from labelweave import load

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def use_published_data() -> None:
    """Let `load` find the data sets beside the checkout, unless LABELWEAVE_DATA names a folder."""
    if BESIDE.is_dir():
        os.environ.setdefault("LABELWEAVE_DATA", str(BESIDE))


def available(names: Iterable[str]) -> list[str]:
    """Return those data sets that are on the machine; print why the others are skipped."""
    use_published_data()
    found = []
    for name in names:
        try:
            load(name)
        except FileNotFoundError as error:
            print(f"{name} is skipped: {error}\n")
        else:
            found.append(name)
    return found
