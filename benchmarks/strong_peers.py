"""Rivals of the table of strong learners that are not ours: forests, boosting, BOOMER, dacaf-mlc.

A rival is a function of training rows, training labels and test rows that returns an `Outcome`.
BOOMER and dacaf-mlc need versions of NumPy and scikit-learn of their own, so they run under the
interpreters that ``LABELWEAVE_BOOMER`` and ``LABELWEAVE_DACAF`` name, of environments with the
packages ``mlrl-boomer`` and ``dacaf-mlc``; LightGBM is ``pip install lightgbm``.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.multioutput import ClassifierChain as GreedyChain

from benchmarks.weave import Alone
from labelweave import MLkNN
from labelweave._common.arrays import Labels
from labelweave.joint import JointDistribution
from labelweave.models.forest import laid_out_for_trees


@dataclass(frozen=True)
class Outcome:
    """Labels of the test rows by measure (or "" for all others), and their joint distribution."""

    labels: dict[str, Labels]
    joint: JointDistribution | None = None


Rival = Callable[[Any, Labels, Any], Outcome]


def alone(estimator: Any, votes: int | None = None) -> Rival:
    """Return a classifier whose labels are independent, and present if likelier than not."""

    def outcome(X: Any, Y: Labels, X_test: Any) -> Outcome:
        model = Alone(estimator=estimator, votes=votes, random_state=0, decision="hamming")
        model.fit(X, Y)
        joint = model.predict_joint(X_test)
        return Outcome({"": model.predict(X_test)}, joint)

    return outcome


def _boosted(X: Any, Y: Labels, X_test: Any) -> Outcome:
    """Return scikit-learn's boosting, label by label; it does not take sparse features."""
    dense = [part.toarray() if sparse.issparse(part) else part for part in (X, X_test)]
    return alone(HistGradientBoostingClassifier())(dense[0], Y, dense[1])


def _lightgbm(X: Any, Y: Labels, X_test: Any) -> Outcome:
    """Return the same boosting by LightGBM, which takes sparse features as they are."""
    from lightgbm import LGBMClassifier

    return alone(LGBMClassifier(n_jobs=1, verbose=-1))(X, Y, X_test)


def forest(estimator: Any) -> Rival:
    """Return a forest alone, on dense features where it grows faster on those."""

    def outcome(X: Any, Y: Labels, X_test: Any) -> Outcome:
        X = laid_out_for_trees(X)
        return alone(estimator, votes=estimator.n_estimators)(X, Y, _like(X, X_test))

    return outcome


def _like(X: Any, X_test: Any) -> Any:
    """Return test rows as dense as the training rows are."""
    return X_test.toarray() if isinstance(X, np.ndarray) and sparse.issparse(X_test) else X_test


def _greedy_chain(X: Any, Y: Labels, X_test: Any) -> Outcome:
    X = laid_out_for_trees(X)
    X_test = _like(X, X_test)
    varies = np.flatnonzero(Y.min(axis=0) != Y.max(axis=0))
    labels = np.tile(Y[0], (X_test.shape[0], 1))
    chain = GreedyChain(RandomForestClassifier(n_estimators=100, random_state=0))
    labels[:, varies] = chain.fit(X, Y[:, varies]).predict(X_test)
    return Outcome({"": labels})


BOOMER = """
import os, sys
from scipy import sparse
import numpy as np
from mlrl.boosting import BoomerClassifier
folder, loss = sys.argv[1:]
X, X_test = (sparse.load_npz(f"{folder}/{name}.npz") for name in ("X", "X_test"))
if X.nnz > 0.5 * np.prod(X.shape):
    X, X_test = X.toarray(), X_test.toarray()
model = BoomerClassifier(random_state=1, loss=loss)
X, X_test = X.astype(np.float32), X_test.astype(np.float32)
predicted = model.fit(X, np.load(f"{folder}/Y.npy")).predict(X_test)
np.save(f"{folder}/labels.npy", getattr(predicted, "toarray", lambda: predicted)())
os._exit(0)  # version 0.12.3 corrupts the heap when it is torn down
"""

DACAF = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from dacaf_mlc import ProbabilisticClassifierChain
folder = sys.argv[1]
X, X_test = (sparse.load_npz(f"{folder}/{name}.npz").toarray() for name in ("X", "X_test"))
model = ProbabilisticClassifierChain(LogisticRegression(C=0.1, max_iter=1000))
model.fit(X, np.load(f"{folder}/Y.npy").astype(int))
np.save(f"{folder}/labels.npy", model.predict_subset(X_test))
"""


def _elsewhere(variable: str, program: str, *arguments: str) -> Rival:
    """Return a rival that a program under another interpreter predicts for."""

    def outcome(X: Any, Y: Labels, X_test: Any) -> Outcome:
        python = os.environ.get(variable)
        if python is None:
            raise SystemExit(f"name the interpreter in {variable}")
        with tempfile.TemporaryDirectory() as folder:
            for name, part in (("X", X), ("X_test", X_test)):
                sparse.save_npz(Path(folder, name), sparse.csr_matrix(part), compressed=False)
            np.save(Path(folder, "Y.npy"), Y.astype(np.uint8))
            command = [python, "-c", program, folder, *arguments]
            one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            done = subprocess.run(
                command, capture_output=True, text=True, env=one_thread, check=False
            )
            if done.returncode:
                raise RuntimeError(done.stderr.strip().splitlines()[-1])
            return Outcome({"": np.load(Path(folder, "labels.npy")).astype(np.int8)})

    return outcome


RIVALS: dict[str, Rival] = {
    "ExtraTrees(300)": forest(ExtraTreesClassifier(n_estimators=300)),
    "RandomForest(300)": forest(RandomForestClassifier(n_estimators=300)),
    "HistGradientBoosting per label": _boosted,
    "LightGBM per label": _lightgbm,
    "greedy chain over RandomForest(100)": _greedy_chain,
    "ML-kNN": alone(MLkNN()),
    "BOOMER, label-wise loss": _elsewhere("LABELWEAVE_BOOMER", BOOMER, "logistic-decomposable"),
    "BOOMER, example-wise loss": _elsewhere(
        "LABELWEAVE_BOOMER", BOOMER, "logistic-non-decomposable"
    ),
    "dacaf-mlc": _elsewhere("LABELWEAVE_DACAF", DACAF),
}
