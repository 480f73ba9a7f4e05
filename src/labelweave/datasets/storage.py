"""Where named data sets are stored on this machine: the data folder and the cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.files import replacing
from labelweave.datasets.catalogue import CatalogueEntry
from labelweave.datasets.dataset import Dataset, as_features, as_labels

_ENDINGS = ("", ".xz", ".gz", ".bz2")


def data_folder() -> Path | None:
    """Return the folder named by the environment variable ``LABELWEAVE_DATA``, if it is set."""
    folder = os.environ.get("LABELWEAVE_DATA")
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """Return the folder for downloads: ``LABELWEAVE_CACHE`` or the user's cache folder."""
    own = os.environ.get("LABELWEAVE_CACHE")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "labelweave"


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


def cache_file(name: str) -> Path:
    """Return the path of a data set in the cache."""
    return cache_folder() / f"{name}.npz"


def save_to_cache(data: Dataset) -> None:
    """Save a data set to the cache atomically."""
    path = cache_file(data.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, NDArray[Any]] = {
        "Y": data.Y.astype(np.int8),
        "feature_names": np.asarray(data.feature_names, dtype=np.str_),
        "label_names": np.asarray(data.label_names, dtype=np.str_),
        "shape": np.asarray(data.X.shape),
    }
    X: Any = data.X  # data sets that can be downloaded are numeric and complete
    if isinstance(X, np.ndarray):
        arrays["X"] = X
    else:
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    with replacing(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_from_cache(name: str) -> Dataset:
    """Load a data set from the cache."""
    path = cache_file(name)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return _from_arrays(arrays, name)
    except (BadZipFile, EOFError, KeyError, OSError, ValueError) as error:
        raise ValueError(
            f"{path}: corrupt cache file ({error}): delete it and try again"
        ) from error


def _from_arrays(arrays: Mapping[str, NDArray[Any]], name: str) -> Dataset:
    n, D = (int(size) for size in arrays["shape"])
    X = (
        arrays["X"]
        if "X" in arrays
        else sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, D))
    )
    feature_names, label_names = tuple(arrays["feature_names"]), tuple(arrays["label_names"])
    return Dataset(as_features(X), as_labels(arrays["Y"]), feature_names, label_names, name)
