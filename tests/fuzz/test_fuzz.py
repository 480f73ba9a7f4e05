"""A few cases of every target, and all that were ever broken; ``python -m tests.fuzz`` has more."""

from __future__ import annotations

import pytest

from tests.fuzz.__main__ import kept_seeds
from tests.fuzz.targets import TARGETS, run_case


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("target", TARGETS)
def test_first_cases(target, folder):
    for seed in range(25):
        run_case(target, seed, folder)


@pytest.mark.parametrize(("target", "seed"), kept_seeds())
def test_cases_that_were_broken_once(target, seed, folder):
    run_case(target, seed, folder)
