"""Results at one SIMD level do not depend on threads; those of two levels differ by rounding.

Those of online learning do not differ at all: a stream may go on on another machine.
"""

import json
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import numpy as np
import pytest

from labelweave import _cpu
from tests.conftest import PROJECT

# A build may leave levels out, as that of `make test-sanitize` does.
LEVELS = [level for level in _cpu.levels() if find_spec(f"labelweave._native_{level}")]
# Levels add in the same order, but only v3 and v4 fuse a product with a sum. What is solved by
# iteration stops within its tolerance.
TOLERANCE = {
    "coef": 1e-9,
    "edges": 1e-5,
    "mode": 1e-6,
    "gibbs": 1e-6,
    "marginals": 1e-6,
    "pairwise": 1e-6,
    "cardinality": 1e-6,
}


@cache
def results(level):
    """Return the results with one and with three threads."""
    command = [sys.executable, "-m", "tests.native.results", "1", "3"]
    environment = os.environ | {"LABELWEAVE_SIMD": level}
    text = subprocess.run(
        command, env=environment, cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    return [
        {name: np.asarray(value) for name, value in found.items()} for found in json.loads(text)
    ]


# The lowest and the best; those between are built from the same sources.
MARKED = [
    pytest.param(level, marks=() if level in (LEVELS[0], LEVELS[-1]) else pytest.mark.slow)
    for level in LEVELS
]


@pytest.mark.parametrize("level", MARKED)
def test_a_level_gives_the_same_bits_for_any_number_of_threads(level):
    one, three = results(level)
    assert one["level"] == level
    for name, value in one.items():
        np.testing.assert_array_equal(value, three[name], err_msg=name)


@pytest.mark.parametrize("level", MARKED[1:])
def test_levels_agree_up_to_rounding_and_online_learning_to_the_last_bit(level):
    first, other = results(LEVELS[0])[0], results(level)[0]
    for name, tolerance in TOLERANCE.items():
        np.testing.assert_allclose(
            other[name], first[name], rtol=tolerance, atol=tolerance, err_msg=name
        )
    for name in (key for key in first if key.startswith("online")):
        np.testing.assert_array_equal(other[name], first[name], err_msg=name)
