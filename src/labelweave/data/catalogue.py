"""The catalogue of named data sets: their sizes, and their files in the user's data folder."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CatalogueEntry:
    """A named data set.

    ``files`` are relative to the data folder, where they may be compressed (.xz, .gz, .bz2); their
    rows are concatenated. ``found_in`` says where the data is on this machine
    (``"LABELWEAVE_DATA"``, ``"bundled"`` or ``"cache"``); None if it would be downloaded.
    """

    name: str
    n_rows: int
    n_features: int
    n_labels: int
    cardinality: float
    n_label_sets: int
    description: str
    files: tuple[str, ...]
    label_file: str | None = None
    train_rows: tuple[int, int] | None = None  # published training set: first row, end
    is_sparse: bool = False
    openml_id: int | None = None
    origin: str = "Mulan"
    found_in: str | None = None


def _rcv1(
    name: str, n_rows: int, cardinality: float, n_label_sets: int, part: str
) -> CatalogueEntry:
    return CatalogueEntry(
        name,
        n_rows,
        47236,
        101,
        cardinality,
        n_label_sets,
        "Reuters news stories by topic"
        + (", the union of five subsets without repeated rows" if name == "rcv1" else ""),
        files=(f"rcv1/rcv1subset{part}.xmc.txt",),
        is_sparse=True,
        # In half of the rows of Mulan's files, the labels are shifted into the features.
        origin="Mulan, with its misplaced label columns put right and written as XMC text",
    )


ENTRIES: tuple[CatalogueEntry, ...] = (
    CatalogueEntry(
        *("emotions", 593, 72, 6, 1.868, 27, "Songs by the emotions they evoke"),
        files=("emotions/emotions.arff",),
        label_file="emotions/emotions.xml",
        train_rows=(0, 391),
        openml_id=41465,
    ),
    CatalogueEntry(
        *("scene", 2407, 294, 6, 1.074, 15, "Photographs by the landscapes they show"),
        files=("scene/scene-train.arff", "scene/scene-test.arff"),
        label_file="scene/scene.xml",
        train_rows=(0, 1211),
        openml_id=41471,
    ),
    CatalogueEntry(
        *("yeast", 2417, 103, 14, 4.237, 198, "Genes of yeast by their functional classes"),
        files=("yeast/yeast.arff",),
        label_file="yeast/yeast.xml",
        train_rows=(917, 2417),  # the whole file begins with the published test set
        openml_id=41473,
    ),
    CatalogueEntry(
        *("image", 2000, 294, 5, 1.236, 20, "Natural scenes by what they show"),
        files=("image/image-train.arff", "image/image-test.arff"),
        label_file="image/image.xml",
        train_rows=(0, 1501),
        openml_id=41468,
    ),
    CatalogueEntry(
        *("enron", 1702, 1001, 53, 3.378, 753, "E-mails of the Enron company by topic"),
        files=("enron/enron.arff",),
        label_file="enron/enron.xml",
        is_sparse=True,
        openml_id=41466,
    ),
    CatalogueEntry(
        *("slashdot", 3782, 1079, 22, 1.181, 156, "Slashdot articles by subject"),
        files=("slashdot/SLASHDOT-F.arff",),
        origin="Meka",
        train_rows=(0, 1891),
        is_sparse=True,
        openml_id=41472,
    ),
    CatalogueEntry(
        *("corel5k", 5000, 499, 374, 3.522, 3175, "Stock photographs by keyword"),
        files=("corel5k/Corel5k-sparse.arff",),
        label_file="corel5k/Corel5k.xml",
        train_rows=(0, 4500),
        is_sparse=True,
    ),
    CatalogueEntry(
        *("cal500", 502, 68, 174, 26.044, 502, "Songs by what listeners say about them"),
        files=("cal500/cal500.arff",),
        label_file="cal500/cal500.xml",
    ),
    CatalogueEntry(
        *("flags", 194, 19, 7, 3.392, 54, "Countries by the colours of their flags"),
        files=("flags/flags.arff",),
        label_file="flags/flags.xml",
    ),
    CatalogueEntry(
        *("genbase", 662, 1186, 27, 1.252, 32, "Proteins by their functional families"),
        files=("genbase/genbase.arff",),
        label_file="genbase/genbase.xml",
    ),
    CatalogueEntry(
        *("delicious", 16105, 500, 983, 19.020, 15806, "Web pages by the tags of their readers"),
        files=("delicious/delicious-train.arff", "delicious/delicious-test.arff"),
        label_file="delicious/delicious.xml",
        train_rows=(0, 12920),
        is_sparse=True,
    ),
    CatalogueEntry(
        *("tmc2007-500", 28596, 500, 22, 2.158, 1341, "Aviation safety reports by problem"),
        files=("tmc2007-500/tmc2007-500.arff",),
        label_file="tmc2007-500/tmc2007-500.xml",
        train_rows=(0, 21519),
        is_sparse=True,
    ),
    CatalogueEntry(
        *("imdb", 120919, 1001, 28, 2.0, 4503, "Plot summaries of films by genre"),
        files=("imdb/Imdb.arff",),
        origin="Meka",
        is_sparse=True,
    ),
    _rcv1("rcv1subset1", 6000, 2.895, 811, "1.realigned"),
    _rcv1("rcv1subset2", 6000, 2.890, 817, "2.realigned"),
    _rcv1("rcv1subset3", 6000, 2.905, 801, "3.realigned"),
    _rcv1("rcv1subset4", 6000, 2.908, 785, "4.realigned"),
    _rcv1("rcv1subset5", 6000, 2.905, 814, "5.realigned"),
    _rcv1("rcv1", 27613, 2.913, 2058, "1-5.realigned.dedup"),
)


def is_in_catalogue(name: str) -> bool:
    """Whether the catalogue has an entry with this name."""
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
