"""Trees against plain Python, and how mixtures of them are decoded: `python -m benchmarks.trees`.

Every kernel of `TreeJoint` answers a batch of random forests, plain Python the same question for a
few of its rows. The tables are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import Timing, timed
from benchmarks.tables import Rows, keep, markdown
from labelweave.inference import Annealing, BestFirst
from labelweave.joint import MixtureJoint, TreeJoint
from tests.reference.tree import PlainTree, random_forest

# Labels, rows of ours, rows of plain Python.
SIZES = ((6, 40_000, 100), (14, 20_000, 50), (53, 5000, 10), (374, 100, 2))
# The name of the quantity, ours for the batch, plain Python's for one row.
Question = tuple[str, Callable[[TreeJoint], Any], Callable[[PlainTree, int], Any]]


def forest(n: int, L: int, seed: int = 0) -> TreeJoint:
    return TreeJoint(*random_forest(np.random.default_rng(seed), n, L))


def questions(joint: TreeJoint) -> list[Question]:
    """Return what is asked of both sides; each answers in the same shape."""
    Y = np.random.default_rng(1).integers(0, 2, size=(joint.n_rows, joint.n_labels), dtype=np.int8)
    uniforms = joint._uniforms(0, 1, joint.n_labels)[:, 0]
    y, u = Y.tolist(), uniforms.tolist()
    return [
        ("`log_prob`", lambda j: j.log_prob(Y), lambda row, i: row.log_prob(y[i])),
        ("`mode`", lambda j: j.mode().labels, lambda row, i: row.mode()),
        ("`marginals`", lambda j: j.marginals(), lambda row, i: row.marginals()),
        ("`pairwise`", lambda j: j.pairwise(), lambda row, i: row.pairwise()),
        ("`sample(1)`", lambda j: j.sample(1, 0)[:, 0], lambda row, i: row.sample(u[i])),
        ("`top(10)`", lambda j: j.top(10).log_prob, lambda row, i: row.top(10)),
        ("`cardinality`", lambda j: j.cardinality(), lambda row, i: row.cardinality()),
    ]


def plain_answers(joint: TreeJoint, n: int, ask: Callable[[PlainTree, int], Any]) -> list[Any]:
    first = PlainTree(joint.logits[0], joint.parents)
    return [ask(PlainTree(joint.logits[i], joint.parents, first), i) for i in range(n)]


def raced(joint: TreeJoint, n_plain: int, question: Question, rounds: int) -> tuple[float, float]:
    """Return the seconds per row of ours and of plain Python, measured in turn."""
    name, ours, theirs = question
    timings = Timing(), Timing()
    ours(joint)  # the first call pays for memory that the system has to find for its answers
    for _ in range(rounds):
        answers = None  # and a later one for what the last round still holds
        seconds, answers = timed(lambda: ours(joint))
        timings[0].seconds.append(seconds / joint.n_rows)
        seconds, expected = timed(lambda: plain_answers(joint, n_plain, theirs))
        timings[1].seconds.append(seconds / n_plain)
        if not np.allclose(answers[:n_plain], expected, rtol=1e-8, atol=1e-10):
            raise AssertionError(f"{name}: the answers for {joint} differ")
    return timings[0].median, timings[1].median


def kernels(rounds: int) -> Rows:
    rows = [["kernel"]]
    cells: dict[str, list[str]] = {}
    for L, n, n_plain in SIZES:
        rows[0] += [f"L = {L}: ours", "plain Python", "ratio"]
        joint = forest(n, L)
        for question in questions(joint):
            ours, theirs = raced(joint, n_plain, question, rounds)
            print(f"{question[0]} L={L}: {_time(ours)}, {theirs / ours:.0f}x", flush=True)
            cells.setdefault(question[0], [question[0]])
            cells[question[0]] += [_time(ours), _time(theirs), f"**{theirs / ours:.0f}×**"]
    return rows + list(cells.values())


def growth(rounds: int) -> Rows:
    """Return the time per row by number of rows, with one thread and with two."""
    names = [name for name, _, _ in questions(forest(1, 2))]
    rows = [["rows (L = 53)", *names, "`cardinality_by_label`, two threads"]]
    for n in (1, 10, 100, 1000, 10_000):
        joint = forest(n, 53)
        calls = [ours for _, ours, _ in questions(joint)]
        times = [_fastest(partial(call, joint), rounds) for call in calls]
        joint.n_threads = 2
        times.append(_fastest(joint.cardinality_by_label, rounds))
        rows.append([str(n), *(_time(seconds / n) for seconds in times)])
    return rows


def _fastest(call: Callable[[], Any], rounds: int) -> float:
    return min(timed(call)[0] for _ in range(rounds))


def mixture(n: int, L: int, K: int, scale: float) -> MixtureJoint:
    """Return a mixture of trees that agree on the most part of the log-odds."""
    rng = np.random.default_rng(0)
    common = scale * rng.normal(size=(n, L, 1)) - scale
    trees = []
    for _ in range(K):
        logits, parents = random_forest(rng, n, L, scale=0.5)
        trees.append(TreeJoint(common + logits, parents))
    return MixtureJoint(rng.dirichlet(np.ones(K)), trees)


def decoding() -> Rows:
    head = [
        "trees, labels, rows",
        "kind",
        "exact search, per row",
        "certified",
        "listed (most)",
    ]
    rows = [[*head, "mean gap of the others", "`Annealing()`, per row", "finds the same"]]
    for K, L, n in ((5, 6, 1000), (10, 14, 1000), (2, 53, 500), (20, 53, 500)):
        for kind, scale in (("confident", 3.0), ("flat", 1.0)):
            joint = mixture(n if kind == "confident" else n // 5, L, K, scale)
            seconds, mode = timed(partial(BestFirst(10_000), joint))
            walk_seconds, walked = timed(partial(Annealing(), joint))
            open_gap = mode.gap[~mode.optimal]
            row = [f"{K}, {L}, {joint.n_rows}", kind, _time(seconds / joint.n_rows)]
            row += [
                f"{mode.optimal.mean():.1%}",
                f"{np.median(mode.nodes):.0f} ({mode.nodes.max()})",
            ]
            row.append(f"{open_gap.mean():.2f}" if len(open_gap) else "")
            same = walked.log_prob >= mode.log_prob - 1e-9
            row += [_time(walk_seconds / joint.n_rows), f"{same.mean():.1%}"]
            rows.append(row)
    return rows


def _time(seconds: float) -> str:
    unit, factor = next(
        (unit, f)
        for unit, f in (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
        if seconds * f >= 1
    )
    return f"{seconds * factor:.3g} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="runs of everything")
    arguments = parser.parse_args()
    tables = {
        "kernels": kernels(arguments.rounds),
        "rows": growth(arguments.rounds),
        "mixtures": decoding(),
    }
    print(*map(markdown, tables.values()), sep="\n")
    keep("trees", tables)


if __name__ == "__main__":
    main()
