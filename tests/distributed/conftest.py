"""Worker processes on this machine, started once for all tests that do not harm them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from labelweave.distributed import DaskEngine, connect


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests that use a cluster in one worker of pytest: they share it."""
    for item in items:
        if {"engine", "own_engine"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="session")
def engine() -> Iterator[DaskEngine]:
    """Return an engine of two worker processes, not to be harmed."""
    with connect("local:2") as found:
        yield found


@pytest.fixture
def own_engine() -> Iterator[DaskEngine]:
    """Return an engine of two worker processes to do anything with."""
    with connect("local:2") as found:
        yield found
