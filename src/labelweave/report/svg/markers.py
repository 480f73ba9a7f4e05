"""Markers and colours: colour is never the only difference between two series."""

from __future__ import annotations

from labelweave.report.svg.element import element

__all__ = ["N_COLOURS", "marker"]

#: The page defines this many colours, ``--series-0`` and so on, for light and dark.
N_COLOURS = 8

# Outlines around the origin. There are seven, so that 56 series differ in shape or colour.
_SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",  # circle
    "M-3.6 -3.6h7.2v7.2h-7.2z",  # square
    "M0 -4.6L4.4 3.4H-4.4z",  # triangle
    "M0 -5L5 0L0 5L-5 0z",  # diamond
    "M0 4.6L4.4 -3.4H-4.4z",  # triangle upside down
    "M-1.6 -4.5h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9v-3.2h2.9z",  # plus
    "M-5 -4L0 -1.4L5 -4L1.6 0L5 4L0 1.4L-5 4L-1.6 0z",  # star of four points
)


def marker(style: int, x: float, y: float, *, hollow: bool = False) -> str:
    """Return the marker of a series."""
    return element(
        "path",
        class_=f"marker series-{style % N_COLOURS}" + (" hollow" if hollow else ""),
        d=_SHAPES[style % len(_SHAPES)],
        transform=f"translate({x:.2f} {y:.2f})",
    )
