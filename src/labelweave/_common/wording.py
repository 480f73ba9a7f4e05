"""Phrases and symbols that several results share: counts, label vectors, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelweave._common.arrays import Labels, Mask


def counted(n: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def left_out(n_rows: int, n_labels: int = 0) -> list[str]:
    """Return a note on the rows and labels that are not shown, if there are any."""
    parts = [counted(n, noun) for n, noun in ((n_rows, "row"), (n_labels, "label")) if n > 0]
    return [f"{' and '.join(parts)} not shown"] if parts else []


def positive_labels(vector: Labels | Mask, names: Sequence[str] | None, most: int) -> str:
    """List the first positive labels of a vector by their names, or else their positions."""
    present = np.flatnonzero(vector == 1)
    shown = ", ".join(str(j) if names is None else names[j] for j in present[:most]) or "none"
    more = len(present) - most
    return f"{shown}, … ({more} more)" if more > 0 else shown


@dataclass(frozen=True)
class Symbols:
    """The non-ASCII characters in tables, or substitutes for encodings that lack them."""

    plus_minus: str
    better: str
    worse: str
    missing: str

    @classmethod
    def of(cls, encoding: str) -> Symbols:
        """Return the symbols that an encoding can represent."""
        symbols = cls("±", "●", "○", "–")
        try:
            "±●○–".encode(encoding)
        except (UnicodeEncodeError, LookupError):
            return cls("+/-", ">", "<", "-")
        return symbols
