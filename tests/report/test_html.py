"""Pages: well-formed and self-contained, with everything escaped, whatever is written on them."""

import json
import re
import sys

import pytest
from hypothesis import given, settings

from labelweave.report import html
from labelweave.report.document import Chart, Document, Paragraph, Section, clean
from labelweave.report.html import to_html
from tests.report.documents import EVERYTHING, NASTY, charts, documents
from tests.report.page import parse


@pytest.fixture(scope="module")
def root():
    return parse(to_html(EVERYTHING))


@given(documents)
def test_any_document_is_a_well_formed_page_that_loads_nothing(document):
    # The next test draws charts.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(html, "draw", lambda chart, name: None)
        assert_sound(document)


@settings(max_examples=8)
@given(charts)
def test_any_chart_is_drawn_on_a_well_formed_page_that_loads_nothing(chart):
    root = assert_sound(Document("Title", "", (Section("Charts", (chart, chart)),)))
    for figure in root.all("figure"):
        (picture,) = figure.all("svg", role="img")
        assert not any("nan" in path.attributes.get("d", "") for path in picture.all("path"))


def assert_sound(document):
    """Check a page and return its root."""
    page = to_html(document)
    page.encode()
    root = parse(page)
    # The one link is an empty icon.
    assert root.all("script") == []
    assert root.one("link").attributes["href"] == "data:,"
    elements = every_element(root)
    assert not any(element.name in ("img", "iframe", "object", "a:hover") for element in elements)
    drawn = {id(inner) for picture in root.all("svg") for inner in every_element(picture)}
    for element in elements:
        for name, value in element.attributes.items():
            assert not name.startswith("on")
            assert name not in ("src", "srcset")
            assert name != "style" or id(element) in drawn
            assert not re.search(r"url\((?!#)", value or "") or name.startswith("data-")
            if name == "href":
                assert value.startswith(("#", "data:,"))
    identifiers = [e.attributes["id"] for e in elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    referred = [
        e.attributes["aria-labelledby"] for e in elements if "aria-labelledby" in e.attributes
    ]
    referred += [
        name
        for element in elements
        if id(element) in drawn
        for value in element.attributes.values()
        for name in re.findall(r"^#(.+)|url\(#([^)]+)\)", value)
        for name in name
        if name
    ]
    assert set(referred) <= set(identifiers)
    assert root.one("h1").text == clean(document.title)
    assert [h.text for h in root.all("h2")] == [clean(s.title) for s in document.sections]
    return root


def every_element(root):
    below = [part for part in root.content if not isinstance(part, str)]
    return below + [inner for part in below for inner in every_element(part)]


def test_addresses_are_only_names():
    page = to_html(EVERYTHING)
    assert re.findall(r"https?://[^\s\"<]*", page) == []
    assert "@import" not in page


def test_text_is_shown_as_it_is(root):
    for element in ("h1", "h2", "caption", "figcaption"):
        assert any(NASTY in found.text for found in root.all(element))
    assert f"row {NASTY}" in [heading.text for heading in root.all("th", scope="row")]
    assert root.all("script") == []
    assert "alert" not in json.dumps([e.name for e in every_element(root)])


def test_code_and_bold():
    section = Section("s", (Paragraph("run `make *all*` and **read & weep** 2 ** 3 ** 4"),))
    paragraph = parse(to_html(Document("t", "", (section,)))).one("p", id="block-1-1")
    assert paragraph.one("code").text == "make *all*"
    assert paragraph.one("strong").text == "read & weep"
    assert paragraph.text.endswith("2 ** 3 ** 4")


def test_tables_tell_what_heads_what(root):
    table = root.one("div", id="block-1-1")
    assert table.one("caption").text == f"Scores {NASTY}"
    assert len(table.all("th", scope="col")) == 3
    assert len(table.all("th", scope="row")) == 2
    assert [cell.text for cell in table.all("td")] == ["0.61●", "0.2", "0.58", "–"]
    assert [cell.text for cell in table.all("td", class_="muted")] == ["–"]
    # On a phone, where a table becomes a list, every cell names its column.
    columns = ["F1", f"loss {NASTY}"]
    assert [cell.attributes["data-column"] for cell in table.all("td")] == columns * 2
    assert "bold: best" in table.one("p", class_="note").text


def chart_blocks():
    blocks = [block for section in EVERYTHING.sections for block in section.blocks]
    return [block for block in blocks if isinstance(block, Chart)]


def test_charts_have_titles_and_their_figures_beside_them(root):
    figures = root.all("figure")
    assert len(figures) == len(chart_blocks())
    for figure, chart in zip(figures, chart_blocks(), strict=True):
        assert figure.one("figcaption").text == chart.title
        assert figure.all("svg", role="img")[0].all("title")[0].text == chart.title
        assert figure.one("details").all("table")


def test_without_matplotlib_charts_are_tables(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = parse(to_html(EVERYTHING))
    assert without.all("figure") == without.all("svg") == []
    details = [figure.one("table") for figure in root.all("figure")]
    tables = [without.one("div", id=figure.attributes["id"]) for figure in root.all("figure")]
    assert [table.one("table").text for table in tables] == [table.text for table in details]


def test_verdicts_are_counted_and_signed_in_words(root):
    verdicts = root.one("div", id="block-1-6")
    assert [item.one("b").text for item in verdicts.one("ul").all("li")] == ["1"] * 4
    outcomes = [item.one("span", class_="outcome").text for item in verdicts.one("ol").all("li")]
    assert outcomes == ["✓ reproduced", "◐ partly", "✗ not reproduced", "? not testable"]


def test_sections_are_linked(root):
    links = [link.attributes["href"] for link in root.one("nav").all("a")]
    assert links == ["#section-1", "#section-2", "#section-3"]
    assert [f"#{section.attributes['id']}" for section in root.all("section")] == links
