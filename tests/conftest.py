"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture
def shared_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of published data sets, also in LABELWEAVE_DATA; skip if missing."""
    named = os.environ.get("LABELWEAVE_DATA")
    folder = Path(named) if named else PROJECT.parent / "shared" / "data"
    if not (folder / "emotions").is_dir():
        pytest.skip(f"the published data sets are not in {folder}: name theirs in LABELWEAVE_DATA")
    monkeypatch.setenv("LABELWEAVE_DATA", str(folder))
    return folder
