"""Tables: right figures, right marks, readable on a terminal, in a pipe and in a narrow window."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from labelweave import BinaryRelevance, Structure, explain_label
from labelweave._common.wording import Symbols
from labelweave.data import list_datasets
from labelweave.evaluation.results import FoldResult
from labelweave.metrics import resolve_metrics, scores_by_label
from labelweave.report.comparison import warning_notes
from labelweave.report.console import (
    comparison_tables,
    make_console,
    show_comparison,
    show_datasets,
    show_explanation,
    show_label_table,
    show_scores,
    show_structures,
)
from tests.evaluation.make import comparison

FIGURES = {
    "br": {
        "exact_match": [0.20, 0.22, 0.21, 0.25],
        "hamming_loss": [0.19, 0.20, 0.19, 0.21],
        "cll_loss_sum": [150.0, 152.0, 149.0, 151.0],
    },
    "pcc(C=1, label_penalty=0.01)": {
        "exact_match": [0.30, 0.33, 0.31, 0.34],
        "hamming_loss": [0.22, 0.24, 0.23, 0.25],
        "cll_loss_sum": [140.0, 139.0, 141.0, 138.0],
    },
    "tree": {
        "exact_match": [0.20, 0.21, 0.22, 0.24],
        "hamming_loss": [0.19, 0.20, 0.19, 0.21],
    },
}
LINES = r"\x1b\[[0-9;]*m"


@pytest.fixture(autouse=True)
def _no_width_asked_for(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def printed(result, encoding="utf-8", width=None, terminal=False, **options):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    if terminal:
        console = Console(file=file, force_terminal=True, width=width, highlight=False)
    elif width:
        console = Console(file=file, width=width)
    else:
        console = make_console(file)
    show_comparison(result, console, **options)
    file.flush()
    return raw.getvalue().decode(encoding)


def row(text, title):
    (line,) = (line for line in text.splitlines() if line.startswith(title))
    return re.split(r"\s{2,}", line.strip())


def test_plain_text_of_a_pipe():
    text = printed(comparison(FIGURES))
    assert "\x1b" not in text
    assert text.startswith("toy: 100 rows, 5 features, 3 labels; 4 folds\n")
    assert row(text, "exact match") == [
        "exact match",
        "0.2200 ± 0.0216",
        "0.3200 ± 0.0183*○",
        "0.2175 ± 0.0171",
    ]
    assert row(text, "Hamming loss") == [
        "Hamming loss",
        "0.1975 ± 0.0096*",
        "0.2350 ± 0.0129 ●",
        "0.1975 ± 0.0096*",
    ]
    assert row(text, "CLL-loss") == ["CLL-loss", "150.50 ± 1.29", "139.50 ± 1.29*○", "–"]
    assert row(text, "fit seconds")[1] == "1.0000 ± 0.0000*"
    assert row(text, "predict seconds")[1] == "0.2500 ± 0.0000*"
    assert row(text, "wins/ties/losses") == ["wins/ties/losses", "1/0/2", "0/2/0"]
    assert "●/○: br is significantly better/worse (paired t-test, p < 0.05)" in text


def test_bold_on_a_terminal():
    text = printed(comparison(FIGURES), terminal=True, width=100)
    assert "\x1b[1m0.3200 ± 0.0183\x1b[0m ○" in text
    assert "*" not in text
    assert "bold: best" in text


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", [28, 34, 40, 60, 79, 120])
def test_no_line_is_wider_than_the_console_and_no_figure_is_lost(width, terminal):
    text = re.sub(LINES, "", printed(comparison(FIGURES), width=width, terminal=terminal))
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for figure in ("0.2200", "0.3200", "0.2175", "0.2350", "150.50", "139.50"):
        assert figure in text
    assert text.count("●") == text.count("○") - 1 == 2


def test_blocks_hold_as_many_methods_as_fit():
    def n_blocks(width):
        return len(comparison_tables(comparison(FIGURES), Console(width=width)))

    assert (n_blocks(200), n_blocks(61), n_blocks(60)) == (1, 2, 3)


def test_a_stream_that_writes_only_ascii():
    text = printed(comparison(FIGURES), encoding="ascii")
    assert row(text, "exact match")[2] == "0.3200 +/- 0.0183*<"
    assert row(text, "Hamming loss")[2] == "0.2350 +/- 0.0129 >"
    assert row(text, "CLL-loss")[3] == "-"
    assert Symbols.of("no such encoding") == Symbols.of("ascii")


def test_a_pipe_can_ask_for_a_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = printed(comparison(FIGURES))
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("exact match") == 3


def test_one_method_has_nobody_to_win_against():
    text = printed(comparison({"br": FIGURES["br"]}))
    assert "*" not in text
    assert "wins" not in text
    assert "significantly" not in text


def test_one_fold_has_no_spread_and_no_test():
    single = {name: {"exact_match": values["exact_match"][:1]} for name, values in FIGURES.items()}
    text = printed(comparison(single))
    assert row(text, "exact match") == ["exact match", "0.2000", "0.3000*", "0.2000"]
    assert row(text, "wins/ties/losses")[1:] == ["0/0/0", "0/0/0"]


def test_infinite_losses_are_shown():
    figures = {"sure": {"cll_loss_sum": [1.0, float("inf")]}, "fair": {"cll_loss_sum": [2.0, 3.0]}}
    text = printed(comparison(figures))
    assert row(text, "CLL-loss") == ["CLL-loss", "inf", "2.5000 ± 0.7071*"]


def test_the_corrected_test_marks_less():
    result = comparison(FIGURES, fold_sizes=((10, 90),) * 4)
    assert row(printed(result), "Hamming loss")[2] == "0.2350 ± 0.0129 ●"
    text = printed(result, test="corrected", alpha=0.01)
    assert row(text, "Hamming loss")[2] == "0.2350 ± 0.0129"
    assert "corrected t-test, p < 0.01" in text


def test_names_are_not_read_as_markup():
    figures = {"[bold]x[/]": {"exact_match": [0.1, 0.2]}}
    assert "[bold]x[/]" in printed(comparison(figures))


def test_failures_are_counted_and_left_out_of_the_means():
    result = comparison(FIGURES, errors={("tree", 0), ("tree", 2)})
    assert result.failure_notes() == ["tree failed on 2 of 4 folds: ValueError: broken"]
    assert row(printed(result), "exact match")[3] == "0.2250 ± 0.0212 ●"


def test_warnings_are_gathered_and_cut():
    figures = {"a": {"exact_match": [0.1, 0.2]}}
    result = comparison(figures)
    object.__setattr__(
        result,
        "results",
        (
            FoldResult("a", 0, warnings=("W: often", "W: once", "W: long " + "x" * 300)),
            FoldResult("a", 1, warnings=("W: often", "W: fourth")),
        ),
    )
    notes = warning_notes(result, width=50)
    assert notes[0] == "a (2 of 2 folds): W: often"
    assert notes[2].endswith("...")
    assert len(notes[2]) == len("a (1 of 2 folds): ") + 50
    assert notes[3] == "a: 1 more kinds of warnings"


def test_warnings_that_differ_in_numbers_are_one():
    result = comparison({"a": {"exact_match": [0.1, 0.2]}})
    told = (FoldResult("a", 0, warnings=("W: 3 of 9 rows, 0.5 nats",)),)
    told += (FoldResult("a", 1, warnings=("W: 4 of 9 rows, 1e-05 nats",)),)
    object.__setattr__(result, "results", told)
    assert warning_notes(result) == ["a (2 of 2 folds): W: 3 of 9 rows, 0.5 nats"]


def shown(show, *arguments, encoding="utf-8"):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding)
    show(*arguments, make_console(file))
    file.flush()
    return [line.rstrip() for line in raw.getvalue().decode(encoding).splitlines()]


def test_scores_of_one_model():
    metrics = resolve_metrics(["exact_match", "cll_loss_sum"]).values()
    assert shown(show_scores, {"exact_match": 0.25}, metrics) == [
        "exact match  0.2500",
        "CLL-loss          –",
    ]


def test_scores_of_each_label():
    table = scores_by_label([[1, 0], [0, 1]], [[1, 1], [0, 1]], label_names=["sun", "rain"])
    assert shown(show_label_table, table) == [
        "",
        "label  support  predicted  precision  recall      f1",
        "sun          1          1     1.0000  1.0000  1.0000",
        "rain         1          2     0.5000  1.0000  0.6667",
    ]


def test_explanations():
    model = BinaryRelevance(C=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [[0], [1], [1], [1]])
    assert shown(show_explanation, explain_label(model, [[2.0]], 0)) == [
        "y0",
        "term        kind     value  contribution",
        "base value  base         –         1.300",
        "x0          feature      2         0.409",
        "sum                                1.710",
    ]


def test_data_sets():
    head, first = shown(show_datasets, list_datasets()[:1])
    assert head.startswith("name      rows  features  labels  per row")
    assert first.startswith("emotions   593        72       6    1.868")


def test_structures():
    forest = Structure(np.array([-1, 0]))
    assert shown(show_structures, [forest]) == ["Structure(2 labels, 1 edges)", "0", "└─ 1"]
    plain = shown(show_structures, [forest, forest], encoding="ascii")
    assert plain[:4] == ["Tree 1 of 2", "Structure(2 labels, 1 edges)", "0", "`- 1"]
