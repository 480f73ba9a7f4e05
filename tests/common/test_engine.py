"""Worker processes: they end with the process that started them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.interruption import PATIENCE

# One call that does not end, and two workers: the other one waits for a call that never comes.
PROGRAM = """
import time
from labelweave._common.engine import Call, JoblibEngine

def work():
    print("begun", flush=True)
    time.sleep(10_000)

list(JoblibEngine(2).run([Call("work", work, ())]))
"""


def children(pid: int) -> set[int]:
    """Return the children of all threads of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(child) for each in lists for child in each.read_text().split()}


def runs(pid: int) -> bool:
    """Whether a process is there and has not ended; nobody may have asked yet how it did."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_workers_of_a_killed_process_end():
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        workers = children(process.pid)
        assert len(workers) >= 2
        process.kill()
    waited = time.monotonic()
    while any(map(runs, workers)) and time.monotonic() - waited < PATIENCE:
        time.sleep(0.1)
    assert not any(map(runs, workers))
