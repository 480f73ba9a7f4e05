"""Markdown and LaTeX: all text is there, and none of it is taken for markup."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given

from labelweave.report.document import Cell, Document, Facts, Paragraph, Section, Table, clean
from labelweave.report.text import to_latex, to_markdown
from tests.report.documents import EVERYTHING, documents, tables, texts


def of(*blocks):
    return Document("Title", "", (Section("Section", blocks),))


def unescaped(markdown):
    return re.sub(r"\\([\\`*_\[\]<>&|~#$+=.)-])", r"\1", markdown)


@given(tables())
def test_markdown_tables_keep_their_shape(table):
    lines = to_markdown(of(table)).splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == len(table.rows) + 1
    for line in rows:
        assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == len(table.columns) + 1
    assert "|---|" + "---:|" * (len(table.columns) - 1) in lines


@given(texts.filter(str.strip))
def test_markdown_shows_text_as_it_is(text):
    shown = to_markdown(of(Facts("", (("key", text),)))).splitlines()[-1]
    assert unescaped(shown).split() == ["-", "key:", *clean(text).split()]
    assert not re.search(r"(?<!\\)[<>&`|*_]", re.sub(r"\\.", "", shown))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. first", r"1\. first"),
        ("- dash", r"\- dash"),
        ("a - b", "a - b"),
        ("`a|b` c|d", r"`a|b` c\|d"),
        ("**b_c**", r"**b\_c**"),
        ("# no heading", r"\# no heading"),
        ("two\n\nlines", "two lines"),
    ],
)
def test_markdown_of_a_paragraph(text, shown):
    assert to_markdown(of(Paragraph(text))).splitlines()[-1] == shown


def test_latex_of_a_table():
    row = ("50 % of a_b & c", Cell("0.61 ± 0.02", strong=True, mark="●"), "--x {y} \\ ^ ~")
    text = to_latex(of(Table("Scores #1", ("", "F1", "$"), (row,), "bold: **best**")))
    assert r"\caption{Scores \#1}" in text
    assert r"\label{tab:block-1-1}" in text
    assert r"\begin{tabular}{lrr}" in text
    assert r"50 \% of a\_b \& c & \textbf{0.61 $\pm$ 0.02} $\bullet$ & -{}-x \{y\}" in text
    assert r"\textbackslash{} \textasciicircum{} \textasciitilde{} \\" in text
    assert r"bold: \textbf{best}" in text


def test_latex_has_the_tables_alone():
    text = to_latex(EVERYTHING)
    tables = [b for s in EVERYTHING.sections for b in s.blocks if isinstance(b, Table)]
    assert text.count(r"\begin{table}") == text.count(r"\caption{") == len(tables)
    assert text.count(r"\begin{") == 2 * len(tables)
    outside = re.sub(r"\\begin\{table\}.*?\\end\{table\}", "", text, flags=re.DOTALL)
    assert all(line.startswith("%") for line in outside.splitlines() if line)


@given(documents)
def test_latex_is_balanced(document):
    text = to_latex(document)
    text.encode()
    text = re.sub("^%.*", "", text, flags=re.MULTILINE)
    bare = re.sub(r"\\[\\{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert opened == []
    labels = re.findall(r"\\label\{([^}]*)\}", text)
    assert len(labels) == len(set(labels))


@given(tables())
def test_latex_tables_keep_their_shape(table):
    text = to_latex(of(table))
    body = text.partition("\\midrule\n")[2].partition("\\bottomrule")[0]
    rows = body.splitlines()
    assert len(rows) == len(table.rows)
    for row in rows:
        assert row.endswith(r" \\")
        assert len(re.findall(r"(?<!\\)&", row)) == len(table.columns) - 1


@pytest.mark.parametrize("engine", ["pdflatex", "lualatex", "xelatex"])
def test_latex_compiles(engine, tmp_path):
    if shutil.which(engine) is None:
        pytest.skip(f"needs {engine}")
    # pdfLaTeX's fonts have no Chinese characters.
    tables = to_latex(EVERYTHING).replace("中", "")
    (tmp_path / "tables.tex").write_text(tables, encoding="utf-8")
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{tables}\end{document}"
    )
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "paper.pdf").stat().st_size > 0
