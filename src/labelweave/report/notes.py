"""What methods warned of in a comparison, in a few lines a person can read."""

from __future__ import annotations

import re
from collections import Counter

from labelweave.evaluation import Comparison

__all__ = ["warning_notes"]

_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def warning_notes(comparison: Comparison, *, limit: int = 3, width: int = 200) -> list[str]:
    """Gather the warnings of all folds: one line a method and warning, long ones cut.

    Warnings that differ in their numbers only are one; the first is shown.

    Parameters
    ----------
    comparison : Comparison
        What to look through.
    limit : int, default=3
        Lines shown of each method; the last one says how many more there are.
    width : int, default=200
        Characters shown of each message.
    """
    notes = []
    for method in comparison.methods:
        first: dict[str, str] = {}
        told: Counter[str] = Counter()
        for run in comparison.of_method(method):
            kinds = [_NUMBER.sub("#", message) for message in run.warnings]
            told.update(dict.fromkeys(kinds).keys())
            for kind, message in zip(kinds, run.warnings, strict=True):
                first.setdefault(kind, message)
        for kind, count in told.most_common(limit):
            text = " ".join(first[kind].split())
            text = text if len(text) <= width else text[: width - 3] + "..."
            notes.append(f"{method} ({count} of {comparison.n_folds} folds): {text}")
        if len(told) > limit:
            notes.append(f"{method}: {len(told) - limit} more kinds of warning")
    return notes
