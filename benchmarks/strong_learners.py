"""The best of our models against the strongest learners that people use, on nine data sets.

Run as ``python -m benchmarks.strong_learners [DATA ...] [--methods "NAME;..."] [--jobs 2]``. Every
fold of every method is kept in ``results/strong_learners.jsonl``: a run measures the missing folds,
whichever code measured the others (each line says which), and writes the pages anew.
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.data import available
from benchmarks.folds import N_FOLDS, Fold, fold_of
from benchmarks.strong_peers import RIVALS, Outcome
from benchmarks.tables import RESULTS, Rows, rounded, write_pages
from labelweave import BestJoint, load
from labelweave._common.arrays import Floats, Labels
from labelweave._common.keyed_lines import KeyedLines
from labelweave.decision import TunedThresholds
from labelweave.decision.decide import LOSS_NAMES
from labelweave.decision.rules import ThresholdRule
from labelweave.evaluation import paired_t_test
from labelweave.metrics import METRICS
from labelweave.models.best_joint import PORTFOLIO
from labelweave.models.methods import make_method
from labelweave.models.predictions import predict_decided, predict_joint
from labelweave.versions import code_version

KEPT = RESULTS / "strong_learners.jsonl"
DATA = (
    *("emotions", "scene", "yeast", "image", "enron"),
    *("slashdot", "corel5k", "tmc2007-500", "rcv1subset1"),
)
POOL = "best(pool=True)"
OURS = (*PORTFOLIO, "best", POOL)
#: The measures, and the decisions that they call for.
DECISIONS = {
    "exact_match": "subset",
    "f1_example": "f1",
    "f1_micro": "micro_f1",
    "f1_macro": "macro_f1",
    "hamming_loss": "hamming",
}
LOSS = "cll_loss"
MEASURES = (*DECISIONS, LOSS)
Record = dict[str, Any]


class Pool(BestJoint):
    """A pool that is tuned for micro and macro F1, and notes when its members are fitted."""

    def _member(self, estimator: Any) -> Any:
        self.clock = [*getattr(self, "clock", []), _cpu_seconds()]
        return super()._member(estimator)

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        self.rules = {
            metric: super(Pool, self)._tuned(each, X, labels, sample_weight)
            for metric, each in (("f1_micro", TunedThresholds(average="micro")), ("f1_macro", rule))
        }
        return self.rules["f1_macro"]


def ours(fold: Fold) -> dict[str, Record]:
    """Return the scores of what the pool tried, of the best of that, and of the pool.

    The portfolio is fitted once: the best of it is what `BestJoint` chooses, at the price of trying
    all of them.
    """
    begin = _cpu_seconds()
    pool = Pool(pool=True, decision="macro_f1").fit(fold.X, fold.Y)
    clock = [*pool.clock, _cpu_seconds()]
    spent = dict(zip(pool.members_, np.diff(clock), strict=True))
    trying, fitting = clock[0] - begin, clock[-1] - clock[0]
    records = {}
    for name in (trial.name for trial in pool.trials_ if trial.scores):
        start = _cpu_seconds()
        model = pool.members_.get(name) or make_method(name).fit(fold.X, fold.Y)
        outcome = decided(model, fold.X_test)
        seconds = spent.get(name, 0.0) + _cpu_seconds() - start
        records[name] = record(outcome, fold.Y_test, seconds)
    chosen = records[pool.best_name_]
    records["best"] = chosen | {"seconds": round(chosen["seconds"] + trying, 2)}
    start = _cpu_seconds()
    outcome = decided(pool, fold.X_test)
    marginals = outcome.joint.marginals()
    for metric, rule in pool.rules.items():
        outcome.labels[metric] = rule.label(marginals)
    seconds = trying + fitting + _cpu_seconds() - start
    weights = dict(zip(pool.members_, pool.weights_.round(3).tolist(), strict=True))
    records[POOL] = record(outcome, fold.Y_test, seconds) | {"weights": weights}
    return records


def decided(model: Any, X_test: Any) -> Outcome:
    """Return what one of our models predicts for each measure."""
    labels = {}
    for metric, loss in DECISIONS.items():
        if loss in LOSS_NAMES and (found := predict_decided(model, X_test, loss)) is not None:
            labels[metric] = found[0]
    labels[""] = labels["hamming_loss"]
    return Outcome(labels, predict_joint(model, X_test))


def record(outcome: Outcome, Y_test: Labels, seconds: float) -> Record:
    """Return the scores of an outcome, and its CPU seconds."""
    scores = {
        metric: METRICS[metric](Y_test, outcome.labels.get(metric, outcome.labels[""]))
        for metric in DECISIONS
    }
    if outcome.joint is not None:
        scores[LOSS] = METRICS[LOSS](Y_test, outcome.joint)
    return {"scores": scores, "seconds": round(seconds, 2), "code": code_version()}


def measured(data: str, method: str, fold: int) -> dict[str, Record]:
    """Return the scores of a rival, or of all our methods, on one fold."""
    rows = fold_of(load(data), fold)
    with threadpool_limits(limits=1):
        if method == "ours":
            return ours(rows)
        begin = _cpu_seconds()
        outcome = RIVALS[method](rows.X, rows.Y, rows.X_test)
    return {method: record(outcome, rows.Y_test, _cpu_seconds() - begin)}


def _cpu_seconds() -> float:
    """CPU time of this process and of the interpreters that it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run(tasks: list[tuple[str, str, int]], n_jobs: int) -> None:
    """Measure what has not been measured yet."""
    store: KeyedLines[Record] = KeyedLines(KEPT, dict, dict)
    found = store.read()
    missing = [task for task in tasks if key(*_last(*task)) not in found]
    calls = (delayed(attempt)(*task) for task in missing)
    with store.writing() as append:
        for task, records in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(calls):
            print(*task, records, flush=True)
            for method, each in records.items():
                if "problem" not in each:
                    append(key(task[0], method, task[2]), each)


