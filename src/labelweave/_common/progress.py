"""Stages of long work, and the one way to show them.

Code that takes long announces its stages by ``with stage(name, total) as advance``. Inside ``with
watching(show)``, `show` is called with the open stages, the outermost first, whenever one begins,
advances or ends. `progress_shown` watches with progress bars.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias

# Seconds: shorter work is not worth showing.
_WORTH_SHOWING = 1.0
_BETWEEN_LINES = 60.0


@dataclass
class Stage:
    """A part of long work. The note of its last step is shown in place of the number of steps."""

    name: str
    total: int | None = None
    done: int = 0
    #: On the monotonic clock.
    began: float = field(default_factory=time.monotonic)
    note: str = ""


Watcher: TypeAlias = Callable[[tuple[Stage, ...]], None]

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_open: ContextVar[tuple[Stage, ...]] = ContextVar("stages", default=())


@contextmanager
def watching(show: Watcher) -> Iterator[None]:
    """Call `show` with the open stages of all work that is done in this context."""
    token = _watcher.set(show)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Announce a part of long work; yield a function to call at each step, perhaps with a note."""
    show = _watcher.get()
    if show is None:
        yield lambda note="": None
        return
    current = Stage(name, total)
    stages = (*_open.get(), current)

    def advance(note: str = "") -> None:
        current.done += 1
        current.note = note
        show(stages)

    token = _open.set(stages)
    show(stages)
    try:
        yield advance
    finally:
        _open.reset(token)
        show(stages[:-1])


def steps(name: str, things: list[Any]) -> Iterator[Any]:
    """Yield the items of a list, each of which is one step of a stage."""
    with stage(name, len(things)) as advance:
        for thing in things:
            yield thing
            advance()


@contextmanager
def progress_shown(
    title: str, file: IO[str] | None = None, *, lines: bool = False
) -> Iterator[None]:
    """Show the stages of the work in this context as bars, once it has taken a second.

    Only terminals and notebooks have bars. Elsewhere nothing is shown, or with `lines` a line after
    each twentieth of the outermost stage and after each minute.
    """
    from rich.console import Console

    file = file or sys.stderr
    console = Console(file=file)
    if not (console.is_terminal or console.is_jupyter):
        with watching(_Lines(file).show) if lines else nullcontext():
            yield
        return
    bars = _Bars(title, console)
    try:
        with watching(bars.show):
            yield
    finally:
        bars.close()


class _Lines:
    """Log lines about the outermost stage."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._twentieth, self._printed_at = file, 0, time.monotonic()

    def show(self, stages: tuple[Stage, ...]) -> None:
        if not stages or not stages[0].total:
            return
        outer = stages[0]
        twentieth, now = 20 * outer.done // stages[0].total, time.monotonic()
        if twentieth > self._twentieth or now - self._printed_at > _BETWEEN_LINES:
            self._twentieth, self._printed_at = twentieth, now
            text = f"{outer.done} of {outer.total} {outer.name}"
            print(", ".join(filter(None, [text, _left(outer)])), file=self._file, flush=True)


class _Bars:
    """Rich's progress bars, one for each open stage, from a second after the work began."""

    def __init__(self, title: str, console: Any) -> None:
        self._title, self._console = title, console
        self._lock = threading.Lock()
        self._stages: tuple[Stage, ...] = ()
        self._progress: Any = None
        self._closed = False
        self._tasks: dict[int, Any] = {}
        # A stage may be one long call of a kernel, so a timer starts the bars, not a step.
        self._timer = threading.Timer(_WORTH_SHOWING, self._start)
        self._timer.daemon = True
        self._timer.start()

    def show(self, stages: tuple[Stage, ...]) -> None:
        with self._lock:
            self._stages = stages
            if self._progress is not None:
                self._draw()

    def close(self) -> None:
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
            if self._closed:  # the work ended after the timer had fired
                return
            self._progress = progress.Progress(
                *columns,
                console=self._console,
                transient=True,
                redirect_stdout=sys.stdout.isatty(),  # otherwise printed text belongs to a file
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
            if each.total is not None or each.note:
                self._progress.update(
                    self._tasks[id(each)],
                    completed=each.done,
                    count=each.note or f"{each.done} of {each.total}",
                    left=_left(each),
                )


def _left(each: Stage) -> str:
    """Return the time that the rest of a stage takes if all its steps take equally long."""
    if each.total is None or each.done in (0, each.total):
        return ""
    seconds = (time.monotonic() - each.began) / each.done * (each.total - each.done)
    if seconds < 7200:
        return f"{seconds:.0f} s left" if seconds < 120 else f"{seconds / 60:.0f} min left"
    return f"{seconds / 3600:.1f} h left"
