"""Ctrl-C ends long training, also while only another thread still works."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

# Random labels on many passes would take minutes; of the straggler's labels one has so much work.
PROGRAM = """
import numpy as np
from labelweave.baselines import LaSVM, PassiveAggressive
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(3000, 50)), rng.integers(0, 2, (3000, 40))
Y[:, {busy}:] = 0
print("ready", flush=True)
try:
    {model}.fit(X, Y)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
COMMON = "labelling='fixed', shuffle=False"


@pytest.mark.parametrize(
    ("model", "busy", "n_jobs"),
    [
        ("LaSVM(C=100.0, tol=1e-9, passes=1000", 40, 1),
        ("LaSVM(C=100.0, tol=1e-9, passes=1000", 1, 2),
        ("PassiveAggressive(C=1.0, passes=20_000", 40, 2),
    ],
)
def test_long_training_can_be_interrupted(model, busy, n_jobs):
    program = PROGRAM.format(model=f"{model}, {COMMON}, n_jobs={n_jobs})", busy=busy)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=1.5)  # by now it is inside the training
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert output == "interrupted\n"
    assert process.returncode == 0
