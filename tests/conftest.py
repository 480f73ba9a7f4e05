"""What all tests share."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.interruption import Interruptible
from tests.report.chromium import Chromium, find_chromium

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

PROJECT = Path(__file__).resolve().parents[1]

# Before NumPy is loaded: on matrices as small as the tests', the threads of BLAS only wait for
# each other, and take the cores from the workers of pytest-xdist meanwhile.
for pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(pool, "1")

# No clock: how long an example takes depends on what else the machine does.
settings.register_profile("whole", deadline=None, print_blob=True)
settings.register_profile("fast", settings.get_profile("whole"), max_examples=20)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "leave out the tests marked slow or browser, and draw fewer examples"
    parser.addoption("--fast", action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("fast" if config.getoption("fast") else "whole")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("fast"):
        return
    left_out = [item for item in items if is_slow(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_slow(item)]


def pytest_collection_finish() -> None:
    """Spare the garbage collector what was imported and collected: it stays to the end."""
    gc.collect()
    gc.freeze()


def is_slow(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(name) for name in ("slow", "browser"))


# Modules that one worker runs: they share processes, which cost seconds to start. The marks of
# pytest-xdist 3.8 for groups have no effect with pytest 9.2.
GROUPS = {
    "tests/distributed/": "cluster",
    "tests/cli/": "processes",
    "tests/contract/test_determinism.py": "processes",
    "tests/contract/test_many_labels.py": "processes",
    "tests/evaluation/test_cross_validation.py": "processes",
    "tests/evaluation/test_selection.py": "processes",
    "tests/baselines/test_interrupt.py": "interrupted",
    "tests/inference/test_interrupt.py": "interrupted",
    "tests/logistic/test_interrupt.py": "interrupted",
    "tests/explore/test_browser.py": "chromium",
    "tests/report/test_browser.py": "chromium",
    "tests/reproduce/test_report.py": "chromium",
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Give a worker whole modules, or groups of them.

    So what the tests of a module share is made once, and the scheduler need not look at thousands
    of single tests after each.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Modules(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return next((GROUPS[path] for path in GROUPS if module.startswith(path)), module)

    return Modules(config, log)


@pytest.fixture
def shared_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of published data sets, also in LABELWEAVE_DATA; skip if there is none."""
    beside = PROJECT.parent / "shared" / "data"
    named = os.environ.get("LABELWEAVE_DATA") or (str(beside) if beside.is_dir() else "")
    if not named:
        pytest.skip("needs the published data sets: name their folder in LABELWEAVE_DATA")
    folder = Path(named)
    if not (folder / "emotions").is_dir():
        pytest.skip(f"the published data sets are not in {folder}, which LABELWEAVE_DATA names")
    monkeypatch.setenv("LABELWEAVE_DATA", named)
    return folder


@pytest.fixture(scope="session")
def interruptible() -> Iterator[Interruptible]:
    """Return a process in which long work can be interrupted; it must end in peace."""
    process = Interruptible()
    yield process
    assert process.leave() == 0


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Return a headless browser; tests that use it belong to the group "chromium"."""
    program = find_chromium()
    if program is None:
        pytest.skip("needs chromium on the PATH")
    browser = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()
