"""Time of fitting mixtures, and how well they predict: this commit beside another one.

Run as ``python -m benchmarks.mixture_fits scene --folds 3 --before PATH``, where PATH is the folder
``src`` of the other commit with its compiled modules. Folds are fitted in turn by both, each in a
process of its own and in one thread; a line is printed for every fold, then the means.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parents[1]
FIGURES = ("seconds", "loss", "match", "components")


def fit(name: str, number: int, kind: str) -> dict[str, float]:
    """Fit one fold of ten: CPU seconds, CLL-loss, exact match and number of components."""
    from labelweave import load, models

    data = load(name)
    train, test = list(KFold(10, shuffle=True, random_state=0).split(data.X))[number]
    scaler = StandardScaler().fit(data.X[train])
    inside, outside = scaler.transform(data.X[train]), scaler.transform(data.X[test])
    model = getattr(models, kind)()
    begin = time.process_time()
    model.fit(inside, data.Y[train])
    seconds = time.process_time() - begin
    loss = -model.predict_joint(outside).log_prob(data.Y[test]).mean()
    match = (model.predict(outside) == data.Y[test]).all(axis=1).mean()
    figures = (seconds, float(loss), float(match), model.n_components_)
    return dict(zip(FIGURES, figures, strict=True))


def fit_apart(source: Path, name: str, number: int, kind: str) -> dict[str, float]:
    """Fit with the package in another folder."""
    command = [sys.executable, __file__, name, "--kind", kind, "--only", str(number)]
    environment = os.environ | {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="data set")
    parser.add_argument("--folds", type=int, default=3, help="folds of ten to measure")
    parser.add_argument("--kind", default="TreeMixture", help="TreeMixture or ChainMixture")
    parser.add_argument("--before", type=Path, help="src folder of the other commit")
    parser.add_argument("--only", type=int, help="print the figures of this fold and end")
    given = parser.parse_args()
    if given.only is not None:
        print(json.dumps(fit(given.name, given.only, given.kind)))
        return
    sources = ([given.before] if given.before else []) + [HERE / "src"]
    rows = []
    for number in range(given.folds):
        pair = [fit_apart(source, given.name, number, given.kind) for source in sources]
        rows.append([[figures[figure] for figure in FIGURES] for figures in pair])
        print(given.kind, given.name, number, *np.round(rows[-1], 3).tolist(), flush=True)
    print(given.kind, given.name, "mean", *np.round(np.mean(rows, axis=0), 4).tolist())


if __name__ == "__main__":
    main()
