"""What the claims have in common: learning curves, and outcomes from what holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from labelweave._common.arrays import Floats, Mask
from labelweave.report.document import Outcome
from labelweave.reproduce.bomc.experiments import DATA, NAMES, SIZES
from labelweave.reproduce.plan import Judgement
from labelweave.reproduce.results import Results

__all__ = ["at_sizes", "both", "curve", "listed", "mostly", "needs", "paired"]

Judge = Callable[[Results], Judgement]


def needs(measurement: str, *methods: str) -> Callable[[Judge], Judge]:
    """Make a claim untestable unless every method was measured on rcv1."""

    def decorate(judge: Judge) -> Judge:
        def judge_or_not(results: Results) -> Judgement:
            missing = [m for m in methods if not results.has(measurement, DATA, m)]
            if not missing:
                return judge(results)
            names = ", ".join(dict.fromkeys(NAMES[m] for m in missing))
            return Judgement("not testable", "", f"no results on {DATA} of {names}")

        return judge_or_not

    return decorate


def curve(results: Results, method: str) -> Floats:
    """Return the mean macro F1 at each size, nan where it was not measured."""
    return np.array([results.mean("stream", DATA, method, f"f1_macro@{size}") for size in SIZES])


def paired(
    results: Results, measurement: str, data: str, methods: tuple[str, str], name: str
) -> tuple[Floats, Floats]:
    """Return the values of two methods on the splits that both have."""
    first, second = (
        {
            (record.task.seed, record.task.fold): record.values.get(name, np.nan)
            for record in results.select(measurement, data, method)
        }
        for method in methods
    )
    common = sorted(first.keys() & second.keys())
    return np.array([first[k] for k in common]), np.array([second[k] for k in common])


def mostly(holds: Mask) -> Outcome:
    """Judge a claim that is to hold at most of the sizes."""
    share = float(np.mean(holds))
    return "reproduced" if share > 0.5 else "partly" if share > 0 else "not reproduced"


def both(first: bool, second: bool) -> Outcome:
    """Judge a claim of two halves."""
    return "reproduced" if first and second else "partly" if first or second else "not reproduced"


def listed(values: Floats | Sequence[float], digits: int = 3) -> str:
    """Return figures side by side, a dash where there is none."""
    return " / ".join("–" if np.isnan(value) else f"{value:.{digits}f}" for value in values)


def at_sizes(holds: Mask) -> str:
    """Say at how many sizes something holds."""
    return f"at {int(np.sum(holds))} of {len(holds)} numbers of training documents"
