"""Worker processes on this machine, started once for all tests that do not harm them.

One worker of pytest runs all modules of this folder (`GROUPS`). The processes end with them: a
cluster that waits is busy talking to itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labelweave.distributed import connect
from labelweave.distributed.cluster import DaskEngine


@pytest.fixture(scope="package")
def engine() -> Iterator[DaskEngine]:
    """Return an engine of two worker processes, not to be harmed."""
    with connect("local:2") as found:
        yield found


@pytest.fixture
def own_engine() -> Iterator[DaskEngine]:
    """Return an engine of two worker processes to do anything with."""
    with connect("local:2") as found:
        yield found
