"""The two data sets that ship with the package; ``bundled/README.md`` gives their sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import resources

import numpy as np

from labelweave.datasets.dataset import Dataset
from labelweave.datasets.tables import read_csv


def load_emotions() -> Dataset:
    """Load emotions: 593 songs, 72 audio features, 6 emotions (Trohidis et al., 2008).

    Examples
    --------
    >>> load_emotions()
    Dataset 'emotions': 593 rows, 72 features, 6 labels, cardinality 1.868, 27 distinct label sets
    """
    data = _read_bundled("scikit-multiflow-0.4.1_music.csv.gz", "first:6")
    labels = tuple(name.replace("relaxing-clam", "relaxing-calm") for name in data.label_names)
    return replace(data, name="emotions", label_names=labels, train_rows=np.arange(391))


def load_yeast() -> Dataset:
    """Load yeast: 2417 genes, 103 features, 14 functional classes (Elisseeff and Weston, 2001).

    Examples
    --------
    >>> load_yeast()
    Dataset 'yeast': 2417 rows, 103 features, 14 labels, cardinality 4.237, 198 distinct label sets
    """
    data = _read_bundled("river-0.26.1_yeast.csv.gz", "last:14")
    return replace(data, name="yeast", train_rows=np.arange(917, 2417))


BUNDLED: dict[str, Callable[[], Dataset]] = {"emotions": load_emotions, "yeast": load_yeast}


def _read_bundled(file: str, labels: str) -> Dataset:
    resource = resources.files("labelweave.datasets") / "bundled" / file
    with resources.as_file(resource) as path:
        return read_csv(path, labels)
