"""A comparison as a document: results, folds, times, problems, and how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence

from labelweave._common.wording import Symbols
from labelweave.evaluation import METRICS, Comparison
from labelweave.evaluation.results import Figure, heading, legend, score_rows
from labelweave.report.charts import Strips
from labelweave.report.document import Block, Cell, Document, Facts, Paragraph, Section, Table
from labelweave.report.notes import warning_notes
from labelweave.report.rank_blocks import rank_blocks

__all__ = ["comparison_document", "comparison_table", "fold_strips"]

_SYMBOLS = Symbols.of("utf-8")
_SCALING = {"auto": "yes if they are dense", "True": "yes", "False": "no"}


def comparison_document(
    comparisons: Comparison | Sequence[Comparison],
    *,
    test: str = "paired",
    alpha: float = 0.05,
    command: str = "",
) -> Document:
    """Return a report on one comparison, or on several data sets with the methods' ranks.

    Parameters
    ----------
    comparisons : Comparison or sequence of Comparison
        One comparison per data set.
    test : {"paired", "corrected"}, default="paired"
        The t-test of the first method against each of the others.
    alpha : float, default=0.05
        Significance level.
    command : str, default=""
        The command that repeats the comparison.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave.evaluation import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    >>> [section.title for section in comparison_document(result).sections]
    ['Results', 'Folds', 'Times', 'Problems', 'Settings', 'Environment']
    """
    all_of_them = [comparisons] if isinstance(comparisons, Comparison) else list(comparisons)
    if not all_of_them:
        raise ValueError("comparisons must hold at least one comparison; it is empty")
    if len(all_of_them) == 1:
        (only,) = all_of_them
        title, subtitle = f"Methods compared on {_name(only)}", heading(only)
        body = [
            Section("Results", (comparison_table(only, test=test, alpha=alpha),)),
            Section("Folds", fold_strips(only)),
            Section("Times", _time_strips(only)),
        ]
    else:
        title = f"Methods compared on {len(all_of_them)} data sets"
        subtitle = ", ".join(map(_name, all_of_them))
        ranks = tuple(rank_blocks(all_of_them, alpha))
        body = [Section("Ranks", ranks)] if ranks else []
        body += [_data_set_section(one, test, alpha) for one in all_of_them]
    end = (
        Section("Problems", _problems(all_of_them)),
        Section("Settings", _settings(all_of_them)),
        Section("Environment", _environment(all_of_them, command)),
    )
    return Document(title, subtitle, (*body, *end))


def comparison_table(comparison: Comparison, *, test: str = "paired", alpha: float = 0.05) -> Table:
    """Return the table of a comparison: means ± standard deviations, the best, and marks."""
    rows = score_rows(comparison, _SYMBOLS, test=test, alpha=alpha)
    cells: tuple[tuple[Cell | str, ...], ...] = tuple(
        (row.title, *(_cell(row.figures.get(method)) for method in comparison.methods))
        for row in rows
    )
    note = "; ".join(legend(comparison, _SYMBOLS, "bold", test=test, alpha=alpha))
    return Table(heading(comparison), ("", *comparison.methods), cells, f"{note}.")


def fold_strips(comparison: Comparison) -> tuple[Strips, ...]:
    """Return one chart per metric, with the scores of every method on every fold."""
    return tuple(
        Strips(
            METRICS[metric].title,
            "higher is better" if METRICS[metric].higher_is_better else "lower is better",
            {name: tuple(comparison.scores(name, metric).tolist()) for name in comparison.methods},
        )
        for metric in comparison.metrics
    )


def _time_strips(comparison: Comparison) -> tuple[Strips, ...]:
    return tuple(
        Strips(
            f"Time to {phase}",
            "seconds per fold",
            {name: tuple(comparison.seconds(name, phase).tolist()) for name in comparison.methods},
        )
        for phase in ("fit", "predict")
    )


def _data_set_section(comparison: Comparison, test: str, alpha: float) -> Section:
    table = comparison_table(comparison, test=test, alpha=alpha)
    charts = (*fold_strips(comparison), *_time_strips(comparison))
    return Section(_name(comparison), (table, *charts))


def _cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell("")
    is_missing = figure.written == _SYMBOLS.missing
    return Cell(figure.written, strong=figure.is_best, muted=is_missing, mark=figure.mark)


def _name(comparison: Comparison) -> str:
    return comparison.data.name or "data"


def _problems(comparisons: Sequence[Comparison]) -> tuple[Block, ...]:
    """Return what failed and what was warned of."""
    notes: list[tuple[str, str]] = []
    for comparison in comparisons:
        of_data = f"{_name(comparison)}, " if len(comparisons) > 1 else ""
        notes += [(f"{of_data}failure", note) for note in comparison.failure_notes()]
        notes += [(f"{of_data}warning", note) for note in warning_notes(comparison)]
    if not notes:
        return (Paragraph("No method failed, and none raised a warning."),)
    return (Facts("Failures and warnings", tuple(notes)),)


def _settings(comparisons: Sequence[Comparison]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    for comparison in comparisons:
        train, test = comparison.mean_sizes()
        blocks.append(
            Facts(
                f"Data: {_name(comparison)}",
                (
                    ("size", heading(comparison)),
                    ("split by", comparison.splitter),
                    ("rows per fold", f"{train:g} to train, {test:g} to test, on average"),
                    ("features scaled", _SCALING.get(comparison.scale, comparison.scale)),
                ),
            )
        )
    methods = {name: made for one in comparisons for name, made in one.methods.items()}
    return (*blocks, Facts("Methods", tuple(methods.items())))


def _environment(comparisons: Sequence[Comparison], command: str) -> tuple[Block, ...]:
    blocks: list[Block] = [command_paragraph(command)] if command else []
    machines = list(dict.fromkeys(tuple(one.versions.items()) for one in comparisons))
    for machine in machines:
        names = [_name(one) for one in comparisons if tuple(one.versions.items()) == machine]
        title = "Environment" if len(machines) == 1 else f"Environment of {', '.join(names)}"
        blocks.append(Facts(title, machine))
    return tuple(blocks)


def command_paragraph(command: str) -> Paragraph:
    """Return the command that repeats a run, as code.

    Examples
    --------
    >>> command_paragraph("labelweave compare emotions").text
    'To repeat it: `labelweave compare emotions`'
    """
    # Backticks would end the code.
    return Paragraph("To repeat it: " + (command if "`" in command else f"`{command}`"))
