"""The pages are true: their Python examples run, their tables are those of the kept results."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from benchmarks.names import rooms
from benchmarks.tables import RESULTS, pages, rewritten
from labelweave.models.methods import METHODS
from tests.conftest import PROJECT

DOCS = PROJECT / "docs"
#: Examples that need a cluster or a browser are only compiled.
NOT_RUN = (DOCS / "cluster.md", DOCS / "explore.md")
PAGES = {str(page.relative_to(PROJECT)): page for page in pages()}


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", [name for name, page in PAGES.items() if examples(page)])
def test_the_python_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with gzip.open("news.svm.gz", "wt") as file:
        file.write("0,2 1:0.5 3:1\n1 2:1\n" * 20)
    names: dict[str, object] = {}
    for block in examples(PAGES[name]):
        code = compile(block, name, "exec")
        if PAGES[name] not in NOT_RUN:
            exec(code, names)
    plt.close("all")


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_are_those_of_the_kept_results(name):
    text = PAGES[name].read_text("utf-8")
    assert rewritten(text) == text, "run python -m benchmarks.tables"


def test_every_kept_result_is_on_a_page():
    shown = set(re.findall(r"<!-- table: (\S+) ", "".join(p.read_text() for p in PAGES.values())))
    assert {file.stem for file in RESULTS.iterdir()} <= shown


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_files(name):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", PAGES[name].read_text("utf-8")):
        assert (PAGES[name].parent / target).exists(), target


def test_readme_is_short():
    assert (PROJECT / "README.md").stat().st_size <= 8_000


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_in_the_table(method):
    assert re.search(rf"(?m)^\| [^|]*`{re.escape(method)}`", (DOCS / "methods.md").read_text())


def test_every_room_with_public_names_is_in_the_reference():
    text = (DOCS / "reference.md").read_text("utf-8")
    assert {room for room in rooms() if f"<!-- table: names {room} -->" not in text} == set()
