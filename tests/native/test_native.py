"""The kernels as C++ calls them, for every level and for aarch64 under an emulator."""

import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from labelweave import _cpu
from tests.conftest import PROJECT

HERE = Path(__file__).parent
TOPICS = ("chain", "design", "linalg", "logistic")  # what kernels.cpp calls, and what that needs
SOURCES = {
    "simd": [HERE / "simd.cpp"],
    "kernels": [
        HERE / "kernels.cpp",
        *(path for topic in TOPICS for path in sorted((PROJECT / "native" / topic).glob("*.cpp"))),
    ],
}
FLAGS = ["-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-pthread"]
PROGRAMS = ["simd", pytest.param("kernels", marks=pytest.mark.slow)]


def build_and_run(compiler, flags, program, folder, launcher=()):
    binary = folder / program
    includes = ["-I", PROJECT / "native", "-I", HERE]
    command = [compiler, *FLAGS, *flags, *includes, *SOURCES[program], "-o", binary]
    subprocess.run(command, check=True)
    result = subprocess.run([*launcher, binary], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.startswith("0 failures")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "level",
    [
        pytest.param(level, marks=() if level == _cpu.levels()[-1] else pytest.mark.slow)
        for level in ("v2", "v3", "v4")
    ],
)
def test_programs_at_each_level(level, program, tmp_path):
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("levels v2 to v4 are those of x86-64")
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no compiler {compiler}")
    if level not in _cpu.levels():
        pytest.skip(f"this CPU does not have x86-64-{level}")
    build_and_run(compiler, [f"-march=x86-64-{level}"], program, tmp_path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_on_aarch64(program, tmp_path):
    compiler = shutil.which("aarch64-linux-gnu-g++")
    emulator = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    if compiler is None or emulator is None:
        pytest.skip(
            "needs aarch64-linux-gnu-g++ and qemu-aarch64 (g++-aarch64-linux-gnu, qemu-user)"
        )
    build_and_run(compiler, ["-static"], program, tmp_path, launcher=[emulator])
