"""Stages of long work, for whoever watches; nobody does by default, and then they cost nothing.

Code that takes long says where it is by ``with stage(name, total) as advance``. Who wants to know
calls it inside ``with watching(show)``: `show` is called with the open stages, the outermost first,
whenever one begins, advances or ends.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias

# Work that is over sooner is not worth a word.
_WORTH_SHOWING = 1.0


@dataclass
class Stage:
    """A part of long work.

    Attributes
    ----------
    name : str
    total : int or None
        Number of steps, if known.
    done : int
        Steps that are finished.
    began : float
        When, by the monotonic clock.
    """

    name: str
    total: int | None = None
    done: int = 0
    began: float = field(default_factory=time.monotonic)


Watcher: TypeAlias = Callable[[tuple[Stage, ...]], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_open: ContextVar[tuple[Stage, ...]] = ContextVar("stages", default=())


@contextmanager
def watching(show: Watcher) -> Iterator[None]:
    """Have the stages of what is called in this context shown."""
    token = _watcher.set(show)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Say that a part of long work goes on; what is returned is to be called after every step."""
    show = _watcher.get()
    if show is None:
        yield lambda: None
        return
    current = Stage(name, total)
    stages = (*_open.get(), current)

    def advance() -> None:
        current.done += 1
        show(stages)

    token = _open.set(stages)
    show(stages)
    try:
        yield advance
    finally:
        _open.reset(token)
        show(stages[:-1])


def steps(name: str, things: list[Any]) -> Iterator[Any]:
    """Yield the things of a list, each a step of a stage."""
    with stage(name, len(things)) as advance:
        for thing in things:
            yield thing
            advance()


@contextmanager
def progress_shown(title: str, file: IO[str] | None = None) -> Iterator[None]:
    """Show the stages of what is called in this context as bars, once it has taken a second."""
    from rich.console import Console

    console = Console(file=file or sys.stderr)
    if not (console.is_terminal or console.is_jupyter):
        yield
        return
    bars = _Bars(title, console)
    try:
        with watching(bars.show):
            yield
    finally:
        bars.close()


class _Bars:
    """Rich's progress bars, one for each open stage, from a second after the work began."""

    def __init__(self, title: str, console: Any) -> None:
        self._title, self._console = title, console
        self._lock = threading.Lock()
        self._stages: tuple[Stage, ...] = ()
        self._progress: Any = None
        self._closed = False
        self._tasks: dict[int, Any] = {}
        # A stage may be one long call of a kernel, so the time is not looked at between steps.
        self._timer = threading.Timer(_WORTH_SHOWING, self._start)
        self._timer.daemon = True
        self._timer.start()

    def show(self, stages: tuple[Stage, ...]) -> None:
        """Draw the open stages."""
        with self._lock:
            self._stages = stages
            if self._progress is not None:
                self._draw()

    def close(self) -> None:
        """Take the bars away."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._progress is not None:
                self._progress.stop()

    def _start(self) -> None:
        from rich import progress

        columns = (
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[count]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
        )
        with self._lock:
            if self._closed:  # between the timer and here
                return
            self._progress = progress.Progress(
                *columns,
                console=self._console,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # else what is printed goes to a file
            )
            self._progress.start()
            self._progress.add_task(self._title, total=None, count="", left="")
            self._draw()

    def _draw(self) -> None:
        known = {id(each) for each in self._stages}
        for key in [key for key in self._tasks if key not in known]:
            self._progress.remove_task(self._tasks.pop(key))
        for each in self._stages:
            if id(each) not in self._tasks:
                added = self._progress.add_task(each.name, total=each.total, count="", left="")
                self._tasks[id(each)] = added
            if each.total is not None:
                self._progress.update(
                    self._tasks[id(each)],
                    completed=each.done,
                    count=f"{each.done} of {each.total}",
                    left=_left(each),
                )


def _left(each: Stage) -> str:
    """Return how long the rest of a stage takes, if all its steps are alike."""
    if each.total is None or each.done == 0:
        return ""
    seconds = (time.monotonic() - each.began) / each.done * (each.total - each.done)
    return f"{seconds:.0f} s left" if seconds < 120 else f"{seconds / 60:.0f} min left"
