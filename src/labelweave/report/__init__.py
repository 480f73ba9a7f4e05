"""Show results to a person: tables, pictures, and notes on what went wrong."""

from labelweave.report.console import Symbols, make_console
from labelweave.report.listings import show_catalogue, show_scores
from labelweave.report.notes import failure_notes, warning_notes
from labelweave.report.plots import plot_expected_f1
from labelweave.report.tables import comparison_tables, show_comparison

__all__ = [
    "Symbols",
    "comparison_tables",
    "failure_notes",
    "make_console",
    "plot_expected_f1",
    "show_catalogue",
    "show_comparison",
    "show_scores",
    "warning_notes",
]
