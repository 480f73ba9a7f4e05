"""Labels fitted over the workers of a cluster: two worker processes beside one.

Run as ``python -m benchmarks.cluster [--rounds 3]``; the table is kept if all fits were
measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.data import use_published_data
from benchmarks.measure import Timing, one_blas_thread, race
from benchmarks.tables import keep, markdown
from labelweave import BinaryRelevance, ClassifierChain, Dataset, load
from labelweave._common.engine import Engine
from labelweave.distributed import connect, fit

FITS: dict[str, tuple[str, Callable[[], Any]]] = {
    "corel5k": ("chain, penalties chosen", ClassifierChain),
    "delicious": ("binary relevance, C = 1", lambda: BinaryRelevance(C=1.0)),
}


def fitted(make: Callable[[], Any], data: Dataset, engine: Engine | None) -> Any:
    """Fit in this process, in one thread, or on an engine."""
    if engine is None:
        return make().fit(data.X, data.Y)
    return fit(make(), data.X, data.Y, client=engine)


def measure(name: str, one: Engine, two: Engine, rounds: int) -> dict[str, Timing]:
    """Time a fit here and over one worker, each beside two workers; all must be the same."""
    data, make = load(name), FITS[name][1]
    peers = {"here": None, "one": one}
    timings = race(
        lambda: fitted(make, data, two),
        {key: lambda engine=engine: fitted(make, data, engine) for key, engine in peers.items()},
        rounds,
    )
    ours = timings["ours"].result.conditionals_
    for key in peers:
        theirs = timings[key].result.conditionals_
        for part in ("weights", "intercept", "coupling"):
            np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part), part)
    return timings


def row(name: str, timings: dict[str, Timing]) -> list[str]:
    # The fastest runs: other work on the machine disturbs three processes more than one.
    here, one, two = (timings[key].best for key in ("here", "one", "ours"))
    seconds = [f"{value:.2f} s" for value in (here, one, two)]
    return [name, FITS[name][0], *seconds, f"**{one / two:.2f}×**"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("fits", nargs="*", default=list(FITS), help=f"of {' '.join(FITS)}")
    parser.add_argument("--rounds", type=int, default=3, help="runs of one worker and of two")
    arguments = parser.parse_args()
    use_published_data()
    head = ["data set", "model", "this process", "one worker", "two workers", "ratio"]
    rows = [head]
    with ExitStack() as stack:
        stack.enter_context(one_blas_thread())
        one, two = (stack.enter_context(connect(f"local:{n}")) for n in (1, 2))
        for name in arguments.fits:
            rows.append(row(name, measure(name, one, two, arguments.rounds)))
            print(*rows[-1], flush=True)
    print(markdown(rows))
    if set(arguments.fits) >= set(FITS):
        keep("cluster", {"labels": rows}, by_level=False)


if __name__ == "__main__":
    main()
