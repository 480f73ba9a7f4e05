"""The scripts that show how the library is used run as they are."""

from __future__ import annotations

import runpy

import pytest

from tests.conftest import PROJECT

EXAMPLES = sorted((PROJECT / "examples").glob("*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_examples_run(script, capsys):
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_there_are_examples():
    assert EXAMPLES
