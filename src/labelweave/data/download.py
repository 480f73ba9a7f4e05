"""Named data sets from OpenML, and the cache of those that were downloaded."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from labelweave._common.arrays import Indicators
from labelweave.data.catalogue import CatalogueEntry
from labelweave.data.dataset import Dataset
from labelweave.data.mapped import read_mapped

_SERVER = "https://www.openml.org"
_PATIENCE = 8.0  # seconds; an answer takes less than one
_TRUE, _FALSE = {"true", "1", "1.0"}, {"false", "0", "0.0"}


def download(entry: CatalogueEntry) -> Dataset:
    """Download a named data set from OpenML and verify its name and size.

    Raises ``ValueError`` if OpenML has a different data set, ``OSError`` without a network.
    """
    _require_answer()
    refused = []
    # First by identifier; if that belongs to another data set, by name: OpenML has the multi-label
    # form of data sets that also exist in other forms as version 4.
    for wanted in ({"data_id": entry.openml_id}, {"name": entry.name, "version": 4}):
        try:
            bunch = _fetch(wanted)
        except ValueError as error:  # no such data set
            refused.append(f"{wanted}: {error}")
            continue
        problem = _mismatch(bunch, entry)
        if problem is None:
            return _to_dataset(bunch, entry)
        refused.append(f"{wanted}: {problem}")
    raise ValueError(f"OpenML does not have the expected {entry.name!r} ({'; '.join(refused)})")


def _require_answer() -> None:
    """Raise ``OSError`` unless OpenML answers within a few seconds.

    scikit-learn waits as long as the system does: for minutes behind a firewall that drops packets.
    The lookup of a host name has no timeout at all, so it runs in a thread that may be abandoned.
    """
    failures: list[OSError] = []

    def ask() -> None:
        try:
            urlopen(Request(_SERVER, method="HEAD"), timeout=_PATIENCE).close()
        except HTTPError as error:  # an answer
            error.close()
        except OSError as error:
            failures.append(error)

    asking = Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    if asking.is_alive():
        raise TimeoutError(f"no answer from {_SERVER} within {_PATIENCE:g} seconds")
    if failures:
        raise failures[0]


def _fetch(wanted: dict[str, Any]) -> Any:
    from sklearn.datasets import fetch_openml

    # scikit-learn warns about retries and versions; neither helps a user who gave a name.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return fetch_openml(
            **wanted, as_frame="auto", parser="auto", cache=False, n_retries=1, delay=0.5
        )


def _mismatch(bunch: Any, entry: CatalogueEntry) -> str | None:
    name = str(bunch.details.get("name", ""))
    if name.lower() != entry.name:
        return f"it is named {name!r}"
    labels = 1 if np.ndim(bunch.target) == 1 else np.shape(bunch.target)[1]
    found = (*np.shape(bunch.data), labels)
    expected = (entry.n_rows, entry.n_features, entry.n_labels)
    if found != expected:
        return "it has {} rows, {} features, {} labels instead of {}, {}, {}".format(
            *found, *expected
        )
    return None


def _to_dataset(bunch: Any, entry: CatalogueEntry) -> Dataset:
    X: Any = bunch.data
    if not sparse.issparse(X):
        X = np.asarray(X).astype(np.float64)  # nominal columns are returned as text
    if sparse.issparse(X) != entry.is_sparse:
        X = sparse.csr_array(X) if entry.is_sparse else X.toarray()
    Y = _binary(np.asarray(bunch.target), entry)
    return Dataset(X, Y, tuple(bunch.feature_names), tuple(bunch.target_names), entry.name)


def _binary(target: NDArray[Any], entry: CatalogueEntry) -> Indicators:
    """Return nominal labels, spelled TRUE and FALSE in various ways, as 1 and 0."""
    words = np.char.lower(target.astype(np.str_))
    unknown = set(np.unique(words)) - _TRUE - _FALSE
    if unknown:
        raise ValueError(f"labels of {entry.name!r} on OpenML contain {str(min(unknown))!r}")
    return np.isin(words, list(_TRUE)).astype(np.int64)


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


def cached(name: str) -> Path:
    """Return the folder of a data set in the cache, in the format of `write_mapped`."""
    return cache_folder() / name


def load_from_cache(name: str) -> Dataset:
    """Load a data set from the cache into memory."""
    try:
        data = read_mapped(cached(name))
    except (OSError, ValueError) as error:
        raise ValueError(f"{error}: delete {cached(name)} and try again") from error
    return replace(data, X=data.X.copy(), Y=data.Y.astype(np.int64))
