"""Errors that end a command with a short message and an exit code.

0: success. 1: failure. 2: invalid input or usage. 130: interrupted. 141: nobody reads the output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager


class CommandError(Exception):
    """An error that ends a command with a message instead of a traceback."""

    exit_code = 1


class BadInputError(CommandError):
    """The input is invalid."""

    exit_code = 2


class WorkFailedError(CommandError):
    """The input is valid, but the command failed."""


@contextmanager
def argument(name: str) -> Iterator[None]:
    """Turn the library's errors about a value into a :class:`BadInputError` for the argument."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        raise BadInputError(f"{name}: {_with_option_names(error)}") from error


def _with_option_names(error: Exception) -> str:
    """Return a message of the library with options in place of Python arguments."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    text = " ".join(str(error).split()) or type(error).__name__
    return re.sub(r"\blabels='([^']*)'", r"--labels '\1'", text)
