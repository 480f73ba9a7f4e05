"""The Gibbs kernel against its two algorithms in NumPy: `python -m benchmarks.gibbs`.

Chains fitted on real data (90 % of enron and corel5k) sample the labels of the remaining 10 %, all
with the same random numbers: every contestant must end in the same states. Synthetic chains show
how the kernel's cost grows. The tables are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from benchmarks.data import use_published_data
from benchmarks.gibbs_numpy import (
    Floats,
    Labels,
    algorithm_1,
    algorithm_2,
    plain_softplus,
    softplus,
)
from benchmarks.measure import Timing, one_blas_thread, timed
from benchmarks.tables import Rows, keep, markdown, show_seconds
from labelweave import ClassifierChain, load
from labelweave.inference import Greedy
from labelweave.inference.gibbs import run_linear
from labelweave.joint import ChainJoint

SWEEPS = 20
# What NumPy takes does not depend on the sweep, so its long runs are cut short and scaled up.
NUMPY_SWEEPS = {"enron": 20, "corel5k": 2}
ROUNDS = 5


@dataclass(frozen=True)
class Chain:
    """A fitted chain and the rows it is asked about."""

    name: str
    joint: ChainJoint
    X: Floats
    coef: Floats
    intercept: Floats

    @property
    def start(self) -> Labels:
        """The greedy vectors."""
        return Greedy()(self.joint).labels


def fit(name: str) -> Chain:
    data = load(name)
    X = data.X.toarray() if issparse(data.X) else np.asarray(data.X)
    shuffled = np.random.default_rng(0).permutation(len(X))
    test, train = np.split(shuffled, [len(X) // 10])
    Y = np.asarray(data.Y)
    model = ClassifierChain(C=0.1, label_penalty=0.1).fit(X[train], Y[train])
    conditionals = model.conditionals_
    joint = model.predict_joint(X[test])
    assert isinstance(joint, ChainJoint)
    return Chain(name, joint, X[test], conditionals.weights, conditionals.intercept)


def sample_native(joint: ChainJoint, start: Labels, sweeps: int, n_threads: int) -> Labels:
    joint.n_threads = n_threads
    return run_linear(joint, start, 0, 0, sweeps, 0).last


def pair_nanoseconds(seconds: float, joint: ChainJoint) -> float:
    """Return the time for a pair of labels, an instance and a sweep."""
    pairs = joint.n_labels * (joint.n_labels - 1) / 2
    return 1e9 * seconds / (joint.n_rows * SWEEPS * pairs)


def contest(chain: Chain) -> list[str]:
    """Race all contestants on one chain; return a row of the table."""
    joint, start = chain.joint, chain.start
    sweeps = NUMPY_SWEEPS[chain.name]
    theirs: dict[str, Callable[[], Labels]] = {
        "1": lambda: algorithm_1(joint, chain.X, chain.coef, chain.intercept, start, sweeps),
        "2 plain": lambda: algorithm_2(joint, start, sweeps, plain_softplus),
        "2": lambda: algorithm_2(joint, start, sweeps, softplus),
    }
    expected = sample_native(joint, start, sweeps, 1)
    ours = {1: Timing(), 2: Timing()}
    seconds = {}
    for key, runner in theirs.items():
        for n_threads in ours:
            for _ in range(ROUNDS):
                taken, _ = timed(lambda t=n_threads: sample_native(joint, start, SWEEPS, t))
                ours[n_threads].seconds.append(taken)
        taken, states = timed(runner)
        if not np.array_equal(states, expected):
            raise AssertionError(f"{chain.name}: algorithm {key} visits other states")
        seconds[key] = taken * SWEEPS / sweeps
    one, two = ours[1].median, ours[2].median
    return [
        f"{chain.name} ({joint.n_rows} × {joint.n_labels})",
        *(f"{show_seconds(s)} (**{s / one:.0f}×**)" for s in seconds.values()),
        show_seconds(one),
        f"{show_seconds(two)} ({one / two:.2f}×)",
        f"{pair_nanoseconds(one, joint):.2f} ns",
    ]


def synthetic(n: int, L: int, kind: str) -> ChainJoint:
    """Return a dense chain: confident as one of few relevant labels, flat, or sparse."""
    rng = np.random.default_rng(0)
    coupling = np.tril(rng.normal(size=(L, L)), -1)
    if kind == "sparse":
        coupling[rng.random((L, L)) < 1 - min(1.0, 8 / L)] = 0
        return ChainJoint(rng.normal(scale=0.5, size=(n, L)), coupling)
    # The effects of all earlier labels together are of the same size whatever L.
    coupling /= np.sqrt(L)
    shift, scale = (-5.0, 2.0) if kind == "confident" else (0.0, 0.5)
    return ChainJoint(shift + rng.normal(scale=scale, size=(n, L)), coupling)


def growth_row(joint: ChainJoint) -> list[str]:
    start = Greedy()(joint).labels
    timing = Timing([timed(lambda: sample_native(joint, start, SWEEPS, 1))[0] for _ in range(3)])
    return [show_seconds(timing.best), f"{pair_nanoseconds(timing.best, joint):.2f}"]


def growth() -> dict[str, Rows]:
    kinds = ("confident", "flat", "sparse")
    header = [cell for kind in kinds for cell in (kind, "ns per pair")]
    by_label = [["L (256 rows)", *header]]
    for L in (8, 16, 32, 64, 128, 256, 512, 1024):
        cells = [growth_row(synthetic(256, L, kind)) for kind in kinds]
        by_label.append([str(L), *(cell for row in cells for cell in row)])
    by_row = [["rows (L = 64)", *header]]
    for n in (8, 64, 512, 4096):
        cells = [growth_row(synthetic(n, 64, kind)) for kind in kinds]
        by_row.append([str(n), *(cell for row in cells for cell in row)])
    return {"labels": by_label, "rows": by_row}


def main() -> None:
    use_published_data()
    header = ["chain (rows × labels)", "NumPy, Algorithm 1", "Algorithm 2, plain", "Algorithm 2"]
    rows = [[*header, "ours", "ours, 2 threads", "per pair"]]
    with one_blas_thread():
        rows += [contest(fit(name)) for name in NUMPY_SWEEPS]
        print(markdown(rows), flush=True)
        tables = {"chains": rows, **growth()}
    print(*map(markdown, tables.values()), sep="\n")
    keep("gibbs", tables)


if __name__ == "__main__":
    main()
