"""The benchmark's tables in Markdown, and their place in README.md."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measure import machine
from benchmarks.settings import ACCURACY
from labelweave._core import native

if TYPE_CHECKING:
    from benchmarks.logistic import Contest

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- written by make bench: begin -->", "<!-- end -->"


def fastest_peer(contest: Contest, n_cores: int) -> str:
    """Return the solver of scikit-learn with the fastest median run among those accurate enough."""
    accurate = [k for k in contest.settings if contest.excesses[n_cores][k] <= ACCURACY]
    return min(accurate, key=lambda k: contest.timings[n_cores][k].median)


def summary(contests: Sequence[Contest]) -> str:
    """Return the table of all sets: ours, scikit-learn's fastest, ratio, memory."""
    rows = [
        ["data set", "n × D, labels"]
        + [
            f"{what}, {cores}"
            for cores in ("2 cores", "1 core")
            for what in ("ours", "scikit-learn's fastest", "ratio")
        ]
        + ["peak memory beyond X", "allowed"]
    ]
    for c in contests:
        n, D, L = c.problem.shape
        row = [c.problem.name, f"{n} × {D}, {L}"]
        for n_cores in (2, 1):
            ours, name = c.timings[n_cores]["ours"].median, fastest_peer(c, n_cores)
            theirs = c.timings[n_cores][name].median
            row += [_seconds(ours), f"{_seconds(theirs)} ({name})", f"**{theirs / ours:.1f}×**"]
        rows.append([*row, _megabytes(c.peak_bytes), _megabytes(c.allowed_bytes)])
    return markdown(rows)


def details(contest: Contest) -> str:
    """Return the table of one set: every solver, its setting, accuracy, times and ratios."""
    rows = [["solver", "setting", "excess", "runs"]]
    for cores in ("1 core", "2 cores"):
        rows[0] += [f"{cores}: best", "median", "ratio to ours"]
    for name in ("ours", *contest.settings):
        setting = (
            contest.settings[name].describe() if name != "ours" else f"tol={contest.our_tol:.0e}"
        )
        worst = max(contest.excesses[n_cores][name] for n_cores in (1, 2))
        row = [name, setting, f"{worst:.1e}" + ("" if worst <= ACCURACY else " (missed)")]
        row.append(str(len(contest.timings[2][name].seconds)))
        for n_cores in (1, 2):
            timing, ours = contest.timings[n_cores][name], contest.timings[n_cores]["ours"]
            row += [_seconds(timing.best), _seconds(timing.median)]
            row.append(f"{timing.median / ours.median:.1f}×")
        rows.append(row)
    left_out = "".join(f"\nNot run: {k} ({why})." for k, why in contest.left_out.items())
    title = f"### {contest.problem.name}\n\n"
    note = f"\nThe optimum is certified to a relative {contest.reference_gap:.0e}.{left_out}\n"
    return title + markdown(rows) + note


def write(contests: Sequence[Contest]) -> None:
    """Put the tables into README.md."""
    parts = [f"Measured on {machine()}.", summary(contests)]
    write_level(README, BEGIN, END, [*parts, *(details(contest) for contest in contests)])


def write_level(file: Path, begin: str, end: str, parts: Sequence[str]) -> None:
    """Put the parts between the marks as the block of the SIMD level in use.

    Blocks of other levels stay as they were measured, the best level first.
    """
    level = native.level()
    inside = _marks(begin, end).search(file.read_text())
    blocks = dict(_BLOCK.findall(inside[0])) if inside else {}
    blocks[level] = "\n\n".join(["", f"**SIMD level {level}.** {parts[0]}", *parts[1:], ""])
    ordered = sorted(blocks, reverse=True)
    replace_between(file, begin, end, [_BLOCK_TEXT.format(each, blocks[each]) for each in ordered])


_BLOCK = re.compile(r"<!-- level (\w+) -->\n(.*?)<!-- end of level \1 -->", re.S)
_BLOCK_TEXT = "<!-- level {0} -->\n{1}<!-- end of level {0} -->"


def _marks(begin: str, end: str) -> re.Pattern[str]:
    return re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)


def replace_between(file: Path, begin: str, end: str, parts: Sequence[str]) -> None:
    """Put the parts between the two marks in a file, leaving its prose alone."""
    text = file.read_text()
    marks = _marks(begin, end)
    if not marks.search(text):
        raise SystemExit(f"{file.name} has lost its marks {begin!r} and {end!r}")
    file.write_text(marks.sub(lambda _: "\n\n".join([begin, *parts, end]), text))


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.2f} s"


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB"


def rounded(value: float, digits: int) -> str:
    """Return a number with so many significant digits and no exponent, however large it is."""
    return np.format_float_positional(value, precision=digits, fractional=False, trim="-")


def markdown(rows: list[list[str]]) -> str:
    """Return rows as a table; the first one is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]) + "\n"
