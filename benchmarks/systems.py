"""All systems of the mixture paper, ten folds and five seeds: a table, and the wins of the mixture.

Run as ``python -m benchmarks.systems [DATA ...] [--seeds 5]``. Every data set and seed is one
comparison, kept under ``build/systems``, so that a run that was stopped goes on where it was; the
tables go to README.md. Some hours of one core.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.measure import machine
from benchmarks.table import README, markdown, replace_between
from labelweave import compare, load
from labelweave.evaluation import Comparison, paired_t_test
from labelweave.models.methods import make_methods

BEGIN = "<!-- written by python -m benchmarks.systems: begin -->"
END = "<!-- written by python -m benchmarks.systems: end -->"
DATA = ("emotions", "scene", "yeast", "image")
MIXTURES = ("mc", "mc(preset='published')")
RIVALS = ("br", "chf", "mlknn", "iblr", "cc", "ecc", "pcc", "epcc", "mmoc", "mlcrf", "sc")
METRICS = ("exact_match", "hamming_loss", "cll_loss")
KEPT = Path("build/systems")


def run(name: str, seed: int) -> Comparison:
    """Compare all systems on one data set, or read the figures of an earlier run."""
    kept = KEPT / f"{name}-{seed}.json"
    if not kept.exists():
        data = load(name)
        comparison = compare(
            make_methods([*MIXTURES, *RIVALS], seed=seed),
            data.X,
            data.Y,
            cv=KFold(10, shuffle=True, random_state=seed),
            metrics=METRICS,
            n_jobs=-1,
            name=name,
        )
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(comparison.to_json())
    return Comparison.from_json(kept.read_text())


def verdict(mixture: str, rival: str, run: Comparison, metric: str) -> str | None:
    """Return whether the mixture is significantly better or worse; None without a CLL-loss."""
    outcome = paired_t_test(run.scores(mixture, metric), run.scores(rival, metric))
    return outcome.standing(higher_is_better=metric == "exact_match")


def quality(runs: dict[str, list[Comparison]]) -> str:
    """Return the table of means over folds and seeds, with the standard deviation over seeds."""
    rows = [
        [f"`{method}`", *(_figures(method, of_data) for of_data in runs.values())]
        for method in (*RIVALS, *MIXTURES)
    ]
    return markdown([["exact match / Hamming loss / CLL-loss", *runs], *rows])


def _figures(method: str, runs: Sequence[Comparison]) -> str:
    exact, hamming, cll = (
        np.array([run.scores(method, metric).mean() for run in runs]) for metric in METRICS
    )
    loss = "–" if np.isnan(cll).any() else f"{cll.mean():.3f}"
    spread = f" ± {exact.std():.3f}" if len(runs) > 1 else ""
    return f"{exact.mean():.3f}{spread} / {hamming.mean():.3f} / {loss}"


def wins(runs: dict[str, list[Comparison]], metric: str) -> str:
    """Return the table of the mixture's significant wins, ties and losses over sets and seeds."""
    rows = [
        ["against", *(f"`{mixture}`: {name}" for mixture in MIXTURES for name in (*runs, "all"))]
    ]
    for rival in (*RIVALS, MIXTURES[1]):
        row = [f"`{rival}`"]
        for mixture in MIXTURES:
            per_set = [[verdict(mixture, rival, r, metric) for r in rs] for rs in runs.values()]
            everything = [one for of_set in per_set for one in of_set]
            row += ["" if mixture == rival else _tally(v) for v in (*per_set, everything)]
        rows.append(row)
    return markdown(rows)


def _tally(judged: Sequence[str | None]) -> str:
    if all(one is None for one in judged):
        return "–"
    return "/".join(str(judged.count(value)) for value in ("better", "tie", "worse"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA, help="data sets of the papers")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of folds and methods")
    options = parser.parse_args()
    runs: dict[str, list[Comparison]] = {name: [] for name in options.data}
    for seed in range(options.seeds):
        for name in options.data:
            runs[name].append(run(name, seed))
            print(name, seed, flush=True)
    seeds = ", ".join(map(str, range(options.seeds)))
    parts = (
        f"Measured on {machine()}; ten folds, seeds {seeds}.",
        quality(runs),
        "Significant wins / ties / losses of the mixtures over seeds, exact match:",
        wins(runs, "exact_match"),
        "The same, CLL-loss:",
        wins(runs, "cll_loss"),
    )
    replace_between(README, BEGIN, END, parts)


if __name__ == "__main__":
    main()
