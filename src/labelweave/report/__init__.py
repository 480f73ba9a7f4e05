"""Display results: tables, trees, warnings, and documents as HTML, Markdown and LaTeX."""

from labelweave._common.wording import Symbols
from labelweave.report.charts import LineChart, RankDiagram, Series, Strips
from labelweave.report.comparison_report import (
    command_paragraph,
    comparison_document,
    comparison_table,
    fold_strips,
)
from labelweave.report.console import make_console
from labelweave.report.document import (
    Block,
    Cell,
    Document,
    Facts,
    Outcome,
    Paragraph,
    Section,
    Table,
    Verdict,
    Verdicts,
)
from labelweave.report.html import to_html
from labelweave.report.latex import to_latex
from labelweave.report.listings import (
    show_datasets,
    show_explanation,
    show_label_table,
    show_scores,
)
from labelweave.report.markdown import to_markdown
from labelweave.report.notes import warning_notes
from labelweave.report.rank_blocks import rank_diagram
from labelweave.report.structures import FIGURE_FORMATS, save_structures, show_structures
from labelweave.report.tables import comparison_tables, show_comparison
from labelweave.report.writing import DOCUMENT_FORMATS, check_document_path, write_document

__all__ = [
    "DOCUMENT_FORMATS",
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
    "check_document_path",
    "command_paragraph",
    "comparison_document",
    "comparison_table",
    "comparison_tables",
    "fold_strips",
    "make_console",
    "save_structures",
    "rank_diagram",
    "show_datasets",
    "show_comparison",
    "show_explanation",
    "show_label_table",
    "show_scores",
    "show_structures",
    "to_html",
    "to_latex",
    "to_markdown",
    "warning_notes",
    "write_document",
]
