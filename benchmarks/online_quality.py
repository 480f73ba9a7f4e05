"""How well BOMC labels news after one pass, against peers: rcv1, 80/20, learning curves.

Run as ``python -m benchmarks.online_quality [--splits 5]``; the tables are
kept. Single figures are kept in ``build/online_quality.jsonl``, so that an interrupted run
continues; ``--fresh`` measures everything anew.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.online_peers import PEERS, peer_labels
from benchmarks.tables import Rows, keep, markdown
from labelweave import BayesianOnlineClassifier, OnlineSettings, load
from labelweave.decision import ClassMassNormalization
from labelweave.metrics import METRICS

KEPT = Path(__file__).parents[1] / "build" / "online_quality.jsonl"
SIZES = (1000, 2000, 5000, 10_000, 22_090)
BOMC: dict[str, dict[str, Any]] = {
    "BOMC": {},
    "BOMC-IND": {"coupled": False},
    "BOMC-published": {
        "settings": OnlineSettings(noise=0.01, prior_variance=1.0, label_offset=0.0)
    },
}
DECISIONS = {"CMN": "cmn", "sample": "sample", "expected_f": "expected_f"}
# Frequencies are matched however rarely a label is expected.
PUBLISHED_DECISIONS = {**DECISIONS, "CMN": ClassMassNormalization.preset("published")}
# A third of the work is the batch SVM's: long tasks first leave no core idle in the end.
LEARNERS = ("SVM", "SGD", "PA", *BOMC)


@dataclass(frozen=True)
class Figure:
    """What one learner with one decision rule reached on one split."""

    split: int
    size: int
    learner: str
    decision: str
    macro: float
    micro: float
    seconds: float

    @property
    def method(self) -> str:
        """Name in the tables."""
        return f"{self.learner} {self.decision}"


@cache
def documents() -> tuple[Any, Any]:
    data = load("rcv1")
    return sparse.csr_matrix(data.X), data.Y


def split_rows(split: int) -> tuple[Any, Any]:
    """Training rows in random order, and test rows."""
    n = len(documents()[1])
    order = np.random.default_rng(split).permutation(n)
    return order[: SIZES[-1]], order[SIZES[-1] :]


def measure(split: int, learner: str, size: int) -> list[Figure]:
    """Train once, label by every rule that suits."""
    X, Y = documents()
    train, test = split_rows(split)
    train = train[:size]
    with threadpool_limits(limits=1):
        if learner in BOMC:
            rules = PUBLISHED_DECISIONS if learner == "BOMC-published" else DECISIONS
            labels, seconds = bomc_labels(BOMC[learner], rules, X[train], Y[train], X[test])
        else:
            labels, seconds = peer_labels(PEERS[learner], X[train], Y[train], X[test])
    truth = np.asarray(Y[test])
    return [
        Figure(split, size, learner, rule, *scores(truth, y), seconds) for rule, y in labels.items()
    ]


def scores(truth: Any, labels: Any) -> tuple[float, float, float]:
    """Macro F1, over all labels and over those that occur, and micro F1."""
    occurs = truth.any(axis=0)
    occurring = METRICS["f1_macro"](truth[:, occurs], labels[:, occurs])
    return METRICS["f1_macro"](truth, labels), occurring, METRICS["f1_micro"](truth, labels)


def bomc_labels(
    options: dict[str, Any], rules: dict[str, Any], X: Any, Y: Any, X_test: Any
) -> tuple[dict[str, Any], float]:
    model = BayesianOnlineClassifier(**options)
    start = time.process_time()
    model.partial_fit(X, Y)  # the rows are shuffled
    seconds = time.process_time() - start
    labels = {name: model.set_params(decision=rule).predict(X_test) for name, rule in rules.items()}
    return labels, seconds


def measure_all(n_splits: int, n_jobs: int) -> list[Figure]:
    """Measure what is not kept from an earlier run; every figure is kept as soon as it is there."""
    figures = read_kept()
    done = {(f.split, f.learner, f.size) for f in figures}
    tasks = [
        (split, learner, size)
        for split in range(n_splits)
        for size in reversed(SIZES)
        for learner in LEARNERS
        if (split, learner, size) not in done
    ]
    KEPT.parent.mkdir(exist_ok=True)
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(measure)(*task) for task in tasks
    )
    with KEPT.open("a") as file:
        for number, found in enumerate(runs, start=1):
            file.writelines(json.dumps(asdict(figure)) + "\n" for figure in found)
            file.flush()
            figures += found
            print(f"{number}/{len(tasks)}: {found[0].learner}, {found[0].size} documents")
    return [figure for figure in figures if figure.split < n_splits]


def read_kept() -> list[Figure]:
    if not KEPT.exists():
        return []
    return [Figure(**json.loads(line)) for line in KEPT.read_text().splitlines()]


def table(figures: Iterable[Figure], measure_name: str) -> Rows:
    """Mean and standard deviation over the splits, one method per row; best in bold."""
    values: dict[str, dict[int, list[float]]] = {}
    for figure in figures:
        sizes = values.setdefault(figure.method, {size: [] for size in SIZES})
        sizes[figure.size].append(getattr(figure, measure_name))
    one_pass = [m for m in values if not m.startswith("SVM")]
    best = {size: max(one_pass, key=lambda m: np.mean(values[m][size])) for size in SIZES}
    rows = [["method", *(f"{size:,}" for size in SIZES)]]
    for method in sorted(values, key=_order):
        row = [method]
        for size in SIZES:
            mean, spread = np.mean(values[method][size]), np.std(values[method][size])
            several = len(values[method][size]) > 1
            cell = f"{mean:.3f} ± {spread:.3f}" if several else f"{mean:.3f}"
            row.append(f"**{cell}**" if best[size] == method else cell)
        rows.append(row)
    return rows


def _order(method: str) -> tuple[int, str]:
    learner, _, decision = method.partition(" ")
    return [*BOMC, *PEERS].index(learner), decision


def time_table(figures: Iterable[Figure]) -> Rows:
    rows = [["CPU seconds to train", *(f"{size:,}" for size in SIZES)]]
    for learner in (*BOMC, *PEERS):
        seconds = [
            [f.seconds for f in figures if (f.learner, f.size) == (learner, size)] for size in SIZES
        ]
        rows.append([learner, *(f"{np.median(values):.2f}" for values in seconds)])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    options = parser.parse_args()
    if options.fresh:
        KEPT.unlink(missing_ok=True)
    figures = measure_all(options.splits, options.jobs)
    tables = {
        "macro": table(figures, "macro"),
        "micro": table(figures, "micro"),
        "seconds": time_table(figures),
    }
    print(*map(markdown, tables.values()), sep="\n")
    keep("online_quality", tables, by_level=False)


if __name__ == "__main__":
    # By its own name: other processes cannot find what belongs to the script itself.
    from benchmarks.online_quality import main as main_by_name

    main_by_name()
