"""One fold of a cross-validation: the scores and times of one method."""

from __future__ import annotations

import time
from typing import Any

from scipy.sparse import issparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from labelweave._common.pipelines import inside
from labelweave.data import Dataset
from labelweave.evaluation.comparison import shared_fits
from labelweave.evaluation.comparison.fold_runs import score_model
from labelweave.evaluation.comparison.splits import make_splitter
from labelweave.evaluation.metrics.registry import resolve_metrics
from labelweave.models.methods import make_method, with_preprocessing
from labelweave.reproduce.task import Task, load_data

__all__ = ["fit_key", "fold", "forget_fit", "scaled", "split_data", "standardised"]

_last_fit: dict[str, tuple[Any, float]] = {}  # of this process: the model and its seconds


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


def scaled(estimator: Any, X: Any, scale: Any) -> Any:
    """Return an estimator behind the scaling of its features that a task asks for.

    "minmax" puts dense features into [0, 1], by the training rows, and leaves sparse ones as they
    are; other values are those of `labelweave.models.methods.with_preprocessing`.
    """
    if scale == "minmax":
        return estimator if issparse(X) else make_pipeline(MinMaxScaler(), estimator)
    return with_preprocessing(estimator, X, scale)


def fold(task: Task) -> dict[str, Any]:
    """Fit and score a method on one fold.

    A method with the :func:`fit_key` of the one before it in the same process is not fitted again;
    its ``fit_seconds`` are those of the common fit. Settings: ``n_folds``; ``metrics``; ``scale``,
    see `scaled`. What the model chose is among the values: ``C``, the penalty, and
    ``n_components``, the size of a mixture.

    Examples
    --------
    >>> settings = {"n_folds": 10, "metrics": ["exact_match"]}
    >>> values = fold(Task("fold", "emotions", "br(C=1)", 0, 0, settings))
    >>> sorted(values)
    ['C', 'exact_match', 'fit_seconds', 'predict_seconds']
    """
    train, test = split_data(task)
    model, fit_seconds = _fitted(task, train)
    metrics = resolve_metrics(task.settings["metrics"])
    scores, predict_seconds = score_model(model, test.X, test.Y, metrics)
    seconds = {"fit_seconds": fit_seconds, "predict_seconds": predict_seconds}
    return scores | seconds | _chosen(model)


def _chosen(model: Any) -> dict[str, float]:
    fitted = inside(model).model
    found = {name: getattr(fitted, f"{name}_", None) for name in ("C", "n_components")}
    return {name: float(value) for name, value in found.items() if value is not None}


def fit_key(task: Task) -> str:
    """Return what the fit of a method depends on, the same for methods that differ in inference.

    Examples
    --------
    >>> one, other, third = (Task("fold", "emotions", m, 0, 0) for m in ("cc", "pcc", "ecc"))
    >>> fit_key(one) == fit_key(other), fit_key(one) == fit_key(third)
    (True, False)
    """
    estimator = make_method(task.method, seed=task.seed)
    settings = {name: task.settings.get(name) for name in ("n_folds", "scale")}
    method = shared_fits.fit_key(estimator) or task.method
    return repr((method, task.data, task.fold, task.seed, settings))


def forget_fit() -> None:
    """Forget the last model: the next one is fitted, whatever its key."""
    _last_fit.clear()


def _fitted(task: Task, train: Dataset) -> tuple[Any, float]:
    """Return the model of a task and the seconds of its fit."""
    key = fit_key(task)
    estimator = make_method(task.method, seed=task.seed)
    if key not in _last_fit:
        _last_fit.clear()
        model = scaled(estimator, train.X, task.settings.get("scale", "auto"))
        start = time.perf_counter()
        model.fit(train.X, train.Y)
        _last_fit[key] = model, time.perf_counter() - start
    model, seconds = _last_fit[key]
    return shared_fits.predicting_as(model, estimator), seconds
