"""The tables of docs/reproduction.md, from the kept results of ``labelweave reproduce``.

Run as ``python -m benchmarks.reproduction [PAPER=FOLDER ...]``: the results in a FOLDER of a run
replace those that are kept of the paper, in ``reproduction/PAPER.jsonl.xz`` beside this file. The
tables between marks such as ``<!-- mc: Claims -->`` and ``<!-- end -->`` are then written anew.
"""

from __future__ import annotations

import lzma
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import use_published_data
from labelweave.papers.plan import tasks_of
from labelweave.papers.reproduction import PAPERS, verdicts
from labelweave.papers.results import Results, result_lines
from labelweave.report.document import Document, Section, Verdicts
from labelweave.report.text import to_markdown

KEPT = Path(__file__).with_suffix("")
PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
_MARKED = re.compile(r"(<!-- (\w+): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def kept_results(paper: str) -> Results:
    """Return the results that are kept of a paper, in the order of its experiments."""
    with tempfile.TemporaryDirectory() as folder:
        text = lzma.decompress((KEPT / f"{paper}.jsonl.xz").read_bytes())
        Path(folder, "results.jsonl").write_bytes(text)
        records = result_lines(Path(folder)).read().values()
    found = {record.task.key("", ""): record for record in records}
    wanted = (task.key("", "") for task in tasks_of(PAPERS[paper].experiments))
    return Results(tuple(found[task] for task in wanted if task in found))


def tables(paper: str) -> dict[str, str]:
    """Return the tables of a paper's report as Markdown, by title."""
    use_published_data()  # the report shows their sizes
    plan, results = PAPERS[paper], kept_results(paper)
    claims = Section("claims", (Verdicts("Claims", verdicts(plan, results)),))
    report = to_markdown(Document(paper, "", (claims, *plan.show(results))))
    parts = re.split(r"^(?:\*\*(.+)\*\*|## .*)$", report, flags=re.MULTILINE)
    titled = zip(parts[1::2], parts[2::2], strict=True)
    return {title: text.strip() for title, text in titled if title is not None}


def page(text: str) -> str:
    """Return the page with its tables written anew."""
    found = {paper: tables(paper) for paper in {mark[1] for mark in _MARKED.findall(text)}}
    return _MARKED.sub(lambda mark: f"{mark[1]}\n{found[mark[2]][mark[3]]}\n\n{mark[4]}", text)


def main(given: Sequence[str]) -> None:
    """Take over the results of runs, and rewrite the page."""
    KEPT.mkdir(exist_ok=True)
    for each in given:
        paper, folder = each.split("=", 1)
        lines = Path(folder, "results.jsonl").read_bytes()
        (KEPT / f"{paper}.jsonl.xz").write_bytes(lzma.compress(lines, preset=9))
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
