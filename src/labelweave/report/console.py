"""The output of reports: styled on a terminal, plain lines in a pipe."""

from __future__ import annotations

import os
from typing import TextIO

from rich.console import Console

__all__ = ["make_console"]

# A pipe has no width: lines are not wrapped unless COLUMNS is set.
_UNLIMITED = 10_000


class _Console(Console):
    """A console that leaves a reader who has left to its caller, instead of ending the program."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled."""
        raise


def make_console(file: TextIO) -> Console:
    r"""Return a console for a stream: styled on a terminal, plain and unwrapped otherwise.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> make_console(stream).print("[bold]plain[/bold]")
    >>> stream.getvalue()
    'plain\n'
    """
    is_terminal = file.isatty()
    wrapped = is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return _Console(
        file=file,
        force_terminal=None if is_terminal else False,
        width=None if wrapped else _UNLIMITED,
        highlight=False,
        soft_wrap=False,
    )
