"""Reports on comparisons: one HTML page, Markdown, or tables for LaTeX.

`report.document` holds what a report may consist of, `report.html` and `report.text` render it, and
`report.console` prints tables on a terminal.
"""

from labelweave.report.comparison import write_report

__all__ = ["write_report"]
