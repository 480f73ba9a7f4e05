"""Write results to files; the extension determines the format."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from labelweave.cli.errors import BadInputError, argument
from labelweave.cli.inputs import check_writable, write_text

if TYPE_CHECKING:
    import pandas as pd

    from labelweave.evaluation import Comparison

__all__ = [
    "COMMAND_LINE",
    "TextFormat",
    "check_output",
    "check_report",
    "comparison_text",
    "write_comparison",
    "write_report",
    "write_scores",
    "write_table",
]


class TextFormat(StrEnum):
    """Formats in which a comparison is printed instead of the table on the console."""

    markdown = "markdown"
    latex = "latex"
    csv = "csv"


#: Where the context of a command keeps the words it was called with.
COMMAND_LINE = "labelweave.command_line"
_ENDINGS = (".json", ".csv", ".md")
_COMPRESSIONS: Final[dict[str, Literal["gzip", "xz", "bz2"]]] = {
    ".gz": "gzip",
    ".xz": "xz",
    ".bz2": "bz2",
}


def check_output(path: Path | None) -> None:
    """Raise an error before the work if the result cannot be written or the format is unknown."""
    check_writable(path, "--output")
    if path is not None and path.suffix.lower() not in _ENDINGS:
        raise BadInputError(f"--output: {path} must have the extension .json, .csv or .md")


def check_report(path: Path | None) -> None:
    """Raise an error before the work if the report cannot be written or the format is unknown."""
    check_writable(path, "--report")
    if path is not None:
        from labelweave.report.document import check_document_path

        with argument("--report"):
            check_document_path(path)


def write_report(
    results: Comparison | Sequence[Comparison], path: Path, *, test: str, command: str
) -> None:
    """Write a report on comparisons as HTML, Markdown or tables for LaTeX."""
    from labelweave import report

    with argument("--report"):
        report.write_report(results, path, test=test, command=command)


def comparison_text(result: Comparison, form: TextFormat, *, test: str) -> str:
    """Return the table of means as Markdown or LaTeX, or the scores of every fold as CSV."""
    from labelweave.report.comparison import comparison_table
    from labelweave.report.document import Document, Section
    from labelweave.report.text import to_latex, to_markdown

    if form == TextFormat.csv:
        return str(result.to_frame().to_csv(index=False))
    table = comparison_table(result, test=test)
    document = Document(result.data.name, "", (Section("Results", (table,)),))
    return to_markdown(document) if form == TextFormat.markdown else to_latex(document)


def write_comparison(result: Comparison, path: Path, *, test: str) -> None:
    """Write the scores of every fold as JSON or CSV, or the table of means as Markdown."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = result.to_frame().to_csv(index=False)
    else:
        text = result.to_markdown(test=test) if ending == ".md" else result.to_json()
    write_text(path, text, "--output")


def write_scores(scores: Mapping[str, float], about: Mapping[str, Any], path: Path) -> None:
    """Write the scores of one model; JSON also includes the metadata `about`."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = "".join(["metric,value\n", *(f"{k},{v!r}\n" for k, v in scores.items())])
    elif ending == ".md":
        lines = [f"| {name} | {value:.4f} |" for name, value in scores.items()]
        text = "\n".join(["| metric | value |", "|---|---:|", *lines]) + "\n"
    else:
        figures = {k: v if math.isfinite(v) else str(v) for k, v in scores.items()}
        text = json.dumps({**about, "scores": figures}, indent=2) + "\n"
    write_text(path, text, "--output")


def write_table(table: pd.DataFrame, path: Path | None) -> None:
    """Write a table as CSV, compressed if the extension says so, or to standard output."""
    if path is None:
        table.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    from labelweave._common.files import replacing

    with argument("--output"), replacing(path) as result:
        compression = _COMPRESSIONS.get(path.suffix.lower())
        table.to_csv(result, index=False, float_format="%.6g", mode="wb", compression=compression)
