"""Claims about time: how training grows, who is faster, and how soon messages settle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.report.document import Outcome
from labelweave.reproduce.bomc.evidence import both, needs, paired
from labelweave.reproduce.bomc.experiments import (
    CMN,
    DATA,
    IND_CMN,
    LASVM_ALONE,
    NAMES,
    PA_ALONE,
    SIZES,
    SVM_ALONE,
)
from labelweave.reproduce.plan import Judgement
from labelweave.reproduce.results import Results

__all__ = ["growth", "independent_slower", "linear_time", "messages_settle", "peers_faster"]

#: "Linear": an exponent of the time from one to the other; LaSVM's is to be higher.
LINEAR = (0.8, 1.2)
#: "A factor of 2-3", rounded.
FACTOR = (1.5, 3.5)
#: "Slower" if so on at least this share of the splits.
CONSISTENT = 0.8
#: "Settled": messages change by less, relative to their size.
SETTLED = 1e-3


def growth(sizes: Sequence[int], seconds: Floats) -> float:
    """Return the exponent with which time grows, by least squares on logarithms.

    Examples
    --------
    >>> round(growth([10, 20, 40], np.array([1.0, 4.0, 16.0])), 2)
    2.0
    """
    known = ~np.isnan(seconds)
    slope, _ = np.polyfit(np.log(np.array(sizes)[known]), np.log(seconds[known]), 1)
    return float(slope)


@needs("training_time", CMN, IND_CMN, PA_ALONE, SVM_ALONE, LASVM_ALONE)
def linear_time(results: Results) -> Judgement:
    """Judge claim 37."""
    methods = (CMN, IND_CMN, PA_ALONE, SVM_ALONE, LASVM_ALONE)
    exponents = {m: growth(SIZES, _median_seconds(results, m)) for m in methods}
    lasvm = exponents.pop(LASVM_ALONE)
    least, most = LINEAR
    linear = all(least <= value <= most for value in exponents.values())
    measured = ", ".join(f"{NAMES[m]} {value:.2f}" for m, value in exponents.items())
    reason = f"exponents of the number of documents; {least} to {most} count as linear"
    return Judgement(both(linear, lasvm > most), f"{measured}, LaSVM {lasvm:.2f}", reason)


def _seconds(results: Results, method: str, size: int = SIZES[-1]) -> Floats:
    """Return training times, one per split; by default those on most documents."""
    return results.values("training_time", DATA, method, f"fit_seconds@{size}")


def _median_seconds(results: Results, method: str) -> Floats:
    """Return the median training time at each size, nan where it was not measured."""
    return np.array([np.median(_seconds(results, method, size)) for size in SIZES])


@needs("training_time", CMN, IND_CMN)
def independent_slower(results: Results) -> Judgement:
    """Judge claim 38."""
    name = f"fit_seconds@{SIZES[-1]}"
    independent, coupled = paired(results, "training_time", DATA, (IND_CMN, CMN), name)
    slower = independent > coupled
    measured = f"{np.median(independent):.2f} s, coupled {np.median(coupled):.2f} s"
    reason = (
        f"slower on {int(slower.sum())} of {len(slower)} splits; it counts if on {CONSISTENT:.0%}"
    )
    outcome: Outcome = "reproduced" if slower.mean() >= CONSISTENT else "not reproduced"
    return Judgement(outcome, measured, reason)


@needs("training_time", CMN, PA_ALONE, SVM_ALONE)
def peers_faster(results: Results) -> Judgement:
    """Judge claim 39."""
    bomc, pa, svm = (
        float(np.median(_seconds(results, method))) for method in (CMN, PA_ALONE, SVM_ALONE)
    )
    least, most = FACTOR
    outcome = both(*(least <= bomc / peer <= most for peer in (pa, svm)))
    measured = f"BOMC {bomc:.2f} s, PA {pa:.2f} s, SVM_Batch {svm:.2f} s"
    reason = f"factors {bomc / pa:.2f} and {bomc / svm:.2f}; {least} to {most} are 2-3. The paper "
    reason += "puts them down to F# against C; here BOMC is compiled too"
    return Judgement(outcome, measured, reason)


@needs("message_changes", CMN)
def messages_settle(results: Results) -> Judgement:
    """Judge claim 40, by the change that the third iteration itself still makes."""
    learned = results.select("message_changes", DATA, CMN)[0].task.settings["learned"]
    # A stage stands for the documents up to the next one, which change messages less.
    documents = np.diff([*learned, SIZES[-1]])
    third = {
        kind: np.array(
            [
                results.values("message_changes", DATA, CMN, f"{kind}@{stage}")[:, 1].mean()
                for stage in learned
            ]
        )
        for kind in ("mean", "variance")
    }
    average = {kind: np.average(changes, weights=documents) for kind, changes in third.items()}
    measured = ", ".join(f"{kind} {value:.1e}" for kind, value in average.items())
    from_stage = _settled_from(learned, np.max(list(third.values()), axis=0))
    reason = "relative change in the third iteration, averaged over messages and documents; "
    reason += f"below {SETTLED:g} {from_stage}"
    below = max(average.values()) < SETTLED
    return Judgement("reproduced" if below else "not reproduced", measured, reason)


def _settled_from(learned: Sequence[int], changes: Floats) -> str:
    late = np.flatnonzero(changes >= SETTLED)
    first = 0 if not len(late) else int(late[-1]) + 1
    return (
        f"from document {learned[first]:,} on" if first < len(learned) else "at no stage for good"
    )
