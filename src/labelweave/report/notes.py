"""Summarise the warnings that were raised during a comparison."""

from __future__ import annotations

import re
from collections import Counter

from labelweave.evaluation import Comparison

__all__ = ["warning_notes"]

_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def warning_notes(comparison: Comparison, *, limit: int = 3, width: int = 200) -> list[str]:
    """Summarise the warnings of all folds, one line per method and warning, truncated if long.

    Warnings that differ only in numbers count as one; the first is shown.

    Parameters
    ----------
    comparison : Comparison
        The comparison.
    limit : int, default=3
        Largest number of warnings per method; a further line says how many more there are.
    width : int, default=200
        Largest number of characters per message.
    """
    notes = []
    for method in comparison.methods:
        first: dict[str, str] = {}
        counts: Counter[str] = Counter()
        for run in comparison.of_method(method):
            kinds = [_NUMBER.sub("#", message) for message in run.warnings]
            counts.update(dict.fromkeys(kinds).keys())
            for kind, message in zip(kinds, run.warnings, strict=True):
                first.setdefault(kind, message)
        for kind, count in counts.most_common(limit):
            text = " ".join(first[kind].split())
            text = text if len(text) <= width else text[: width - 3] + "..."
            notes.append(f"{method} ({count} of {comparison.n_folds} folds): {text}")
        if len(counts) > limit:
            notes.append(f"{method}: {len(counts) - limit} more kinds of warnings")
    return notes
