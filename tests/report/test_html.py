"""Pages: well-formed and self-contained, with everything escaped, whatever is written on them."""

import json
import re

import pytest
from hypothesis import given
from labelweave.report.data import Chart
from labelweave.report.inline import clean

from labelweave.report import Document, Paragraph, Section, Table, to_html
from tests.report.documents import EVERYTHING, NASTY, documents
from tests.report.page import data_of, parse

NAMESPACE = "http://www.w3.org/2000/svg"


@given(documents)
def test_any_document_is_a_well_formed_page_that_loads_nothing(document):
    page = to_html(document)
    page.encode()
    root = parse(page)
    # The one script holds data, the one link an empty icon.
    assert root.one("script").attributes["type"] == "application/json"
    assert root.one("link").attributes["href"] == "data:,"
    elements = every_element(root)
    assert not any(element.name in ("img", "iframe", "object", "a:hover") for element in elements)
    for element in elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "style", "srcset")
            if name == "href":
                assert value.startswith(("#", "data:,"))
    identifiers = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    referred = [
        e.attributes["aria-labelledby"] for e in elements if "aria-labelledby" in e.attributes
    ]
    assert set(referred) <= set(identifiers)
    assert root.one("h1").text == clean(document.title)
    assert [h.text for h in root.all("h2")] == [clean(s.title) for s in document.sections]


def every_element(root):
    below = [part for part in root.content if not isinstance(part, str)]
    return below + [inner for part in below for inner in every_element(part)]


@given(documents)
def test_the_data_of_a_page_are_those_of_the_document(document):
    blocks = data_of(parse(to_html(document)))
    for number, section in enumerate(document.sections, 1):
        for place, block in enumerate(section.blocks, 1):
            kept = blocks[f"block-{number}-{place}"]
            assert kept["kind"] == type(block).__name__
            if isinstance(block, Table):
                assert kept["columns"] == list(block.columns)
            if kept["kind"] == "LineChart":
                for line, series in zip(kept["series"], block.series, strict=True):
                    assert [float(y) for y in line["y"]] == pytest.approx(series.y, nan_ok=True)
            if kept["kind"] == "Strips":
                assert kept["scores"].keys() == block.scores.keys()


def test_addresses_are_only_names():
    page = to_html(EVERYTHING)
    assert set(re.findall(r"https?://[^\s\"<]*", page)) == {NAMESPACE}
    assert "@import" not in page
    assert "url(" not in page


def test_text_is_shown_as_it_is():
    root = parse(to_html(EVERYTHING))
    for element in ("h1", "h2", "caption", "figcaption"):
        assert any(NASTY in found.text for found in root.all(element))
    assert f"row {NASTY}" in [heading.text for heading in root.all("th", scope="row")]
    assert len(root.all("script")) == 1
    assert "alert" not in json.dumps([e.name for e in every_element(root)])


def test_code_and_bold():
    section = Section("s", (Paragraph("run `make *all*` and **read & weep** 2 ** 3 ** 4"),))
    paragraph = parse(to_html(Document("t", "", (section,)))).one("p", id="block-1-1")
    assert paragraph.one("code").text == "make *all*"
    assert paragraph.one("strong").text == "read & weep"
    assert paragraph.text.endswith("2 ** 3 ** 4")


def test_tables_tell_what_heads_what():
    root = parse(to_html(EVERYTHING))
    table = root.one("div", id="block-1-1")
    assert table.one("caption").text == f"Scores {NASTY}"
    assert len(table.all("th", scope="col")) == 3
    assert len(table.all("th", scope="row")) == 2
    assert [cell.text for cell in table.all("td")] == ["0.61●", "0.2", "0.58", "–"]
    assert [cell.text for cell in table.all("td", class_="muted")] == ["–"]
    assert "bold: best" in table.one("p", class_="note").text


def test_charts_have_titles_and_their_figures_beside_them():
    root = parse(to_html(EVERYTHING))
    charts = [block for section in EVERYTHING.sections for block in section.blocks]
    charts = [block for block in charts if isinstance(block, Chart)]
    figures = root.all("figure")
    assert len(figures) == len(charts)
    for figure, chart in zip(figures, charts, strict=True):
        assert figure.one("figcaption").text == chart.title
        assert figure.all("svg", role="img")[0].all("title")[0].text == chart.title
        assert figure.one("details").all("table")
    legend = figures[0].one("ul", class_="legend")
    assert [item.text.strip() for item in legend.all("li")] == ["a", "a", NASTY, "empty"]
    assert len(legend.all("path", class_="dashed")) == 1


def test_verdicts_are_counted_and_signed_in_words():
    verdicts = parse(to_html(EVERYTHING)).one("div", id="block-1-6")
    assert [item.one("b").text for item in verdicts.one("ul").all("li")] == ["1"] * 4
    outcomes = [item.one("span", class_="outcome").text for item in verdicts.one("ol").all("li")]
    assert outcomes == ["✓ reproduced", "◐ partly", "✗ not reproduced", "? not testable"]


def test_sections_are_linked():
    root = parse(to_html(EVERYTHING))
    links = [link.attributes["href"] for link in root.one("nav").all("a")]
    assert links == ["#section-1", "#section-2", "#section-3"]
    assert [f"#{section.attributes['id']}" for section in root.all("section")] == links
