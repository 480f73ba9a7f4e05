"""Text within a line: code, bold, and characters that no file may contain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

__all__ = ["Span", "clean", "spans"]

#: A piece of text and how it is set.
Span = tuple[Literal["plain", "code", "bold"], str]

_MARKUP = re.compile(r"`([^`]+)`|\*\*(?!\s)(.+?)(?<!\s)\*\*", re.DOTALL)
# Control characters, which HTML and LaTeX refuse, and half characters, which have no encoding.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def spans(text: str) -> Iterator[Span]:
    """Split text at `` `code` `` and ``**bold**``; there is no markup within markup.

    Examples
    --------
    >>> list(spans("run `make test` **now**"))
    [('plain', 'run '), ('code', 'make test'), ('plain', ' '), ('bold', 'now')]
    """
    end = 0
    for found in _MARKUP.finditer(text):
        if found.start() > end:
            yield "plain", text[end : found.start()]
        code, bold = found.groups()
        yield ("bold", bold) if code is None else ("code", code)
        end = found.end()
    if end < len(text):
        yield "plain", text[end:]


def clean(text: str) -> str:
    r"""Replace characters that cannot be written by the replacement character.

    Examples
    --------
    >>> clean("a\x00b\udc80\n")
    'a�b�\n'
    """
    return _UNWRITABLE.sub("\ufffd", text.replace("\r\n", "\n"))
