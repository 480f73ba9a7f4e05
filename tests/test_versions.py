"""The version is written once: in the package, from which all other places take it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import labelweave
from labelweave.versions import library_versions
from tests.conftest import PROJECT


def test_the_version_is_written_once():
    with (PROJECT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    assert version("labelweave") == labelweave.__version__
    assert library_versions()["labelweave"] == labelweave.__version__


def test_the_command_line_and_the_citation_agree():
    from typer.testing import CliRunner

    from labelweave.cli.app import app

    shown = CliRunner().invoke(app, ["--version"]).stdout
    assert shown == f"labelweave {labelweave.__version__}\n"
    citation = (PROJECT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"(?m)^version: (.+)$", citation) == [labelweave.__version__]


def test_authors_and_licence_agree():
    with (PROJECT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    (author,) = (author["name"] for author in project["authors"])
    assert f", {author}\n" in (PROJECT / "LICENSE").read_text("utf-8")
    citation = (PROJECT / "CITATION.cff").read_text("utf-8")
    assert f"\n  - name: {author}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation


def test_the_changelog_has_a_section_for_this_version_or_for_the_next():
    sections = re.findall(r"(?m)^## \[(.+?)\]", (PROJECT / "CHANGELOG.md").read_text("utf-8"))
    assert sections[0] == "Unreleased" or labelweave.__version__ in sections
