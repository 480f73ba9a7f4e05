"""The catalogue of named data sets: their sizes, and their files in the user's data folder."""

from __future__ import annotations

import csv
import difflib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class CatalogueEntry:
    """A named data set.

    ``files`` are relative to the data folder, where they may be compressed (.xz, .gz, .bz2); their
    rows are concatenated. ``found_in`` says where the data is on this machine
    (``"LABELWEAVE_DATA"``, ``"bundled"`` or ``"cache"``); None if it must be downloaded.
    """

    name: str
    n_rows: int
    n_features: int
    n_labels: int
    cardinality: float
    n_label_sets: int
    description: str
    files: tuple[str, ...]
    label_file: str | None
    train_rows: tuple[int, int] | None  # published training set: first row, end
    is_sparse: bool
    openml_id: int | None
    origin: str
    found_in: str | None = None


def _entry(row: dict[str, str]) -> CatalogueEntry:
    train_rows = (int(row["train_begin"]), int(row["train_end"])) if row["train_end"] else None
    return CatalogueEntry(
        name=row["name"],
        n_rows=int(row["n_rows"]),
        n_features=int(row["n_features"]),
        n_labels=int(row["n_labels"]),
        cardinality=float(row["cardinality"]),
        n_label_sets=int(row["n_label_sets"]),
        description=row["description"],
        files=tuple(row["files"].split()),
        label_file=row["label_file"] or None,
        train_rows=train_rows,
        is_sparse=row["is_sparse"] == "yes",
        openml_id=int(row["openml_id"]) if row["openml_id"] else None,
        origin=row["origin"],
    )


# The file yeast.arff begins with the published test set. In half of the rows of Mulan's rcv1, the
# labels are shifted into the features.
_TABLE = resources.files("labelweave.data") / "catalogue.csv"
ENTRIES = tuple(map(_entry, csv.DictReader(_TABLE.read_text("utf-8").splitlines())))


def is_in_catalogue(name: str) -> bool:
    return any(entry.name == name.lower() for entry in ENTRIES)


def find_entry(name: str) -> CatalogueEntry:
    """Return the entry with this name, ignoring case."""
    by_name = {entry.name: entry for entry in ENTRIES}
    entry = by_name.get(name.lower())
    if entry is None:
        near = difflib.get_close_matches(name.lower(), by_name, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(
            f"{name!r} is neither a file nor a known data set.{hint} "
            f"Known data sets: {', '.join(by_name)}"
        )
    return entry


_ENDINGS = ("", ".xz", ".gz", ".bz2")


def data_folder() -> Path | None:
    """Return the folder named by the environment variable ``LABELWEAVE_DATA``, if it is set."""
    folder = os.environ.get("LABELWEAVE_DATA")
    return Path(folder).expanduser() if folder else None


def local_files(entry: CatalogueEntry) -> list[Path] | None:
    """Return the files of a named data set in the data folder; None unless all are there."""
    folder = data_folder()
    if folder is None:
        return None
    found = [_any_compression(folder / name) for name in entry.files]
    whole = [path for path in found if path is not None]
    return whole if len(whole) == len(entry.files) else None


def _any_compression(path: Path) -> Path | None:
    candidates = (path.with_name(path.name + ending) for ending in _ENDINGS)
    return next((candidate for candidate in candidates if candidate.is_file()), None)
