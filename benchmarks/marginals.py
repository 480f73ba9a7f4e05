"""Marginals of long chains, and modes of mixtures of them: `python -m benchmarks.marginals`.

Before and after run side by side in one process: populations of weighted prefixes against the
conditionals of as many independent draws, and the compiled lists of chains against NumPy's.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.data import use_published_data
from benchmarks.measure import machine, one_blas_thread
from benchmarks.table import README, markdown, rounded, write_level
from labelweave import ClassifierChain, load
from labelweave.inference import Auto
from labelweave.joint import ChainJoint, MixtureJoint, Ranked, quantities
from labelweave.joint.chain import beam_search
from labelweave.joint.quantities import Quantity

# Rows of the marginals, and rows and components of the mixtures.
SETS = {"yeast": 40, "slashdot": 40, "enron": 20, "corel5k": 5}
MIXTURES = {"slashdot": (40, 3), "enron": (20, 3), "corel5k": (4, 2)}
SAMPLES, REFERENCE_SAMPLES, RUNS = 1000, 16_000, 3
BEGIN = "<!-- written by python -m benchmarks.marginals: begin -->"
END = "<!-- written by python -m benchmarks.marginals: end -->"


class ListedInNumPy(ChainJoint):
    """A chain that lists its vectors as chains of arbitrary classifiers do."""

    def _beam_list(self, k: int, width: int) -> Ranked:
        return beam_search(self.conditionals.log_odds_of, self.order, self._known, k, width)


def split(name: str) -> tuple[Any, Any, Any, Any]:
    """Return X and Y of nine tenths of a set, and of the other tenth."""
    data = load(name)
    Y = np.asarray(data.Y, dtype=np.int8)
    train, test = np.split(np.random.default_rng(0).permutation(len(Y)), [int(0.9 * len(Y))])
    X: Any = data.X
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[train]).transform(X)
    return X[train], Y[train], X[test], Y[test]


def log_loss(probability: np.ndarray[Any, Any], Y: Any) -> float:
    """Return the mean log-loss of the labels."""
    return float(-np.log(np.where(Y == 1, probability, 1 - probability)).mean())


def timed_runs(run: Callable[[int], Any]) -> tuple[list[Any], float]:
    """Return the results of some seeds, and the CPU time of the fastest."""
    results, seconds = [], []
    for seed in range(RUNS):
        begin = time.process_time()
        results.append(run(seed))
        seconds.append(time.process_time() - begin)
    return results, min(seconds)


def compared(name: str, joint: ChainJoint, Y: Any, quantity: Quantity) -> list[str]:
    """Return a line of the table: independent draws and populations."""
    exact = joint.estimate(quantity)
    truth = (
        exact.value
        if exact.exact.all()
        else joint.estimate(quantity, samples=REFERENCE_SAMPLES, random_state=99).value
    )

    def draws(seed: int) -> Any:
        return quantities.from_weighted_draws(joint, quantity, SAMPLES, seed)

    def populations(seed: int) -> Any:
        return joint._from_draws(quantity, SAMPLES, seed)

    columns = []
    for run in (draws, populations):
        found, seconds = timed_runs(run)
        error = [np.abs(value - truth) for value, _ in found]
        stated = np.stack([error for _, error in found])
        columns.append(
            {
                "rms": np.sqrt(np.mean(np.square(error))),
                "stated": np.sqrt(np.mean(stated**2)),
                "covered": np.mean(np.stack(error) <= 2 * stated + 1e-12),
                "loss": np.mean([log_loss(v, Y) - log_loss(truth, Y) for v, _ in found])
                if quantity == "marginals"
                else np.nan,
                "ms": seconds / joint.n_rows * 1e3,
            }
        )
    before, after = columns
    gain = (before["rms"] / after["rms"]) ** 2 * before["ms"] / after["ms"]
    row = [name, str(joint.n_labels), quantity]
    for what, form in (("rms", ".1e"), ("stated", ".1e"), ("covered", ".0%"), ("ms", ".2g")):
        row += [format(before[what], form), format(after[what], form)]
    loss = [f"{c['loss']:+.1e}" if quantity == "marginals" else "" for c in columns]
    return [*row, *loss, f"**{rounded(gain, 3)}×**"]


def marginals_table(sets: list[str]) -> str:
    """Return the table of estimated quantities."""
    rows = [["data set", "labels", "quantity"]]
    for what in ("error", "stated error", "within 2 stated errors", "ms per row"):
        rows[0] += [f"{what}: before", "after"]
    rows[0] += ["log-loss beyond exact: before", "after", "less time for equal error"]
    for name in sets:
        X, Y, X_test, Y_test = split(name)
        model = ClassifierChain(random_state=0, n_jobs=1).fit(X, Y)
        joint, Y_test = model.predict_joint(X_test)[: SETS[name]], Y_test[: SETS[name]]
        for quantity in ("marginals", "cardinality"):
            rows.append(compared(name, joint, Y_test, quantity))
            print(rows[-1], flush=True)
    return markdown(rows)


def modes_table(sets: list[str]) -> str:
    """Return the table of modes of mixtures of chains."""
    rows = [["data set", "labels", "components", "log-odds", "rows"]]
    for what in ("proven", "mean gap", "mean log-probability", "ms per row"):
        rows[0] += [f"{what}: before", "after"]
    for name in sets:
        n_rows, n_components = MIXTURES[name]
        X, Y, X_test, _ = split(name)
        rng = np.random.default_rng(1)
        models = []
        for _ in range(n_components):
            drawn = rng.integers(0, len(Y), size=len(Y))
            order = rng.permutation(Y.shape[1])
            model = ClassifierChain(C=0.1, label_penalty=0.1, order=order, n_jobs=1)
            models.append(model.fit(X[drawn], Y[drawn]).predict_joint(X_test[:n_rows]))
        for scale in (1.0, 0.5):
            rows.append(modes_row(name, models, scale))
            print(rows[-1], flush=True)
    return markdown(rows)


def modes_row(name: str, chains: list[ChainJoint], scale: float) -> list[str]:
    """Return a line: the mixture's modes with both kinds of lists."""
    found = []
    for kind in (ListedInNumPy, ChainJoint):
        parts = [kind(scale * c.scores, scale * c.coupling, c.order) for c in chains]
        mixture = MixtureJoint(np.full(len(parts), 1 / len(parts)), parts)
        begin = time.process_time()
        mode = Auto()(mixture)
        found.append((mode, (time.process_time() - begin) / mixture.n_rows * 1e3))
    row = [name, str(chains[0].n_labels), str(len(chains)), f"× {scale:g}", str(chains[0].n_rows)]
    row += [f"{mode.optimal.mean():.0%}" for mode, _ in found]
    row += [f"{mode.gap.mean():.2f}" for mode, _ in found]
    row += [f"{mode.log_prob.mean():.4f}" for mode, _ in found]
    return row + [rounded(milliseconds, 3) for _, milliseconds in found]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marginals", description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help=f"of {' '.join(SETS)}")
    sets = list(parser.parse_args().sets)
    use_published_data()
    with one_blas_thread():
        tables = [marginals_table(sets), modes_table([name for name in sets if name in MIXTURES])]
    if set(sets) >= set(SETS):
        write_level(README, BEGIN, END, [f"Measured on {machine()}.", *tables])
    else:
        print(*tables, "README.md is left as it is: it holds a run of all sets.", sep="\n")


if __name__ == "__main__":
    main()
