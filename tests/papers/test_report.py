"""The report of a reproduction: what was measured is what the page shows."""

import json

import pytest

from labelweave.papers import reproduce
from labelweave.papers.reproduction import PAPERS, reproduction_document
from labelweave.papers.results import (
    Results,
    duration,
    mean_and_deviation,
    result_lines,
    score_table,
)
from labelweave.report.document import write_document
from tests.papers.made_up import folds
from tests.papers.small_plan import METHODS, PLAN
from tests.report.page import parse


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1280, False)])
def test_the_page_shows_the_results_on_disk(browser, tmp_path, width, dark):
    reproduce([PLAN], tmp_path, n_jobs=1)
    browser.open(tmp_path / "report.html", width=width, dark=dark)
    assert browser.problems == []
    assert browser.requests == [(tmp_path / "report.html").as_uri()]
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    results = Results(tuple(result_lines(tmp_path).read().values()))
    root = parse(browser.evaluate("document.body.outerHTML"))
    (table,) = (t for t in root.all("table") if t.one("caption").text == "Exact match")
    shown = [cell.text for cell in table.all("td")]
    measured = [results.values("fold", "emotions", m, "exact_match") for m in METHODS.values()]
    assert shown == [mean_and_deviation(values) for values in measured]


@pytest.mark.parametrize("plan", PAPERS.values(), ids=PAPERS)
def test_reports_of_nothing_say_so(plan, tmp_path):
    """A run of which nothing is there yet, or all of it failed, still has its report."""
    document = reproduction_document([(plan, Results(()))], skipped=["scene: not here"])
    for ending in ("html", "md", "tex"):
        write_document(document, tmp_path / f"report.{ending}")
    text = (tmp_path / "report.md").read_text()
    assert "Left out: scene: not here" in text
    assert text.count("not testable") >= len(plan.claims)


def test_tables_put_published_figures_below_and_mark_what_is_significant():
    results = folds({"scene": {"a": 0.5, "b": 0.3}, "image": {"a": 0.5, "b": 0.5}}, "exact_match")
    table = score_table(
        *("Exact match", results, "exact_match", {"A": "a", "B": "b", "C": "c"}),
        published={"scene": {"A": ".49"}},
        reference="A",
    )
    names = [row[0].text for row in table.cells]
    assert names == ["scene", "published", "image"]
    scene, published, image = (list(row[1:]) for row in table.cells)
    assert [cell.text for cell in scene] == ["0.500 ± 0.003", "0.300 ± 0.003", "–"]
    assert [cell.mark for cell in scene] == ["", "●", ""]
    assert [cell.strong for cell in scene] == [True, False, False]
    assert [cell.text for cell in published] == [".49", "–", "–"]
    assert [cell.mark for cell in image] == ["", "", ""]


def test_values_as_csv(tmp_path):
    reproduce([PLAN], tmp_path, n_jobs=1)
    lines = (tmp_path / "values.csv").read_text().splitlines()
    assert lines[0] == "paper,measurement,data,method,seed,fold,name,index,value"
    records = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert len(lines) - 1 == sum(len(record["values"]) for record in records)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1e-4, "0.1 ms"), (1.0, "1.0 s"), (119.0, "119.0 s"), (120.0, "2.0 min"), (8e4, "22.2 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
