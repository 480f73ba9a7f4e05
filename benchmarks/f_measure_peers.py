"""Other ways to the vector of the best expected F1: three in NumPy, and dacaf-mlc."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from labelweave.joint import ChainJoint, TreeJoint
from labelweave.joint.enumeration import label_vectors

Floats = NDArray[np.float64]
Labels = NDArray[np.int8]

# Rows at a time, the fastest of 8, 16 … 512 for each.
GENERAL_BLOCK, RECURSION_BLOCK = 64, 256


# ---------------------------------------------------------------------- the general maximiser


def maximiser(by_label: Floats, none: Floats) -> Labels:
    """Return the best vectors given P(y_j = 1, |y| = s) and P(|y| = 0)."""
    n_rows, n_labels, _ = by_label.shape
    sizes = np.arange(1, n_labels + 1)
    labels = np.zeros((n_rows, n_labels), dtype=np.int8)
    for start in range(0, n_rows, GENERAL_BLOCK):
        rows = slice(start, start + GENERAL_BLOCK)
        gains = by_label[rows, :, 1:] @ (2.0 / (sizes[:, None] + sizes))
        order = np.argsort(-gains, axis=1, kind="stable")
        ranked = np.cumsum(np.take_along_axis(gains, order, axis=1), axis=1)
        expected = np.diagonal(ranked, axis1=1, axis2=2)
        best = np.argmax(np.column_stack([none[rows], expected]), axis=1)
        chosen = np.take_along_axis(order, np.maximum(best - 1, 0)[:, None, None], axis=2)[:, :, 0]
        np.put_along_axis(labels[rows], chosen, np.arange(n_labels) < best[:, None], axis=1)
    return labels


def independent_by_label(p: Floats) -> tuple[Floats, Floats]:
    """Return P(y_j = 1, |y| = s) and P(|y| = 0) of independent labels.

    The polynomial of the number of labels is divided by the factor of each label: from the lowest
    coefficient up where the label is likelier absent, from the highest down elsewhere.
    """
    n_rows, n_labels = p.shape
    total = np.zeros((n_labels + 1, n_rows))
    total[0] = 1.0
    for j in range(n_labels):
        total[1 : j + 2] = total[1 : j + 2] * (1 - p[:, j]) + total[: j + 1] * p[:, j]
        total[0] *= 1 - p[:, j]
    out = np.zeros((n_labels + 1, n_rows, n_labels))
    rare = p <= 0.5
    small, large = np.where(rare, p, 1 - p), np.where(rare, 1 - p, p)
    rest = np.zeros_like(p)
    for s in range(n_labels):
        coefficient = np.where(rare, total[s][:, None], total[n_labels - s][:, None])
        rest = (coefficient - small * rest) / large
        out[s + 1] = rest
    backwards = np.concatenate([out[:1], out[:0:-1]])
    return np.moveaxis(np.where(rare, out, backwards) * p, 0, 2), total[0]


def general(scores: Floats) -> Labels:
    """Return the best vectors for log-odds of independent labels, by way of P(y_j = 1, |y| = s)."""
    parts = [
        expit(scores[start : start + GENERAL_BLOCK])
        for start in range(0, len(scores), GENERAL_BLOCK)
    ]
    return np.concatenate([maximiser(*independent_by_label(p)) for p in parts])


# ---------------------------------------------------------------------- Ye et al. (2012)


def recursion(scores: Floats) -> Labels:
    """Return the best vectors for log-odds of independent labels, by the recursion in O(L²).

    Rows are the last axis throughout, so that each step is one operation on a contiguous block.
    """
    labels = np.zeros(scores.shape, dtype=np.int8)
    for start in range(0, len(scores), RECURSION_BLOCK):
        rows = slice(start, start + RECURSION_BLOCK)
        order = np.argsort(-scores[rows], axis=1, kind="stable")
        p = np.ascontiguousarray(expit(np.take_along_axis(scores[rows], order, axis=1)).T)
        best = np.argmax(_expected_of_top(p), axis=0)
        chosen = np.arange(len(p)) < best[:, None]
        np.put_along_axis(labels[rows], order, chosen, axis=1)
    return labels


def _expected_of_top(p: Floats) -> Floats:
    """Return the expected F1 of the 0 … L most probable labels, (L + 1, n)."""
    n_labels, n_rows = p.shape
    counts = np.zeros((n_labels + 1, n_labels + 1, n_rows))  # P(i of the first k are true)
    counts[0, 0] = 1.0
    for k in range(1, n_labels + 1):
        counts[k, : k + 1] = counts[k - 1, : k + 1] * (1 - p[k - 1])
        counts[k, 1 : k + 1] += counts[k - 1, :k] * p[k - 1]
    expected = np.empty((n_labels + 1, n_rows))
    expected[0] = counts[n_labels, 0]
    found = 2.0 * np.arange(1, n_labels + 1)
    # The mean of 1 / (a + number of true labels beyond the first k), a = 1 … 2k.
    shares = np.repeat(1.0 / np.arange(1, 2 * n_labels + 1)[:, None], n_rows, axis=1)
    for k in range(n_labels, 0, -1):
        terms = counts[k, 1 : k + 1] * shares[k : 2 * k]
        expected[k] = found[:k] @ terms
        shares = shares[:-2] * (1 - p[k - 1]) + shares[1:-1] * p[k - 1]
    return expected


# ---------------------------------------------------------------------- all vectors


def enumerated(joint: ChainJoint | TreeJoint) -> Labels:
    """Return the best vectors from the probabilities of all 2^L vectors, rows in blocks."""
    vectors = label_vectors(joint.n_labels)
    sizes = vectors.sum(axis=1)
    members = [(np.flatnonzero(sizes == s), s) for s in range(joint.n_labels + 1)]
    parts = []
    for start in range(0, joint.n_rows, 16):
        table = _table(joint[start : start + 16], vectors)
        by_label = np.zeros((len(table), joint.n_labels, joint.n_labels + 1))
        for columns, s in members:
            by_label[:, :, s] = table[:, columns] @ vectors[columns].astype(np.float64)
        parts.append(maximiser(by_label, table[:, 0]))
    return np.concatenate(parts)


def _table(joint: ChainJoint | TreeJoint, vectors: Labels) -> Floats:
    table = np.ones((joint.n_rows, len(vectors)))
    for j in range(joint.n_labels):
        if isinstance(joint, ChainJoint):
            z = joint.conditionals.scores[:, j, None] + vectors @ joint.conditionals.coupling[j]
        else:
            parent = joint.parents[j]
            value = vectors[:, parent] if parent >= 0 else np.zeros(len(vectors), dtype=np.int8)
            z = joint.logits[:, j, value]
        table *= expit(np.where(vectors[:, j] == 1, z, -z))
    return table


# ---------------------------------------------------------------------- dacaf-mlc

DACAF = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.linear_model import LogisticRegression
from dacaf_mlc.probability_classifier_chains import ProbabilisticClassifierChain, bop_fmeasure
data, rounds = np.load(sys.argv[1]), int(sys.argv[2])
model = ProbabilisticClassifierChain(LogisticRegression(C=0.1, max_iter=1000))
model.fit(data["X"], data["Y"])
# Eight rows at a time, the fastest of 1, 4, 8, 32 and all.
blocks = [data["X_test"][i : i + 8] for i in range(0, len(data["X_test"]), 8)]
whole, decoder = [], []
for _ in range(rounds):
    start = time.process_time()
    labels = np.concatenate([model.predict_fmeasure(X) for X in blocks])
    whole.append(time.process_time() - start)
stats = model.compute_stats(data["X_test"], needs={"pairwise"}, batch_size=8)
for _ in range(rounds):
    start = time.process_time()
    bop_fmeasure(stats)
    decoder.append(time.process_time() - start)
L = data["Y"].shape[1]
D = data["X"].shape[1]
weights, coupling = np.zeros((L, D)), np.zeros((L, L))
for j, fitted in enumerate(model.ensemble):
    weights[j], coupling[j, :j] = fitted.coef_[0, :D], fitted.coef_[0, D:]
intercept = np.array([fitted.intercept_[0] for fitted in model.ensemble])
np.savez(sys.argv[3], labels=labels, whole=whole, decoder=decoder, by_label=stats.pairwise,
         none=stats.p_empty[:, 0], weights=weights, coupling=coupling, intercept=intercept)
"""


@dataclass(frozen=True)
class Dacaf:
    """What dacaf-mlc predicted, the chain it fitted, and the CPU seconds of every run."""

    labels: Labels
    whole: Floats
    decoder: Floats
    by_label: Floats
    none: Floats
    weights: Floats
    coupling: Floats
    intercept: Floats


def run_dacaf(python: Path, X: Floats, Y: Labels, X_test: Floats, rounds: int) -> Dacaf:
    """Fit and predict with dacaf-mlc, which needs an older NumPy, by an interpreter of its own."""
    with tempfile.TemporaryDirectory() as folder:
        data, result = Path(folder) / "data.npz", Path(folder) / "result.npz"
        np.savez(data, X=X, Y=Y, X_test=X_test)
        command = [str(python), "-c", DACAF, str(data), str(rounds), str(result)]
        one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, env=os.environ | one_thread, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"dacaf-mlc failed under {python}:\n{done.stderr}")
        return Dacaf(**np.load(result))
