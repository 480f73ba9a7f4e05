"""The README's Python examples run, one after the other, as a reader would run them."""

from __future__ import annotations

import re

import matplotlib.pyplot as plt
import pytest

from labelweave.models.methods import METHODS
from tests.conftest import PROJECT

README = (PROJECT / "README.md").read_text("utf-8")


def test_the_python_examples_run():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_in_the_table(method):
    assert re.search(rf"(?m)^\| [^|]*`{re.escape(method)}`", README)
