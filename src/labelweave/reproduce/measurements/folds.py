"""One fold of a cross-validation: the scores and times of one method."""

from __future__ import annotations

import time
from typing import Any

from sklearn.preprocessing import StandardScaler

from labelweave.datasets import Dataset
from labelweave.evaluation import (
    make_method,
    make_splitter,
    resolve_metrics,
    score_model,
    with_preprocessing,
)
from labelweave.reproduce.task import Task, load_data

__all__ = ["fold", "split_data", "standardised"]


def split_data(task: Task) -> tuple[Dataset, Dataset]:
    """Return the training and test rows of a task: one of ``n_folds`` shuffled folds.

    Examples
    --------
    >>> train, test = split_data(Task("fold", "emotions", "br", 0, 0, {"n_folds": 10}))
    >>> train.n_rows, test.n_rows
    (533, 60)
    """
    data = load_data(task.data)
    splitter = make_splitter("kfold", task.settings["n_folds"], task.seed)
    train, test = list(splitter.split(data.X))[task.fold]
    return data.take(train), data.take(test)


def standardised(train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """Standardise dense features by the training rows; sparse ones stay as they are."""
    if train.is_sparse:
        return train, test
    scaler = StandardScaler().fit(train.X)
    return Dataset(scaler.transform(train.X), train.Y), Dataset(scaler.transform(test.X), test.Y)


def fold(task: Task) -> dict[str, Any]:
    """Fit and score a method on one fold.

    Settings: ``n_folds``; ``metrics``; ``scale``, whether to standardise the features ("auto":
    dense ones).

    Examples
    --------
    >>> settings = {"n_folds": 10, "metrics": ["exact_match"]}
    >>> values = fold(Task("fold", "emotions", "br(C=1)", 0, 0, settings))
    >>> sorted(values)
    ['exact_match', 'fit_seconds', 'predict_seconds']
    """
    train, test = split_data(task)
    estimator = make_method(task.method, seed=task.seed)
    model = with_preprocessing(estimator, train.X, task.settings.get("scale", "auto"))
    start = time.perf_counter()
    model.fit(train.X, train.Y)
    fitted = time.perf_counter()
    metrics = resolve_metrics(task.settings["metrics"])
    scores, predict_seconds = score_model(model, test.X, test.Y, metrics)
    return scores | {"fit_seconds": fitted - start, "predict_seconds": predict_seconds}
