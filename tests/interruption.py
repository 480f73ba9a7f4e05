"""Ctrl-C during long work, in a process of its own that survives it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

# Long enough for the work to be inside the kernel, which it enters at once.
BEGUN = 0.2
# Less than the work takes, and a hundred times what the answer to a signal takes; both grow alike
# on a busy machine.
ANSWERED = 60.0
# Only a hang takes so long.
PATIENCE = 600.0


def _serve(programs: Connection) -> None:
    """Run programs until there are no more; a program that is interrupted ends only itself."""
    # A shell that runs the tests in the background lets its children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while (program := programs.recv()) is not None:
        setup, work = program
        names: dict[str, object] = {}
        exec(setup, names)
        try:
            programs.send("ready")
            exec(work, names)
            programs.send("ended")
        except KeyboardInterrupt:
            programs.send("interrupted")


class Interruptible:
    """A process that runs one program after the other: starting one for each costs the most."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._programs, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def check_interrupted(self, setup: str, work: str) -> None:
        """Assert that `work`, which would not end by itself, ends soon after an interrupt."""
        if not self._process.is_alive():  # an earlier program broke it
            self._start()
        self._programs.send((setup, work))
        try:
            assert self._next(PATIENCE) == "ready"
            assert self._next(BEGUN) is None, "the work was over before it was interrupted"
            assert self._process.pid is not None
            os.kill(self._process.pid, signal.SIGINT)
            assert self._next(ANSWERED) == "interrupted"
        except BaseException:
            self._process.kill()
            self._process.join()
            raise

    def _next(self, seconds: float) -> str | None:
        # In many short waits: while both processes are suspended, only one of them passes.
        for _ in range(round(seconds / 0.1)):
            if self._programs.poll(0.1):
                answer: str = self._programs.recv()
                return answer
        return None

    def leave(self) -> int | None:
        """End the process and return its exit code, None if it does not end."""
        if self._process.is_alive():
            self._programs.send(None)
        self._process.join(PATIENCE)
        return self._process.exitcode
