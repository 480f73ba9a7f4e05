"""Reports as a reader sees them: in a real browser, on a phone and on a desk, light and dark."""

import pytest

from labelweave.report.comparison import comparison_document
from labelweave.report.document import Table, block_name, write_document
from tests.evaluation.make import comparison
from tests.report.documents import EVERYTHING, NASTY
from tests.report.page import parse
from tests.report.test_tables import FIGURES

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    several = [comparison(FIGURES, name=f"data {k}") for k in range(3)]
    names = ("br", "pcc(C=1, label_penalty=0.01)", "mc", "tree", "ectbn(n_components=4)", "best")
    six = dict.fromkeys(names, FIGURES["br"])
    documents = {
        "everything": EVERYTHING,
        "comparison": comparison_document(several),
        "six": comparison_document(comparison(six)),
    }
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
        drawn = "[...new Set([...document.querySelectorAll('svg text')].map(" + (
            "text => getComputedStyle(text).fill))]"
        )
        colours = browser.evaluate(drawn)
        assert browser.evaluate("getComputedStyle(document.body).color") in colours
        # All else that is written, such as "no data", is grey.
        assert len(colours) == 2


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
    assert browser.evaluate("document.querySelectorAll('script').length") == 0
    assert browser.evaluate("document.querySelector('h1').textContent") == f"Title {NASTY}"


def test_the_tables_of_the_browser_are_those_of_the_document(browser, pages):
    browser.open(pages["everything"], width=800)
    root = parse(browser.evaluate("document.body.outerHTML"))
    for number, section in enumerate(EVERYTHING.sections, 1):
        for place, block in enumerate(section.blocks, 1):
            if isinstance(block, Table):
                shown = root.one("div", id=block_name(number, place)).all("td")
                cells = [cell for row in block.cells for cell in row[1:]]
                assert [c.text for c in shown] == [cell.text + cell.mark for cell in cells]


@pytest.mark.parametrize("width", [1920, 1280, 1024, 700, 500, 390])
def test_all_of_six_methods_are_in_view(browser, pages, width):
    browser.open(pages["six"], width=width)
    edges = browser.evaluate(
        "[...document.querySelectorAll('#block-1-1 tbody tr:first-child td')].map(cell => {"
        "  const box = cell.getBoundingClientRect();"
        "  return [box.left, box.right, box.height];"
        "})"
    )
    assert len(edges) == 6
    assert all(0 <= left < right <= width and height > 0 for left, right, height in edges)
    # Where the head of the table is not shown, every cell names its method.
    has_head = browser.evaluate("document.querySelector('#block-1-1 thead').offsetHeight > 0")
    said = browser.evaluate(
        "getComputedStyle(document.querySelector('#block-1-1 td'), '::before').content"
    )
    assert said == ("none" if has_head else '"br"')


def test_a_table_that_goes_on_says_so(browser, pages):
    browser.open(pages["everything"], width=1280)
    box = "document.querySelector('#block-1-3 .scroll')"
    assert browser.evaluate(f"{box}.scrollWidth > {box}.clientWidth")
    attachments = browser.evaluate(f"getComputedStyle({box}).backgroundAttachment")
    assert attachments == "local, local, scroll, scroll"


@pytest.mark.parametrize("width", [360, 1280])
def test_drawings_keep_their_proportions(browser, pages, width):
    browser.open(pages["everything"], width=width)
    ratios = browser.evaluate(
        "[...document.querySelectorAll('figure > svg')].map(svg => {"
        "  const box = svg.getBoundingClientRect(), drawn = svg.viewBox.baseVal;"
        "  return box.width / drawn.width / (box.height / drawn.height);"
        "})"
    )
    assert ratios
    assert ratios == pytest.approx([1] * len(ratios), abs=0.01)
