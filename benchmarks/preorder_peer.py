"""Predict with preorder4mlc, whose partial abstention follows from preference orders of labels.

Run by `benchmarks.abstention` in an environment that has preorder4mlc (it need not have
labelweave): ``python preorder_peer.py ROWS.npz LEARNER OUT.npz``. ROWS has X, Y and X_test; OUT has
predictions of 0, 1 and -1 (open), one array for each inference algorithm, and CPU seconds.
"""

from __future__ import annotations

import os
import sys
import time

# The package asks for all cores; the benchmarks run on one.
os.environ["LOKY_MAX_CPU_COUNT"] = "1"

import numpy as np


def predictions(X: object, Y: object, X_test: object, learner: str) -> dict[str, object]:
    """Return predictions by kind of order, target loss and height: the paper's eight algorithms."""
    from preorder4mlc.constants import TargetMetric
    from preorder4mlc.inference_models import PredictBOPOs, PreferenceOrder

    found = {}
    for order in PreferenceOrder:
        started = time.process_time()
        model = PredictBOPOs(learner, order)
        model.fit(X, Y)
        n_rows, n_labels = len(X_test), Y.shape[1]
        probabilities = model.predict_proba(X_test, n_labels)
        found[f"seconds {order.value}, fit"] = time.process_time() - started
        for target in TargetMetric:
            for height in (2, None):
                started = time.process_time()
                *_, abstaining = model.predict_preference_orders(
                    probabilities, n_labels, n_rows, target, height
                )
                name = f"{order.value}, {target.value}, height {height or 'any'}"
                found[name] = np.array(abstaining, dtype=np.int8)
                found[f"seconds {name}"] = time.process_time() - started
    return found


if __name__ == "__main__":
    rows, learner, out = sys.argv[1:]
    with np.load(rows) as given:
        np.savez(out, **predictions(given["X"], given["Y"], given["X_test"], learner))
