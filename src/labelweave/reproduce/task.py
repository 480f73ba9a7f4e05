"""The unit of work of a reproduction: one measurement of one method on one part of a data set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from labelweave._common.row_keys import data_digest
from labelweave.data import Dataset, load

__all__ = ["Task", "data_hash", "handed_data", "load_data", "read_data"]

_handed: dict[str, Dataset] = {}


@dataclass(frozen=True)
class Task:
    """One measurement.

    Parameters
    ----------
    measurement : str
        Name of the measurement in :data:`labelweave.reproduce.measurements.MEASUREMENTS`.
    data : str
        Name of the data set; ``"rcv1subset1 top:10"`` keeps its ten most common labels.
    method : str
        Specification of the method, such as ``"mc(preset='published')"``.
    fold : int
        Index of the fold, or of the random split.
    seed : int
        Seed of the folds and of the method.
    settings : dict
        Settings of the measurement.

    Examples
    --------
    >>> task = Task("fold", "emotions", "br", fold=0, seed=0, settings={"n_folds": 10})
    >>> task.key("data", "code") == task.key("data", "code")
    True
    >>> task.key("data", "code") == task.key("data", "newer code")
    False
    """

    measurement: str
    data: str
    method: str
    fold: int
    seed: int
    settings: dict[str, Any] = field(default_factory=dict)

    def key(self, data_hash: str, code: str) -> str:
        """Return a digest of everything that the result depends on."""
        text = json.dumps([asdict(self), data_hash, code], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def __str__(self) -> str:
        return f"{self.data}, {self.method}, fold {self.fold + 1}"


def load_data(name: str) -> Dataset:
    """Return a data set: the one that was handed to this process, or the one of its files.

    Examples
    --------
    >>> load_data("emotions top:3").n_labels
    3
    """
    handed = _handed.get(name)
    return read_data(name) if handed is None else handed


@cache
def read_data(name: str) -> Dataset:
    """Read the files of a data set once per process.

    Examples
    --------
    >>> read_data("emotions") is read_data("emotions")
    True
    """
    source, _, labels = name.partition(" ")
    return load(source, labels=labels or None)


@contextmanager
def handed_data(name: str, data: Dataset) -> Iterator[None]:
    """Let a data set stand for its files, which may be on another machine.

    Examples
    --------
    >>> with handed_data("tiny", Dataset([[1.0]], [[1]])):
    ...     load_data("tiny").n_rows
    1
    """
    _handed[name] = data
    try:
        yield
    finally:
        del _handed[name]


@cache
def data_hash(name: str) -> str:
    """Return a digest of the features and labels of a data set, whatever file they came from.

    Examples
    --------
    >>> data_hash("emotions") == data_hash("emotions top:3")
    False
    """
    data = read_data(name)
    return data_digest(data.X, data.Y)
