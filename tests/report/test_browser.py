"""Reports as a reader sees them: in a real browser, on a phone and on a desk, light and dark."""

import pytest

from labelweave.report import comparison_document, write_document
from tests.evaluation.make import comparison
from tests.report.documents import EVERYTHING, NASTY
from tests.report.page import parse, position, scale_of
from tests.report.test_tables import FIGURES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    several = [comparison(FIGURES, name=f"data {k}") for k in range(3)]
    documents = {"everything": EVERYTHING, "comparison": comparison_document(several)}
    for name, document in documents.items():
        write_document(document, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in documents}


@pytest.mark.parametrize("name", ["everything", "comparison"])
@pytest.mark.parametrize("width", [320, pytest.param(360, marks=pytest.mark.slow), 1280])
@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_page_is_wider_than_its_window_nor_complains(browser, pages, name, width, dark):
    browser.open(pages[name], width=width, dark=dark)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    assert browser.problems == []
    assert browser.requests == [pages[name].as_uri()]
    # What is wide scrolls in its own box, and drawings are as wide as the window lets them.
    boxes = browser.evaluate(
        "[...document.querySelectorAll('.scroll, svg, figure, dl')]"
        ".map(box => box.getBoundingClientRect().right)"
    )
    assert max(boxes) <= width


def test_light_and_dark(browser, pages):
    lightness = "getComputedStyle(document.body).{}.match(/[0-9]+/g).map(Number)[0]"
    for dark in (False, True):
        browser.open(pages["everything"], width=800, dark=dark)
        paper = browser.evaluate(lightness.format("backgroundColor"))
        ink = browser.evaluate(lightness.format("color"))
        assert (paper < 64 and ink > 192) if dark else (paper > 192 and ink < 64)
        # Drawings follow the colour of the text.
        drawn = "getComputedStyle(document.querySelector('svg text')).fill"
        assert browser.evaluate(drawn) == browser.evaluate("getComputedStyle(document.body).color")


def test_on_paper_nothing_is_cut_off(browser, pages):
    browser.open(pages["comparison"], width=718)
    browser.call("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= 718
    assert browser.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == (
        "visible"
    )
    assert browser.print_pdf().startswith(b"%PDF")
    browser.call("Emulation.setEmulatedMedia", {"media": ""})


def test_labels_called_script_are_harmless(browser, pages):
    browser.open(pages["everything"], width=800)
    assert browser.evaluate("document.querySelectorAll('script').length") == 1
    assert browser.evaluate("document.querySelector('h1').textContent") == f"Title {NASTY}"


def test_what_the_browser_drew_are_the_figures_of_the_data(browser, pages):
    browser.open(pages["everything"], width=800)
    data = browser.evaluate("JSON.parse(document.getElementById('labelweave-data').textContent)")
    root = parse(browser.evaluate("document.body.outerHTML"))
    for name, block in data["blocks"].items():
        if block["kind"] == "Table":
            shown = [c.text for c in root.one("div", id=name).all("td")]
            cells = [cell for row in block["rows"] for cell in row[1:]]
            assert shown == [c if isinstance(c, str) else c["text"] + c["mark"] for c in cells]
        if block["kind"] == "LineChart" and block["series"]:
            check_lines(root.one("figure", id=name), block)
        if block["kind"] == "Strips":
            check_strips(root.one("figure", id=name), block)


def check_lines(figure, block):
    x_at = scale_of(figure, "x", block["x_log"])
    y_at = scale_of(figure, "y", block["y_log"])
    for drawn, series in zip(figure.all("g", class_="series"), block["series"], strict=True):
        known = [
            (x, y)
            for x, y in zip(series["x"], series["y"], strict=True)
            if not isinstance(x, str) and not isinstance(y, str)
        ]
        markers = [position(marker) for marker in drawn.all("path", class_="marker")]
        for place, (x, y) in zip(markers, known, strict=True):
            assert place == pytest.approx((x_at(x), y_at(y)), abs=0.03)


def check_strips(figure, block):
    x_at = scale_of(figure, "x")
    strips = figure.all("g", class_="strip")
    for strip, (name, scores) in zip(strips, block["scores"].items(), strict=True):
        assert strip.attributes["data-name"] == name
        known = [x_at(score) for score in scores if not isinstance(score, str)]
        assert [dot.number("cx") for dot in strip.all("circle")] == pytest.approx(known, abs=0.03)


def test_markers_are_on_the_screen_where_the_drawing_has_them(browser, pages):
    """The page's style moves and scales whole drawings only."""
    browser.open(pages["everything"], width=360)
    ratios = browser.evaluate(
        "[...document.querySelectorAll('figure > svg')].flatMap(svg => {"
        "  const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;"
        "  return [...svg.querySelectorAll('circle')].map(dot => {"
        "    const d = dot.getBoundingClientRect();"
        "    return (d.left + d.width / 2 - box.left) / scale - dot.cx.baseVal.value;"
        "  });"
        "})"
    )
    assert ratios
    assert ratios == pytest.approx([0] * len(ratios), abs=0.05)
