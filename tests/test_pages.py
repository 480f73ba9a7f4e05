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
DESIGN = [f"docs/design/{page.name}" for page in sorted((DOCS / "design").glob("*.md"))]
#: Pages name files from the project's folder, or from one of these.
FOLDERS = [PROJECT, *(PROJECT / part for part in ("src", "src/labelweave", "native", "tests"))]
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


@pytest.mark.parametrize("name", [*DESIGN, "CONTRIBUTING.md", "tests/README.md"])
def test_files_and_folders_that_are_named_exist(name):
    text = re.sub(r"```.*?```", "", (PROJECT / name).read_text("utf-8"), flags=re.DOTALL)
    paths = set(re.findall(r"`([\w.-]+/[\w./-]*|[\w-]+\.(?:py|cpp|hpp|txt))`", text))
    # TOPIC stands for any name.
    missing = {path for path in paths if "TOPIC" not in path and not _is_there(path)}
    assert missing == set()


def _is_there(path: str) -> bool:
    if any((folder / path).exists() for folder in FOLDERS):
        return True
    # A table names the files of the folder in its first column.
    return "/" not in path and any(any(folder.rglob(path)) for folder in FOLDERS[1:])


def test_readme_is_short():
    assert (PROJECT / "README.md").stat().st_size <= 8_000


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_in_the_table(method):
    assert re.search(rf"(?m)^\| [^|]*`{re.escape(method)}`", (DOCS / "methods.md").read_text())


def test_every_room_with_public_names_is_in_the_reference():
    text = (DOCS / "reference.md").read_text("utf-8")
    assert {room for room in rooms() if f"<!-- table: names {room} -->" not in text} == set()
