"""Ctrl-C ends a long search, also while only another thread still works."""

import pytest

# Flat rows would take hours; of the straggler's rows only the last one is flat.
SETUP = """
import numpy as np
from labelweave.inference import Annealing, Auto, Beam, BestFirst
from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint
rng = np.random.default_rng(0)
L = 300
scores = 0.1 * rng.normal(size=(40, L))
scores[: {sure}] = 1e4
joint = ChainJoint(scores, 0.1 * np.tril(rng.normal(size=(L, L)), -1), n_threads={n_threads})
if {trees}:
    parts = [IndependentJoint(scores), IndependentJoint(scores[:, ::-1])]
    joint = MixtureJoint([0.4, 0.6], parts, n_threads={n_threads})
"""


@pytest.mark.parametrize("n_threads", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize(
    ("strategy", "sure", "trees"),
    [
        ("BestFirst(budget=10**10)", 0, False),
        ("BestFirst(budget=10**10)", 39, False),
        ("Beam(2**14)", 0, False),
        ("BestFirst(budget=10**10)", 0, True),
        ("BestFirst(budget=10**10)", 39, True),
        ("Annealing(steps=10**7)", 0, True),
        ("Auto(budget=10)", 0, False),
    ],
)
def test_a_long_search_can_be_interrupted(interruptible, strategy, sure, trees, n_threads):
    setup = SETUP.format(sure=sure, n_threads=n_threads, trees=trees)
    interruptible.check_interrupted(setup, f"{strategy}(joint)")
