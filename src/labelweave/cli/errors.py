"""Errors a person can act on: one or two lines, and an exit code.

0: fine. 1: the work failed. 2: the input or the way it was asked is wrong. 130: interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["BadInputError", "CommandError", "WorkFailedError", "argument"]


class CommandError(Exception):
    """What ends a command with a message instead of a traceback."""

    exit_code = 1


class BadInputError(CommandError):
    """What was given cannot be worked with."""

    exit_code = 2


class WorkFailedError(CommandError):
    """The input was fine, the work was not."""


@contextmanager
def argument(name: str) -> Iterator[None]:
    """Turn the library's complaints about a value into :class:`BadInputError` on the argument.

    Examples
    --------
    >>> with argument("--folds"):
    ...     raise ValueError("too few")
    Traceback (most recent call last):
    labelweave.cli.errors.BadInputError: --folds: too few
    """
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise BadInputError(f"{name}: {_in_command_line_words(error)}") from error


def _in_command_line_words(error: Exception) -> str:
    """Say a message of the library with the names of options."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"\blabels='([^']*)'", r"--labels '\1'", text)
