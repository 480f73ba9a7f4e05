"""Ctrl-C ends a long solve, also while only another thread still works."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

MANY_PROBLEMS = """
    X, T = rng.normal(size=(1000, 60)), rng.integers(0, 2, size=(1000, 400))
    def work():
        solve({form}, np.tile(T, (1, 100)), tol=1e-14, n_threads={n_threads})
"""
# The first problem ends at once (its start is NaN), the second does not end by itself.
ONE_STRAGGLER = """
    X, T = rng.normal(size=(1000, 60)), np.repeat([[1, 1], [1, 0], [0, 0], [1, 0]], 250, axis=0)
    start = np.zeros((2, 61))
    start[0] = np.nan
    problems = LogisticProblems(X={form}, targets=T.astype(np.int8), start=start, C=np.ones((2, 1)),
                                target_of=np.arange(2, dtype=np.int32))
    def work():
        solve_problems(problems, tol=-1.0, max_iter=2**31 - 1, n_threads={n_threads})
"""
PROGRAM = """
import numpy as np, scipy.sparse as sp
from labelweave.logistic import LogisticProblems, solve, solve_problems
rng = np.random.default_rng(0)
{work}
print("ready", flush=True)
try:
    while True:
        work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("form", ["X", "sp.csr_array(X)"])
@pytest.mark.parametrize("work", [MANY_PROBLEMS, ONE_STRAGGLER], ids=["many", "straggler"])
def test_a_long_solve_can_be_interrupted(work, form, n_threads):
    work = textwrap.dedent(work).format(form=form, n_threads=n_threads)
    program = PROGRAM.format(work=work)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.7)  # by now it is inside the first solve
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert output == "interrupted\n"
    assert process.returncode == 0
