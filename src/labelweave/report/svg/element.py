"""Elements of SVG: everything is escaped here and nowhere else."""

from __future__ import annotations

from html import escape

from labelweave.report.inline import clean

__all__ = ["FONT_SIZE", "WIDTH", "drawing", "element", "shortened", "text", "text_width", "title"]

#: Width of all drawings; the page scales them. At this width, text is readable on a phone.
WIDTH = 420.0
#: Size of text in the same unit.
FONT_SIZE = 13.0
# Average width of a character of a sans-serif font, in units of its size.
_CHARACTER = 0.56


def element(name: str, *content: str, **attributes: object) -> str:
    """Return an element; underscores in attribute names stand for hyphens, and class_ for class.

    Examples
    --------
    >>> element("line", class_="axis", x1=0.5, stroke_width=2)
    '<line class="axis" x1="0.5" stroke-width="2"/>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(content)}</{name}>" if content else f"<{name}{written}/>"


def text(words: str, x: float, y: float, anchor: str = "start", **attributes: object) -> str:
    """Return a line of text."""
    return element("text", escape(clean(words)), x=x, y=y, text_anchor=anchor, **attributes)


def title(words: str, **attributes: object) -> str:
    """Return what a pointer shows over an element, and what a screen reader says."""
    return element("title", escape(clean(words)) or " ", **attributes)


def drawing(name: str, caption: str, height: float, *content: str) -> str:
    """Return a whole drawing, which has a title for those who do not see it."""
    return element(
        "svg",
        title(caption, id=f"{name}-title"),
        *content,
        viewBox=f"0 0 {_value(WIDTH)} {_value(height)}",
        role="img",
        aria_labelledby=f"{name}-title",
        xmlns="http://www.w3.org/2000/svg",
        font_size=FONT_SIZE,
    )


def text_width(words: str) -> float:
    """Return about how wide a line of text is."""
    return _CHARACTER * FONT_SIZE * len(words)


def shortened(words: str, width: float) -> str:
    """Cut text that is wider than the room for it in its middle: names differ at their ends.

    Examples
    --------
    >>> shortened("pcc(C=1, label_penalty=0.01)", 100)
    'pcc(C=…=0.01)'
    """
    if text_width(words) <= width:
        return words
    kept = max(int(width / (_CHARACTER * FONT_SIZE)) - 1, 2)
    return f"{words[: (kept + 1) // 2]}…{words[-(kept // 2) :]}"


def _value(value: object) -> str:
    if isinstance(value, float):
        # Hundredths are finer than a pixel; adding zero turns -0 into 0.
        return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
    return escape(clean(str(value)))
