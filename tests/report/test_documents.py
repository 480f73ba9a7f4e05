"""Documents refuse what cannot be shown, and files what they cannot be."""

import pytest
from hypothesis import given

from labelweave.report.document import (
    Document,
    Series,
    Strips,
    Table,
    Verdict,
    chart_table,
    clean,
    spans,
    write_document,
)
from tests.report.documents import EVERYTHING, INF, NAN, line_charts


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Table("t", (), ()), "columns must name"),
        (lambda: Table("t", ("a", "b"), (("1", "2"), ("1",))), "rows must have 2 .* row 1 has 1"),
        (lambda: Series("s", (1, 2), (1,)), "y must have one value per x"),
        (lambda: Series("s", (1, 2), (1, 2), (0.1,)), "error must be empty or have one value"),
        (lambda: Verdict("1", "c", "maybe", "", "", ""), "outcome must be 'reproduced'"),
    ],
)
def test_what_cannot_be_shown_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("ending", ["html", "md", "tex", "HTML"])
def test_files_are_whole_or_not_there(tmp_path, ending):
    path = tmp_path / f"report.{ending}"
    write_document(EVERYTHING, path)
    assert path.read_text(encoding="utf-8").endswith("\n")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    kept = path.read_bytes()
    with pytest.raises(AttributeError):
        write_document(Document("t", "s", (None,)), path)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz"])
def test_other_extensions_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must have the extension \.html, \.md or \.tex"):
        write_document(EVERYTHING, tmp_path / name)


@given(line_charts)
def test_the_table_of_a_chart_has_every_figure(chart):
    table = chart_table(chart)
    assert table.columns == (chart.x_label, *(series.name for series in chart.series))
    for column, series in enumerate(chart.series, 1):
        shown = [row[column].text for row in table.cells if row[column].text]
        expected = ["–" if y != y else f"{y:.5g}" for y in series.y]
        assert sorted(text.partition(" ±")[0] for text in shown) == sorted(expected)


def test_the_table_of_strips_sums_them_up():
    table = chart_table(Strips("Folds", "F1", {"br": (0.2, NAN, 0.4, INF), "none": ()}, note="n"))
    assert table.rows == (("br", "2", "0.3", "0.2", "0.4"), ("none", "0", "–", "–", "–"))
    assert table.note == "n Axis: F1."


def test_markup_within_sentences():
    assert list(spans("run `make test` **now**")) == [
        ("plain", "run "),
        ("code", "make test"),
        ("plain", " "),
        ("bold", "now"),
    ]


def test_characters_that_cannot_be_written_are_replaced():
    assert clean("a\x00b\udc80\r\n") == "a\ufffdb\ufffd\n"
