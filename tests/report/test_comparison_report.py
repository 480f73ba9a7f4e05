"""Reports on comparisons: the figures of the console's table, the ranks, and how to repeat it."""

import dataclasses
import re

import pytest

from labelweave.evaluation import rank_methods
from labelweave.evaluation.results import FoldResult
from labelweave.report import write_report
from labelweave.report.comparison import comparison_document
from labelweave.report.document import Facts, Paragraph, RankDiagram, Strips, Table
from labelweave.report.html import to_html
from labelweave.report.text import to_latex, to_markdown
from tests.evaluation.make import comparison
from tests.report.test_tables import FIGURES, printed, row

NAMES = list(FIGURES)


def section(document, title):
    (found,) = (s for s in document.sections if s.title == title)
    return found


def of_kind(blocks, kind):
    return [block for block in blocks if isinstance(block, kind)]


def test_the_table_is_that_of_the_console():
    result = comparison(FIGURES, errors={("tree", 0)})
    for options in ({}, {"test": "corrected", "alpha": 0.01}):
        (table,) = section(comparison_document(result, **options), "Results").blocks
        text = printed(result, **options)
        for title, *cells in table.cells:
            shown = [
                cell.text + "*" * cell.strong + (cell.mark if cell.strong else f" {cell.mark}")
                for cell in cells
                if cell.text
            ]
            assert [cell.strip() for cell in shown] == row(text, title.text)[1:]
        assert table.columns == ("", *NAMES)
        for line in text.splitlines()[-2:]:
            assert line.replace("*: best", "bold: best") in table.note


def test_every_fold_is_in_the_strips():
    result = comparison(FIGURES, errors={("br", 1)})
    strips = {strip.title: strip for strip in section(comparison_document(result), "Folds").blocks}
    assert list(strips) == ["exact match", "Hamming loss", "CLL-loss"]
    folds = strips["exact match"].scores["br"]
    assert folds == pytest.approx((0.20, float("nan"), 0.21, 0.25), nan_ok=True)
    assert strips["exact match"].label == "higher is better"
    assert strips["Hamming loss"].label == "lower is better"
    assert strips["Hamming loss"].standings == result.verdicts("hamming_loss")
    times = section(comparison_document(result), "Times").blocks
    assert times[0].scores["tree"] == (1.0,) * 4
    assert times[0].standings is None


def test_problems_are_told():
    result = comparison(FIGURES, errors={("tree", 0)})
    warned = FoldResult("br", 0, {}, warnings=("ConvergenceWarning: `slow` <b>",))
    result = dataclasses.replace(result, results=(warned, *result.results[1:]))
    (facts,) = section(comparison_document(result), "Problems").blocks
    assert facts.items == (
        ("failure", "tree failed on 1 of 4 folds: ValueError: broken"),
        ("warning", "br (1 of 4 folds): ConvergenceWarning: `slow` <b>"),
    )
    (none,) = section(comparison_document(comparison(FIGURES)), "Problems").blocks
    assert isinstance(none, Paragraph)


def test_settings_versions_and_command():
    document = comparison_document(comparison(FIGURES), command="labelweave compare toy")
    facts = dict(section(document, "Settings").blocks[0].items)
    assert facts["split by"] == "KFold(n_splits=10, random_state=0, shuffle=True)"
    assert facts["rows per fold"] == "90 to train, 10 to test, on average"
    methods = dict(section(document, "Settings").blocks[1].items)
    assert methods["br"] == "br()"
    command, versions = section(document, "Environment").blocks
    assert command == Paragraph("To repeat it: `labelweave compare toy`")
    assert versions.items == (("labelweave", "0.1.0"),)


def several():
    """Three data sets; the second lacks a score of one method."""
    scores = [[0.2, 0.3, 0.3], [0.4, 0.5, float("nan")], [0.1, 0.2, 0.15], [0.3, 0.2, 0.5]]
    return scores, [
        comparison(
            {
                name: {"exact_match": [x - 0.01, x + 0.01], "cll_loss_sum": [10 * x, 10 * x]}
                for name, x in zip("abc", row, strict=True)
            },
            name=f"data {k}",
        )
        for k, row in enumerate(scores)
    ]


def test_several_data_sets_have_ranks():
    scores, results = several()
    document = comparison_document(results)
    titles = [s.title for s in document.sections]
    assert titles[:5] == ["Ranks", "data 0", "data 1", "data 2", "data 3"]
    table, *diagrams = section(document, "Ranks").blocks
    ranking = rank_methods([scores[0], scores[2], scores[3]])
    expected = ranking.average
    assert list(diagrams[0].ranks.values()) == pytest.approx(expected)
    assert diagrams[0].critical_difference == ranking.critical_difference()
    # A loss: the other way round.
    assert list(diagrams[1].ranks.values()) == pytest.approx(4 - expected)
    first, *ranks, n, _, difference = (cell.text for cell in table.cells[0])
    assert (first, n) == ("exact match", "3")
    assert [float(rank) for rank in ranks] == pytest.approx(expected, abs=5e-3)
    assert float(difference) == pytest.approx(ranking.critical_difference(), rel=1e-2)
    assert len(of_kind(section(document, "data 1").blocks, Strips)) == 4


def test_a_method_without_the_metric_is_not_ranked():
    results = [
        comparison(
            {
                "a": {"cll_loss_sum": [1, 2]},
                "b": {"cll_loss_sum": [2, 3]},
                "c": {"exact_match": [1, 1]},
            }
        )
    ] * 3
    (diagram,) = of_kind(comparison_document(results).sections[0].blocks, RankDiagram)
    assert diagram.ranks == {"a": 1.0, "b": 2.0}


def test_nothing_to_rank():
    lone = [comparison({"a": {"exact_match": [0.1, 0.2]}})] * 2
    assert comparison_document(lone).sections[0].title == "toy"
    strangers = [comparison({name: {"exact_match": [0.1, 0.2]}}) for name in "ab"]
    assert comparison_document(strangers).sections[0].title == "toy"
    with pytest.raises(ValueError, match="comparisons must hold at least one"):
        comparison_document([])


def test_environments_that_differ_are_told_apart():
    _, results = several()
    results[1] = dataclasses.replace(results[1], versions={"labelweave": "0.2.0"})
    blocks = section(comparison_document(results), "Environment").blocks
    assert [facts.title for facts in of_kind(blocks, Facts)] == [
        "Environment of data 0, data 2, data 3",
        "Environment of data 1",
    ]


@pytest.mark.parametrize("render", [to_html, to_markdown, to_latex])
def test_every_form_has_the_figures(render):
    result = comparison(FIGURES)
    text = render(comparison_document(result)).replace(r"$\pm$", "±").replace(r"\textendash{}", "–")
    text = re.sub("</?small>", "", text)
    for cell in (c for r in of_table(result).cells for c in r[1:]):
        assert cell.text in text


def of_table(result):
    (table,) = of_kind(section(comparison_document(result), "Results").blocks, Table)
    return table


def test_a_report_is_its_document_in_a_file(tmp_path):
    result = comparison(FIGURES)
    options = {"test": "corrected", "alpha": 0.01, "command": "labelweave compare toy"}
    write_report(result, tmp_path / "toy.md", **options)
    text = (tmp_path / "toy.md").read_text(encoding="utf-8")
    assert text == to_markdown(comparison_document(result, **options))
