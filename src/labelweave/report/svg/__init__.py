"""Charts as inline SVG that follows the colours and the font of the page around it."""

from labelweave.report.svg.lines import draw_lines, draw_swatch
from labelweave.report.svg.ranks import draw_ranks
from labelweave.report.svg.strips import draw_strips

__all__ = ["draw_lines", "draw_ranks", "draw_strips", "draw_swatch"]
