"""What the tests of pictures share: no window, and figures closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        yield
    plt.close("all")
