"""Small HTML tables for notebooks, readable on light and dark pages.

Text has the colour of the page; lines and bars are translucent. Everything is escaped here, and
nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_LINE = "1px solid rgba(128,128,128,.4)"
_CELL = f"padding:.2em .7em;border:0;border-bottom:{_LINE};background:none;color:inherit"


@dataclass(frozen=True)
class Share:
    """A number from 0 to 1, with a background that is stronger the larger it is."""

    value: float


@dataclass(frozen=True)
class Marked:
    """A number as written, perhaps bold, with room for a mark to its right."""

    text: str
    strong: bool = False
    mark: str = ""


def html_table(
    caption: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str | Share | Marked]],
    notes: Sequence[str] = (),
    *,
    n_left: int = 1,
) -> str:
    """Return a table whose first column names the rows, with notes below.

    The first `n_left` columns hold text, which is aligned to the left.
    """
    head = "".join(_cell("th", name, left=place < n_left) for place, name in enumerate(header))
    body = "".join(f"<tr>{''.join(_row(cells, n_left))}</tr>" for cells in rows)
    below = "".join(f'<div style="opacity:.75">{escape(note)}</div>' for note in notes)
    title = f'<caption style="text-align:left;color:inherit;font-weight:600">{escape(caption)}'
    table = (
        '<table style="border-collapse:collapse;color:inherit;font-variant-numeric:tabular-nums">'
        f"{title}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    # By its class, notebooks know that what is between dollar signs is no formula.
    return f'<div class="tex2jax_ignore" style="overflow-x:auto">{table}{below}</div>'


def _row(cells: Sequence[str | Share | Marked], n_left: int) -> list[str]:
    return [
        _cell("td" if place else "th", cell, left=place < n_left)
        for place, cell in enumerate(cells)
    ]


def _cell(tag: str, content: str | Share | Marked, *, left: bool) -> str:
    style = f"{_CELL};text-align:{'left' if left else 'right'}"
    if isinstance(content, Marked):
        return f'<{tag} style="{style};white-space:nowrap">{_with_mark(content)}</{tag}>'
    if isinstance(content, Share):
        style += f";background:rgba(0,114,178,{0.6 * content.value:.2f})"
        content = f"{content.value:.2f}"
    elif tag == "th":
        style += ";font-weight:600" + (";white-space:nowrap" if left else "")
    return f'<{tag} style="{style}">{escape(content)}</{tag}>'


def _with_mark(number: Marked) -> str:
    """Return the number and its mark, which has the same room in every row."""
    text = f"<strong>{escape(number.text)}</strong>" if number.strong else escape(number.text)
    room = "display:inline-block;width:1.1em;text-align:right"
    return f'{text}<span style="{room}">{escape(number.mark)}</span>'
