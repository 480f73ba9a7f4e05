"""Other ways to the mode of a chain: plain Python best-first search, and dacaf-mlc."""

from __future__ import annotations

import heapq
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave.joint import ChainJoint


class PlainBestFirst:
    """Best-first search with the same interval bound, as one would write it with heapq and NumPy.

    It prunes by the greedy vector, bounds both continuations of a prefix in one NumPy expression
    and has everything that does not depend on the row precomputed.
    """

    def __init__(self, joint: ChainJoint) -> None:
        order = joint.order
        self.scores = joint.conditionals.scores[:, order]
        effect = joint.conditionals.coupling[
            np.ix_(order, order)
        ].T  # [p, q]: of position p on position q
        self.effect = np.stack([np.zeros_like(effect), effect], axis=1)
        # What the labels from position p on can add to every score, at most and at least.
        self.rise = np.cumsum(np.maximum(effect, 0.0)[::-1], axis=0)[::-1]
        self.fall = np.cumsum(np.minimum(effect, 0.0)[::-1], axis=0)[::-1]

    def __call__(self) -> Floats:
        """Return the log-probability of the mode of every row."""
        return np.array([self._search(z) for z in self.scores])

    def _search(self, scores: Floats) -> float:
        n_labels = len(scores)
        best = self._greedy(scores)
        ticket = 0
        heap: list[tuple[float, int, int, float, Floats]] = [(0.0, 0, 0, 0.0, scores)]
        while heap and -heap[0][0] > best + 1e-12:
            _, _, p, log_prob, z = heapq.heappop(heap)
            tail = np.logaddexp(0.0, [z[p], -z[p]])
            reached = log_prob - tail
            if p == n_labels - 1:
                best = max(best, float(reached.max()))
                continue
            after = z + self.effect[p]
            high = after[:, p + 1 :] + self.rise[p + 1, p + 1 :]
            low = after[:, p + 1 :] + self.fall[p + 1, p + 1 :]
            bound = reached - np.logaddexp(0.0, np.minimum(-high, low)).sum(axis=1)
            for y in (0, 1):
                if bound[y] > best + 1e-12:
                    ticket -= 1  # among equals the latest, which is the deepest
                    entry = (-float(bound[y]), ticket, p + 1, float(reached[y]), after[y])
                    heapq.heappush(heap, entry)
        return best

    def _greedy(self, scores: Floats) -> float:
        z, log_prob = scores.copy(), 0.0
        for p in range(len(z)):
            log_prob -= float(np.log1p(np.exp(-abs(z[p]))))
            if z[p] > 0:
                z += self.effect[p, 1]
        return log_prob


DACAF = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.linear_model import LogisticRegression
from dacaf_mlc import ProbabilisticClassifierChain
data = np.load(sys.argv[1])
model = ProbabilisticClassifierChain(LogisticRegression(C=0.1, max_iter=1000))
model.fit(data["X"], data["Y"])
seconds = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    model.predict_subset(data["X_test"])
    seconds.append(time.perf_counter() - start)
print(json.dumps(seconds))
"""


def dacaf_seconds(python: Path, X: Any, Y: Any, X_test: Any, rounds: int) -> list[float]:
    """Return the seconds dacaf-mlc takes for the modes of X_test.

    It needs versions of NumPy that this project does not allow, so it runs under an interpreter of
    its own: the one that ``python`` names.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.npz"
        np.savez(data, X=X, Y=Y, X_test=X_test)
        command = [str(python), "-c", DACAF, str(data), str(rounds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dacaf-mlc failed under {python}:\n{done.stderr}")
    seconds: list[float] = json.loads(done.stdout)
    return seconds
