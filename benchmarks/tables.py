"""The tables of all pages, from kept results: `python -m benchmarks.tables`.

A benchmark keeps its figures in ``results/TOPIC.json``, by SIMD level and by the name of the table;
the folds of `strong_learners` and `weave` are kept one by one in ``results/TOPIC.jsonl``. A page
shows a table between the marks ``<!-- table: TOPIC NAME -->`` and ``<!-- end -->``, and the machine
that measured a topic between ``<!-- table: TOPIC machine -->`` and ``<!-- end -->``. The command
writes all of them anew; `tests/test_pages.py` fails if a page is stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import machine
from labelweave._core import native

PROJECT = Path(__file__).parents[1]
RESULTS = Path(__file__).with_name("results")
ANY_LEVEL = "any"
Rows = list[list[str]]
_MARKED = re.compile(r"(<!-- table: (\S+) (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return the pages that may have tables."""
    folders = (PROJECT / "docs", PROJECT / "benchmarks", PROJECT / "benchmarks" / "pages")
    return [
        PROJECT / "README.md",
        *(page for each in folders for page in sorted(each.glob("*.md"))),
    ]


def rewritten(text: str) -> str:
    """Return the text of a page with its tables written anew."""
    return _MARKED.sub(lambda mark: f"{mark[1]}\n{shown(mark[2], mark[3])}\n\n{mark[4]}", text)


def shown(topic: str, name: str) -> str:
    """Return a table as Markdown, or the machines that measured a topic."""
    if topic in (computed := _computed()):
        return markdown(computed[topic](name)).strip()
    by_level = kept(topic)
    if name == "machine":
        return "\n\n".join(_measured_on(level, by_level[level]["machine"]) for level in by_level)
    found = {
        level: each["tables"][name] for level, each in by_level.items() if name in each["tables"]
    }
    if not found:
        raise SystemExit(f"results/{topic}.json has no table {name!r}")
    titles = [f"SIMD level {level}:\n\n" if len(found) > 1 else "" for level in found]
    tables = [markdown(rows).strip() for rows in found.values()]
    return "\n\n".join(title + table for title, table in zip(titles, tables, strict=True))


def _measured_on(level: str, name: str) -> str:
    return f"Measured on {name}." if level == ANY_LEVEL else f"SIMD level {level}: {name}."


def _computed() -> dict[str, Callable[[str], Rows]]:
    """Return the topics whose tables are computed from other results."""
    from benchmarks import names, strong_learners, summaries, weave  # these import this module

    return {
        "strong_learners": strong_learners.table,
        "weave": weave.table,
        "summary": summaries.table,
        "names": names.table,
    }


def kept(topic: str) -> dict[str, Any]:
    """Return the kept results of a topic by SIMD level, the highest level first."""
    file = RESULTS / f"{topic}.json"
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {level: found[level] for level in sorted(found, reverse=True)}


def keep(topic: str, tables: Mapping[str, Rows], *, by_level: bool = True) -> None:
    """Keep tables, in place of those of the same name and SIMD level, and write the pages anew.

    Figures that do not depend on the SIMD level have one table for all.
    """
    by = kept(topic)
    level = native.level() if by_level else ANY_LEVEL
    before = by.get(level, {"tables": {}})
    by[level] = {"machine": machine(), "tables": before["tables"] | dict(tables)}
    (RESULTS / f"{topic}.json").write_text(_json(by) + "\n", "utf-8")
    write_pages()


def _json(value: Any, depth: int = 0) -> str:
    """Return JSON with one line for each row of a table."""
    indent = " " * (depth + 1)
    if isinstance(value, Mapping):
        parts = [f"{json.dumps(k)}: {_json(v, depth + 1)}" for k, v in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], list):
        parts = [json.dumps(row, ensure_ascii=False) for row in value]
    else:
        return json.dumps(value, ensure_ascii=False)
    begin, end = "{}" if isinstance(value, Mapping) else "[]"
    lines = ",\n".join(indent + part for part in parts)
    return f"{begin}\n{lines}\n{' ' * depth}{end}"


def write_pages() -> None:
    """Write the tables of all pages anew."""
    for page in pages():
        text = page.read_text("utf-8")
        page.write_text(rewritten(text), "utf-8")


def show_seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.2f} s"


def show_megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB"


def rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits and no exponent, however large it is."""
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a table; the first one is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"


if __name__ == "__main__":
    write_pages()
