"""The choice of a SIMD level at import."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from labelweave import _cpu
from labelweave._core import choose_level, native

LEVELS = ("v2", "v3", "v4")
# A build may leave levels out.
BUILT = [level for level in _cpu.levels() if find_spec(f"labelweave._native_{level}")]


@pytest.mark.parametrize("n_available", [1, 2, 3])
def test_the_best_level_is_chosen_unless_another_one_is_asked_for(n_available):
    available = LEVELS[:n_available]
    assert choose_level("", available, LEVELS) == available[-1]
    for level in available:
        assert choose_level(level, available, LEVELS) == level


def test_a_level_must_be_compiled_and_the_cpu_must_have_it():
    assert choose_level("", LEVELS, ("v2", "v3")) == "v3"
    with pytest.raises(
        ImportError,
        match=r"LABELWEAVE_SIMD=v4 is not available: this CPU supports v2, v3\. .*: v2, v3\.",
    ):
        choose_level("v4", LEVELS[:2], LEVELS)
    with pytest.raises(ImportError, match="compiled for v2, v3"):
        choose_level("v4", LEVELS, LEVELS[:2])
    with pytest.raises(ImportError, match="compiled for v3"):
        choose_level("", ("v2",), ("v3",))
    with pytest.raises(ImportError, match="none of x86-64-v2"):
        choose_level("", (), LEVELS)


def test_the_environment_variable_forces_a_level():
    command = [sys.executable, "-c", "from labelweave._core import native; print(native.level())"]
    for level in (*BUILT, "v9"):
        result = subprocess.run(
            command,
            env=os.environ | {"LABELWEAVE_SIMD": level},
            capture_output=True,
            text=True,
            check=False,
        )
        if level == "v9":
            assert "LABELWEAVE_SIMD=v9 is not available" in result.stderr
        else:
            assert result.stdout.strip() == level


def test_the_compiler_is_named():
    assert native.compiler().startswith(("GCC ", "clang", "Clang", "Debian", "Ubuntu", "Apple"))
