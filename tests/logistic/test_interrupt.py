"""Ctrl-C ends a long solve, also while only another thread still works."""

from __future__ import annotations

import pytest

SETUP = """
import numpy as np, scipy.sparse as sp
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import solve_problems
from tests.logistic.make import solve
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 60))
T = rng.integers(0, 2, size=(1000, 40_000), dtype=np.int8)
"""
MANY_PROBLEMS = """
while True:
    solve({form}, T, tol=1e-14, n_threads={n_threads})
"""
# The first problem ends at once (its start is NaN), the second does not end by itself.
ONE_STRAGGLER = """
T = np.repeat([[1, 1], [1, 0], [0, 0], [1, 0]], 250, axis=0)
start = np.zeros((2, 61))
start[0] = np.nan
problems = LogisticProblems(X={form}, targets=T.astype(np.int8), start=start, C=np.ones((2, 1)),
                            target_of=np.arange(2, dtype=np.int32))
while True:
    solve_problems(problems, tol=-1.0, max_iter=2**31 - 1, n_threads={n_threads})
"""


@pytest.mark.parametrize("n_threads", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("form", ["X", "sp.csr_array(X)"])
@pytest.mark.parametrize("work", [MANY_PROBLEMS, ONE_STRAGGLER], ids=["many", "straggler"])
def test_a_long_solve_can_be_interrupted(interruptible, work, form, n_threads):
    interruptible.check_interrupted(SETUP, work.format(form=form, n_threads=n_threads))
