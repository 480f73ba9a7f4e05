"""Threads that cannot start and memory that is not there end in a result or an error."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.scarcity.work import WORK

# Only a hang takes so long.
PATIENCE = 600


@pytest.fixture(scope="session")
def refuser(tmp_path_factory):
    """Compile what refuses threads and memory."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C++ compiler and Linux's LD_PRELOAD")
    library = tmp_path_factory.mktemp("refuser") / "refuse.so"
    source = Path(__file__).with_name("refuse.cpp")
    words = [compiler, "-std=c++17", "-shared", "-fPIC", "-o", library, source, "-ldl"]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    if built.returncode:
        pytest.skip(f"the compiler cannot build it: {built.stderr[:200]}")
    return library


def run(words, **environment):
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        timeout=PATIENCE,
        env=os.environ | environment,
    )


@pytest.mark.slow
@pytest.mark.parametrize("piece", WORK)
@pytest.mark.parametrize("way", ["threads", "memory"])
def test_a_result_or_an_error(way, piece, refuser):
    done = run(["-m", "tests.scarcity", way, piece], LD_PRELOAD=str(refuser))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0  # something was refused


EXIT = """
import threading, time
from tests.scarcity.work import WORK
def work(piece, begun):
    while True:
        begun.set()
        WORK[piece]()
for piece in {pieces!r}:
    begun = threading.Event()
    threading.Thread(target=work, args=(piece, begun), daemon=True).start()
    begun.wait()
time.sleep({seconds})
print("leaving")
"""


def check_exit(pieces, seconds):
    """Leave while pieces of work run; none that calls `np.unique`, where NumPy itself aborts."""
    done = run(["-c", EXIT.format(pieces=pieces, seconds=seconds)])
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


@pytest.mark.slow
def test_the_interpreter_may_exit_while_daemon_threads_fit():
    """Those of a solve and those of one state, in one interpreter: starting it takes longest."""
    check_exit(["logistic", "coupled"], 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["logistic", "lasvm", "search", "coupled"])
@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_the_interpreter_may_exit_while_a_daemon_thread_fits(piece, seconds):
    check_exit([piece], seconds)
