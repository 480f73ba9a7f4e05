"""Run preorder4mlc in an environment of its own, and read what it leaves open."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.folds import Figures, Fold

SCRIPT = Path(__file__).with_name("preorder_peer.py")
#: As `preorder_peer.py` names them: kind of order, target loss, height of the order.
ALGORITHMS = tuple(
    f"{order}, {target}, height {height}"
    for order in ("PreOrder", "PartialOrder")
    for target in ("Hamming", "Subset")
    for height in ("2", "any")
)


class PreorderPeer(BaseEstimator):
    """The settings of preorder4mlc; its authors' experiments use random forests.

    Parameters
    ----------
    learner : {"RF", "ETC", "XGBoost", "LightGBM"}
    """

    def __init__(self, learner: str = "RF") -> None:
        self.learner = learner


def open_points(model: PreorderPeer, fold: Fold, python: Path) -> Figures:
    """Return coverage and accuracy of each algorithm; none has a price that would move it."""
    with tempfile.TemporaryDirectory() as folder:
        rows, out = Path(folder, "rows.npz"), Path(folder, "out.npz")
        np.savez(rows, X=fold.X, Y=fold.Y.astype(np.int32), X_test=fold.X_test)
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        command = [str(python), str(SCRIPT), str(rows), model.learner, str(out)]
        subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL)
        with np.load(out) as found:
            predicted = [found[name] for name in ALGORITHMS]
            seconds = sum(float(found[name]) for name in found if name.startswith("seconds"))
    decided = [part >= 0 for part in predicted]
    right = [part == fold.Y_test for part in predicted]
    return {
        "coverage": [float(mask.mean()) for mask in decided],
        "accuracy": [float(r[mask].mean()) for r, mask in zip(right, decided, strict=True)],
        "seconds": [seconds],
    }
