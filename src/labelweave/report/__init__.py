"""Display results: tables, trees, plots, and summaries of warnings."""

from labelweave.report.console import Symbols, make_console
from labelweave.report.document import (
    Block,
    Cell,
    Document,
    Facts,
    LineChart,
    Outcome,
    Paragraph,
    RankDiagram,
    Section,
    Series,
    Strips,
    Table,
    Verdict,
    Verdicts,
)
from labelweave.report.listings import show_datasets, show_label_table, show_scores
from labelweave.report.notes import warning_notes
from labelweave.report.plots import plot_expected_f1
from labelweave.report.structures import FIGURE_FORMATS, save_structures, show_structures
from labelweave.report.tables import comparison_tables, show_comparison

__all__ = [
    "FIGURE_FORMATS",
    "Symbols",
    "Block",
    "Cell",
    "Document",
    "Facts",
    "LineChart",
    "Outcome",
    "Paragraph",
    "RankDiagram",
    "Section",
    "Series",
    "Strips",
    "Table",
    "Verdict",
    "Verdicts",
    "comparison_tables",
    "make_console",
    "save_structures",
    "plot_expected_f1",
    "show_datasets",
    "show_comparison",
    "show_label_table",
    "show_scores",
    "show_structures",
    "warning_notes",
]
