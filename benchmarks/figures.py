"""Draw how inference grows with the number of labels and rows, and how Gibbs sampling converges.

Run as ``python -m benchmarks.figures``; the pictures go to ``benchmarks/figures``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.gibbs import fit
from benchmarks.measure import timed
from benchmarks.search import synthetic
from labelweave import ClassifierChain, load
from labelweave.inference import BestFirst, Gibbs
from labelweave.joint import ChainJoint

mpl.use("Agg")
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parent / "figures"
LABELS = [8, 16, 32, 64, 128, 256, 512, 1024]
ROWS = [16, 64, 256, 1024, 4096]
STRATEGIES = {"best-first, 10,000 nodes": BestFirst(10_000), "Gibbs, 20 sweeps": Gibbs()}


def seconds(strategy: Any, joint: ChainJoint) -> float:
    """Return the shorter of two runs: what the machine needs when nothing else disturbs it."""
    return min(timed(lambda: strategy(joint))[0] for _ in range(2))


def draw_growth() -> None:
    figure, (by_labels, by_rows) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for name, strategy in STRATEGIES.items():
        for kind, style in (("confident", "-"), ("flat", "--")):
            label = f"{name}, {kind}"
            times = [seconds(strategy, synthetic(kind, 32, n)) / 32 for n in LABELS]
            by_labels.loglog(LABELS, np.array(times) * 1e6, style, marker="o", label=label)
            times = [seconds(strategy, synthetic(kind, n, 24)) for n in ROWS]
            by_rows.loglog(ROWS, np.array(times) * 1e3, style, marker="o", label=label)
    by_labels.set(xlabel="labels", ylabel="µs per row", title="32 rows")
    by_rows.set(xlabel="rows", ylabel="ms", title="24 labels")
    handles, names = by_labels.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=2, fontsize=8)
    for axes in (by_labels, by_rows):
        axes.grid(alpha=0.3)
    save(figure, "growth")


def scene_chain() -> ChainJoint:
    """Return a chain with one common penalty on a tenth of scene, as in the paper."""
    data = load("scene")
    test = np.random.default_rng(0).permutation(data.n_rows)[: data.n_rows // 10]
    train = np.setdiff1d(np.arange(data.n_rows), test)
    mean, scale = data.X[train].mean(axis=0), data.X[train].std(axis=0)
    model = ClassifierChain(C=1.0, label_penalty=1.0)
    model.fit((data.X[train] - mean) / scale, data.Y[train])
    joint = model.predict_joint((data.X[test] - mean) / scale)
    assert isinstance(joint, ChainJoint)
    return joint


def draw_convergence() -> None:
    chains = {"scene": scene_chain(), "corel5k": fit("corel5k").joint}
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, (name, joint) in zip(panels, chains.items(), strict=True):
        best = np.exp(BestFirst()(joint).log_prob).mean()
        trace = np.exp(Gibbs(sweeps=100).trace(joint)).mean(axis=0)
        axes.plot(trace, label="Gibbs, best so far")
        axes.axhline(best, color="grey", linestyle=":", label="proven mode")
        axes.set(xlabel="sweeps", ylabel="mean P(ŷ | x)", title=name)
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    save(figure, "convergence")


def save(figure: Any, name: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    figure.savefig(FOLDER / f"{name}.png", dpi=110)


if __name__ == "__main__":
    draw_growth()
    draw_convergence()
