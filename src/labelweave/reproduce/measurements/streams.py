"""Streams: what learners make of one pass over the first rows of a random split."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from labelweave._common.arrays import Indicators
from labelweave.datasets import Dataset
from labelweave.evaluation import make_method, predict_labels
from labelweave.metrics import METRICS
from labelweave.reproduce.measurements.folds import standardised
from labelweave.reproduce.task import Task, load_data

__all__ = ["first_rows", "in_parts", "random_split", "stream", "training_time"]

TRAINING_SHARE = 0.8


def random_split(task: Task) -> tuple[Dataset, Dataset]:
    """Return training rows in random order, four fifths of all, and the test rows.

    Examples
    --------
    >>> train, test = random_split(Task("stream", "emotions", "svm", fold=0, seed=0))
    >>> train.n_rows, test.n_rows
    (474, 119)
    """
    data = load_data(task.data)
    order = np.random.default_rng([task.seed, task.fold]).permutation(data.n_rows)
    n_train = int(TRAINING_SHARE * data.n_rows)
    return data.take(order[:n_train]), data.take(order[n_train:])


def first_rows(train: Dataset, test: Dataset, size: int) -> tuple[Dataset, Dataset]:
    """Return the first `size` training rows and the test rows, dense features standardised.

    The scale is that of the rows a learner sees. Sparse features stay as they are.
    """
    if size > train.n_rows:
        raise ValueError(f"size must be at most {train.n_rows}, the training rows; got {size}")
    return standardised(train.take(np.arange(size)), test)


def stream(task: Task) -> dict[str, Any]:
    """Train on growing numbers of rows, and label the test rows as one test set.

    Settings: ``sizes``, the numbers of training rows, of which those that there are rows for count;
    ``at_most``, a limit for some methods. For each size, ``@size`` in the names of the values:
    macro F1, over all labels and over those that occur in the test rows, and micro F1.

    Examples
    --------
    >>> task = Task("stream", "emotions", "bomc-cmn", 0, 0, {"sizes": [100, 400]})
    >>> values = stream(task)
    >>> len(values), values["f1_macro@400"] > values["f1_macro@100"]
    (6, True)
    """
    split = random_split(task)
    values: dict[str, Any] = {}
    for size in _sizes(task, split[0].n_rows):
        train, test = first_rows(*split, size)
        model = make_method(task.method, seed=task.seed).fit(train.X, train.Y)
        found = _scores(test.Y, predict_labels(model, test.X))
        values |= {f"{name}@{size}": value for name, value in found.items()}
    return values


def training_time(task: Task) -> dict[str, Any]:
    """Measure the CPU seconds of training on growing numbers of rows, with one thread.

    Settings: ``sizes`` and ``at_most``, as for :func:`stream`.

    Examples
    --------
    >>> task = Task("training_time", "emotions", "bomc-cmn", 0, 0, {"sizes": [100, 400]})
    >>> sorted(training_time(task))
    ['fit_seconds@100', 'fit_seconds@400']
    """
    split = random_split(task)
    _warm_up(task, *split)
    values: dict[str, Any] = {}
    for size in _sizes(task, split[0].n_rows):
        train, _ = first_rows(*split, size)
        model = make_method(task.method, seed=task.seed)
        start = time.process_time()
        model.fit(train.X, train.Y)
        values[f"fit_seconds@{size}"] = time.process_time() - start
    return values


def _sizes(task: Task, n_rows: int) -> list[int]:
    limit = task.settings.get("at_most", {}).get(task.method, n_rows)
    return [size for size in task.settings["sizes"] if size <= min(limit, n_rows)]


def _warm_up(task: Task, train: Dataset, test: Dataset) -> None:
    """Train on a few rows: the first fit in a process also pays for what is loaded only once."""
    few, _ = first_rows(train, test, min(task.settings["sizes"]) // 10)
    make_method(task.method, seed=task.seed).fit(few.X, few.Y)


def _scores(truth: Indicators, labels: Indicators) -> dict[str, float]:
    occurs = truth.any(axis=0)
    return {
        "f1_macro": METRICS["f1_macro"](truth, labels),
        "f1_macro_occurring": METRICS["f1_macro"](truth[:, occurs], labels[:, occurs]),
        "f1_micro": METRICS["f1_micro"](truth, labels),
    }


def in_parts(task: Task) -> dict[str, Any]:
    """Label the test rows in parts, each a test set of its own, and score all of them together.

    Scores of parts of different sizes are then those of the same rows, and differ only by what a
    rule for test sets can see. Settings: ``size``, the number of training rows; ``parts``, the
    numbers of parts, which are ``/parts`` in the names of the values.

    Examples
    --------
    >>> task = Task("in_parts", "emotions", "bomc-cmn", 0, 0, {"size": 400, "parts": [1, 8]})
    >>> values = in_parts(task)
    >>> values["rows/1"], values["rows/8"], values["f1_macro/1"] > values["f1_macro/8"]
    (119, 15, True)
    """
    train, test = first_rows(*random_split(task), task.settings["size"])
    model = make_method(task.method, seed=task.seed).fit(train.X, train.Y)
    values: dict[str, Any] = {}
    for n_parts in task.settings["parts"]:
        parts = np.array_split(np.arange(test.n_rows), n_parts)
        labels = np.vstack([predict_labels(model, test.take(rows).X) for rows in parts])
        values[f"rows/{n_parts}"] = len(parts[0])
        values[f"f1_macro/{n_parts}"] = METRICS["f1_macro"](test.Y, labels)
    return values
