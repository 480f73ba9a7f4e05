"""Every measure under every decision, and F1 where labels are rare.

Run as ``python -m benchmarks.decisions [matrix|rare] [DATA ...] [--jobs 2]``. Each data set is one
comparison, kept under ``build/decisions``, so that a run that was stopped goes on where it was; the
tables are kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, PredefinedSplit

from benchmarks.tables import Rows, keep, markdown
from labelweave import Dataset, compare, load
from labelweave.evaluation import Comparison, paired_t_test
from labelweave.metrics import METRICS
from labelweave.models.methods import make_methods, with_decisions

KEPT = Path("build/decisions")
#: The decision that each measure calls for.
MATCHING = {
    "exact_match": "subset",
    "hamming_loss": "hamming",
    "f1_example": "f1",
    "jaccard": "jaccard",
    "f1_micro": "micro_f1",
    "f1_macro": "macro_f1",
}
DATA = {
    "matrix": ("emotions", "scene", "yeast", "enron"),
    "rare": ("enron", "corel5k", "rcv1subset1", "delicious"),
}
METHODS = {"matrix": "auto", "rare": "br,auto"}
#: Tuning the thresholds of a chain samples the marginals of all rows, which takes hours here.
MANY_LABELS = ("corel5k", "rcv1subset1", "delicious")
#: Highest example, micro and macro F1 found in the literature, under other protocols.
PUBLISHED = {
    "enron": (0.610, 0.610, 0.229),
    "corel5k": (0.241, 0.257, 0.069),
    "delicious": (0.362, 0.369, 0.179),
}
RARE = ("f1_example", "f1_micro", "f1_macro")


def run(part: str, data: Dataset, methods: str, n_jobs: int) -> Comparison:
    """Compare the decisions on one data set: ten folds, or the published split if it is large."""
    wanted = list(MATCHING) if part == "matrix" else list(RARE)
    decisions = [MATCHING[metric] for metric in wanted]
    if part == "rare":
        decisions = ["hamming", *decisions]
    KEPT.mkdir(parents=True, exist_ok=True)
    return compare(
        with_decisions(make_methods(methods), decisions),
        data.X,
        data.Y,
        cv=splitter(data),
        metrics=wanted,
        n_jobs=n_jobs,
        results=KEPT / f"{data.name}.jsonl",
        progress=lambda result: print(
            result.method, result.fold, result.scores, result.error or "", flush=True
        ),
        name=data.name,
    )


def splitter(data: Dataset) -> Any:
    """Return ten folds; of delicious, the published split."""
    if data.name != "delicious":
        return KFold(10, shuffle=True, random_state=0)
    fold = np.zeros(data.n_rows, dtype=np.int64)
    assert data.train_rows is not None
    fold[data.train_rows] = -1
    return PredefinedSplit(fold)


def matrix(comparison: Comparison) -> Rows:
    """Return measures by decisions; ○: significantly better than the matching decision."""
    rows = [[comparison.data.name, *(f'"{decision}"' for decision in MATCHING.values())]]
    for metric, matching in MATCHING.items():
        upwards = METRICS[metric].higher_is_better
        own = comparison.scores(f"auto: {matching}", metric)
        row = [METRICS[metric].title]
        for decision in MATCHING.values():
            scores = comparison.scores(f"auto: {decision}", metric)
            verdict = paired_t_test(scores, own).standing(higher_is_better=upwards)
            value = f"{scores.mean():.4f}" if decision != matching else f"**{own.mean():.4f}**"
            row.append(value + (" ○" if verdict == "better" else ""))
        rows.append(row)
    return rows


def rare(comparison: Comparison, methods: list[str]) -> Rows:
    """Return example, micro and macro F1 at one half and under their own decisions."""
    head = [comparison.data.name, *(f"{METRICS[m].title}: one half" for m in RARE)]
    rows = [[*head, *(f'with "{MATCHING[metric]}"' for metric in RARE)]]
    for method in methods:
        half = [comparison.scores(f"{method}: hamming", metric).mean() for metric in RARE]
        own = [comparison.scores(f"{method}: {MATCHING[m]}", m).mean() for m in RARE]
        rows.append([f"`{method}`", *(f"{value:.3f}" for value in half + own)])
    if comparison.data.name in PUBLISHED:
        highest = [f"{value:.3f}" for value in PUBLISHED[comparison.data.name]]
        rows.append(["highest published", "", "", "", *highest])
    return rows


def main() -> None:
    """Measure, and keep the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=tuple(DATA))
    parser.add_argument("data", nargs="*")
    parser.add_argument("--methods", help="other than the table's, which is then only printed")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    for name in options.data or DATA[options.part]:
        standard = "br" if name in MANY_LABELS else METHODS[options.part]
        methods = options.methods or standard
        comparison = run(options.part, load(name), methods, options.jobs)
        table = (
            matrix(comparison)
            if options.part == "matrix"
            else rare(comparison, list(make_methods(methods)))
        )
        print(markdown(table))
        if options.methods is None:
            keep("decisions", {f"{options.part} {name}": table}, by_level=False)


if __name__ == "__main__":
    main()
