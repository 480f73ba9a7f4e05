"""``labelweave report``: one report on saved comparisons, over one data set or several."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelweave.cli.errors import argument
from labelweave.cli.options import Test
from labelweave.cli.outputs import COMMAND_LINE, check_report, write_report

if TYPE_CHECKING:
    from labelweave.evaluation import Comparison


def report(
    ctx: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILES", help="Files (.json) that `labelweave compare -o` wrote."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--report",
            "-o",
            help="The report: one HTML file (.html), Markdown (.md) or LaTeX tables (.tex).",
        ),
    ],
    test: Annotated[
        Test,
        typer.Option(
            "--test", help="t-test over folds: paired, or corrected for overlapping training sets."
        ),
    ] = Test.paired,
) -> None:
    """Write a report on comparisons; methods compared on several data sets are ranked over them.

    There are ranks only if all files have the same methods.

    \b
    labelweave compare emotions -m br,cc,pcc -o emotions.json
    labelweave compare yeast -m br,cc,pcc -o yeast.json
    labelweave report emotions.json yeast.json --report both.html
    """  # noqa: D301
    check_report(output)
    with argument("FILES"):
        comparisons = [read_comparison(file) for file in files]
        names = Counter(each.data.name for each in comparisons)
        if repeated := [name for name, n in names.items() if n > 1]:
            raise ValueError(f"{repeated[0]} is compared in {names[repeated[0]]} of the files")
    write_report(comparisons, output, test=test.value, command=ctx.meta.get(COMMAND_LINE, ""))
    typer.echo(f"report: {output}", err=True)


def read_comparison(file: Path) -> Comparison:
    """Read a comparison from a file; errors name it."""
    from labelweave.evaluation import Comparison

    try:
        return Comparison.from_json(file.read_text("utf-8"))
    except (ValueError, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise ValueError(f"{file} is not a comparison: {reason}") from error
