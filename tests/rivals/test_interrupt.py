"""Ctrl-C ends long training, also while only another thread still works."""

from __future__ import annotations

import pytest

# Random labels on many passes would take minutes; of the straggler's labels one has so much work.
SETUP = """
import numpy as np
from labelweave import LaSVM, PassiveAggressive
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(3000, 50)), rng.integers(0, 2, (3000, 40))
Y[:, {busy}:] = 0
"""
COMMON = "decision='fixed', shuffle=False"


@pytest.mark.parametrize(
    ("model", "busy", "n_jobs"),
    [
        ("LaSVM(C=100.0, tol=1e-9, passes=1000", 40, 1),
        pytest.param("LaSVM(C=100.0, tol=1e-9, passes=1000", 1, 2, marks=pytest.mark.slow),
        ("PassiveAggressive(C=1.0, passes=20_000", 40, 2),
    ],
)
def test_long_training_can_be_interrupted(interruptible, model, busy, n_jobs):
    work = f"{model}, {COMMON}, n_jobs={n_jobs}).fit(X, Y)"
    interruptible.check_interrupted(SETUP.format(busy=busy), work)