@cache
def kept_records() -> dict[str, Record]:
    """Return everything that has been measured."""
    return KeyedLines[Record](KEPT, dict, dict).read()


def attempt(data: str, method: str, fold: int) -> tuple[tuple[str, str, int], dict[str, Record]]:
    """Measure; a method that fails says why."""
    try:
        return (data, method, fold), measured(data, method, fold)
    except Exception as error:
        return (data, method, fold), {method: {"problem": f"{type(error).__name__}: {error}"}}


def _last(data: str, method: str, fold: int) -> tuple[str, str, int]:
    """Return what is known once a task has been done."""
    return data, POOL if method == "ours" else method, fold


def key(data: str, method: str, fold: int) -> str:
    """Return the key of a result."""
    return f"{data} / {method} / {fold}"


def table(data: str) -> Rows:
    """Return the means over folds; ●/○: the pool is significantly better/worse."""
    records = kept_records()
    rows = [[data, *(METRICS[metric].title for metric in MEASURES), "CPU seconds", "folds"]]
    pool = _folds(data, POOL, records)
    for method in (*RIVALS, *OURS):
        folds = _folds(data, method, records)
        if folds:
            name = f"`{method}`" if method in OURS else method
            cells = [_cell(metric, folds, {} if method == POOL else pool) for metric in MEASURES]
            seconds = np.median([record["seconds"] for record in folds.values()])
            rows.append([name, *cells, rounded(seconds, 3), str(len(folds))])
    return rows


def _folds(data: str, method: str, records: dict[str, Record]) -> dict[int, Record]:
    keys = {fold: key(data, method, fold) for fold in range(N_FOLDS)}
    return {fold: records[each] for fold, each in keys.items() if each in records}


def _cell(metric: str, folds: dict[int, Record], pool: dict[int, Record]) -> str:
    scores = _scores(metric, folds)
    if len(scores) < len(folds):
        return "–"
    text = f"{np.mean(list(scores.values())):.3f}"
    of_pool = _scores(metric, pool)
    common = [fold for fold in scores if fold in of_pool]
    if len(common) < 3:
        return text
    pair = [np.array([each[fold] for fold in common]) for each in (of_pool, scores)]
    verdict = paired_t_test(*pair).standing(higher_is_better=METRICS[metric].higher_is_better)
    return text + {"better": " ●", "worse": " ○"}.get(verdict, "")


def _scores(metric: str, folds: dict[int, Record]) -> dict[int, float]:
    """Return the scores of the folds that have one: of some methods not all measures are known."""
    return {
        fold: record["scores"][metric]
        for fold, record in folds.items()
        if metric in record["scores"]
    }


def main() -> None:
    """Measure what is missing, and write the pages anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA)
    parser.add_argument(
        "--methods", help='by semicolons; "ours" are all of ours; everything unless given'
    )
    parser.add_argument("--folds", type=int, default=N_FOLDS)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    methods = options.methods.split(";") if options.methods else [*RIVALS, "ours"]
    names = available(options.data)
    tasks = [
        (data, method, fold)
        for fold in range(options.folds)
        for data in names
        for method in methods
    ]
    run(tasks, options.jobs)
    write_pages()


if __name__ == "__main__":
    main()
