"""Measurements: functions from a task and its data to named values, each run in a worker.

Their docstrings explain the settings of the tasks. Posteriors of BOMC are in `posteriors`.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from labelweave._common.arrays import Floats, Indicators
from labelweave._common.pipelines import inside
from labelweave._common.row_keys import data_digest
from labelweave.data import Dataset, load
from labelweave.evaluation.tasks import SharedFit, fit_key
from labelweave.inference import BestFirst, Exhaustive, Gibbs
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.metrics import METRICS, resolve_metrics
from labelweave.models.methods import make_method, with_preprocessing
from labelweave.models.predictions import predict_joint, predict_labels, score_model
from labelweave.papers.plan import Task

Values = dict[str, Any]

_TRAINING_SHARE = 0.8  # of random splits
# Enumeration and sampling are timed this often, unless they take so many seconds.
_REPEATS, _LONG = 5, 5.0


@cache
def load_data(name: str) -> Dataset:
    """Return a data set; its files are read once per process."""
    source, _, labels = name.partition(" ")
    return load(source, labels=labels or None)


@cache
def data_hash(name: str) -> str:
    """Return a digest of the features and labels of a data set, independent of its files."""
    data = load_data(name)
    return data_digest(data.X, data.Y)


def kfold_split(task: Task, data: Dataset) -> tuple[Dataset, Dataset]:
    """Return the training and test rows of a task: one of ``n_folds`` shuffled folds."""
    splitter = KFold(task.settings["n_folds"], shuffle=True, random_state=task.seed)
    train, test = list(splitter.split(data.X))[task.fold]
    return data.take(train), data.take(test)


def random_split(task: Task, data: Dataset) -> tuple[Dataset, Dataset]:
    """Return four fifths of the rows in random order, for training, and the test rows."""
    order = np.random.default_rng([task.seed, task.fold]).permutation(data.n_rows)
    n_train = int(_TRAINING_SHARE * data.n_rows)
    return data.take(order[:n_train]), data.take(order[n_train:])


def first_rows(train: Dataset, test: Dataset, size: int) -> tuple[Dataset, Dataset]:
    """Return the first `size` training rows and the test rows, dense features standardised.

    The scale is computed from the rows that a learner sees.
    """
    if size > train.n_rows:
        raise ValueError(f"size must be at most {train.n_rows}, the training rows; got {size}")
    seen = train.take(np.arange(size))
    if seen.is_sparse:
        return seen, test
    scaler = StandardScaler().fit(seen.X)
    return Dataset(scaler.transform(seen.X), seen.Y), Dataset(scaler.transform(test.X), test.Y)


def scaled(estimator: Any, X: Any, scale: Any) -> Any:
    """Return an estimator in a pipeline with the feature scaling of a task.

    "minmax" puts dense features into [0, 1]; other values are those of `with_preprocessing`.
    """
    if scale == "minmax":
        return estimator if issparse(X) else make_pipeline(MinMaxScaler(), estimator)
    return with_preprocessing(estimator, X, scale)


def joint_of(model: Any, X: Any) -> JointDistribution:
    joint = predict_joint(model, X)
    assert isinstance(joint, JointDistribution)
    return joint


# One fold of a cross-validation


def fold(task: Task, data: Dataset, fit: SharedFit | None = None) -> Values:
    """Fit and score a method on one fold.

    Settings: ``n_folds``; ``metrics``; ``scale``, see `scaled`. Tasks with the same `shared_key`
    may share the `fit` and its time. The values include the chosen penalty ``C`` and the chosen
    size of a mixture, ``n_components``.
    """
    train, test = kfold_split(task, data)
    fit = SharedFit() if fit is None else fit
    estimator = make_method(task.method, seed=task.seed)
    wanted = scaled(estimator, train.X, task.settings.get("scale", "auto"))
    model = fit.model(wanted, train.X, train.Y)
    metrics = resolve_metrics(task.settings["metrics"]).values()
    scores, seconds = score_model(model, test.X, test.Y, metrics)
    fitted = inside(model).model
    chosen = {name: getattr(fitted, f"{name}_", None) for name in ("C", "n_components")}
    return {
        **scores,
        "fit_seconds": fit.seconds,
        "predict_seconds": seconds,
        **{name: float(value) for name, value in chosen.items() if value is not None},
    }


def shared_key(task: Task) -> Hashable | None:
    """Return a key of the fit, the same for tasks that can share it; None if none can."""
    if task.measurement != "fold":
        return None
    try:
        method = fit_key(make_method(task.method, seed=task.seed))
    except Exception:  # there is no such method: the task itself will fail and name it
        return None
    split = task.data, task.fold, task.seed, task.settings["n_folds"]
    return None if method is None else (method, *split, task.settings.get("scale"))


# Classifier chains: convergence of Gibbs sampling, and the cost of enumeration


def convergence(task: Task, data: Dataset) -> Values:
    """Trace the mean probability of the best vector found by Gibbs sampling, sweep by sweep.

    Settings: ``n_folds``, ``sweeps``. ``proven`` is the share of rows with a proven mode, and
    ``mode_probability`` is the mean probability of the best vector found by a search.
    """
    joint = _chain_joint(task, data)
    trace = Gibbs(sweeps=task.settings["sweeps"], random_state=task.seed).trace(joint)
    mode = BestFirst()(joint)
    return {
        "mean_probability": np.exp(trace).mean(axis=0).tolist(),
        "mode_probability": float(np.exp(mode.log_prob).mean()),
        "proven": float(mode.optimal.mean()),
    }


def enumeration(task: Task, data: Dataset) -> Values:
    """Time the enumeration of all 2^L label vectors on some rows, and Gibbs sampling on all.

    The scores of the features are computed before, because both need the same. Settings:
    ``n_folds``; ``rows``, the number of rows to enumerate; ``max_labels``, beyond which enumeration
    is not tried and ``seconds_per_row`` is missing.
    """
    joint = _chain_joint(task, data)
    values = {
        "n_labels": joint.n_labels,
        "n_rows": len(joint),
        "sampling_seconds_per_row": _seconds(Gibbs(random_state=task.seed), joint) / len(joint),
    }
    if joint.n_labels <= task.settings["max_labels"]:
        some = joint[: task.settings["rows"]]
        enumerate_all = Exhaustive(max_labels=joint.n_labels, prune=False)
        values["seconds_per_row"] = _seconds(enumerate_all, some) / len(some)
    return values


def _chain_joint(task: Task, data: Dataset) -> JointDistribution:
    train, test = kfold_split(task, data)
    model = with_preprocessing(make_method(task.method, seed=task.seed), train.X)
    return joint_of(model.fit(train.X, train.Y), test.X)


def _seconds(inference: Inference, joint: JointDistribution) -> float:
    """Return the shortest time of several runs, or of fewer if they are long."""
    times: list[float] = []
    while len(times) < _REPEATS and sum(times) < _LONG:
        start = time.perf_counter()
        inference(joint)
        times.append(time.perf_counter() - start)
    return min(times)


# Mixtures of trees: the gain of each further tree, and how often a tree's mode is the mode


def tree_counts(task: Task, data: Dataset) -> Values:
    """Score mixtures of growing numbers of trees.

    Settings: ``n_folds``; ``counts``; ``scale``, as in `fold`; ``C``, a number, or "cv" for the
    penalties chosen for a single tree.
    """
    train, test = kfold_split(task, data)
    scores: dict[str, list[float]] = {"exact_match": [], "cll_loss": []}
    for count in task.settings["counts"]:
        model = _mixture(task, train, n_components=count, C=task.settings["C"])
        scores["exact_match"].append(METRICS["exact_match"](test.Y, model.predict(test.X)))
        scores["cll_loss"].append(METRICS["cll_loss"](test.Y, joint_of(model, test.X)))
    return scores


def map_agreement(task: Task, data: Dataset) -> Values:
    """Measure how often the best of the trees' modes is the mode of the mixture.

    Settings: ``n_folds``; ``count``, the number of trees; ``scale``. Only rows with a proven mode
    are counted.
    """
    train, test = kfold_split(task, data)
    joint = joint_of(_mixture(task, train, n_components=task.settings["count"]), test.X)
    assert isinstance(joint, MixtureJoint)
    mode = BestFirst(budget=10_000)(joint)
    candidates = [joint.log_prob(tree.mode().labels) for tree in joint.components]
    found: Floats = np.max(candidates, axis=0)
    same = found >= mode.log_prob - 1e-9
    return {"agreement": float(same[mode.optimal].mean()), "proven": float(mode.optimal.mean())}


def _mixture(task: Task, train: Dataset, **parameters: Any) -> Any:
    mixture = make_method(task.method, seed=task.seed).set_params(**parameters)
    return scaled(mixture, train.X, task.settings["scale"]).fit(train.X, train.Y)


# Streams: learners after one pass over the first rows of a random split


def stream(task: Task, data: Dataset) -> Values:
    """Train on growing numbers of rows, and label the test rows as one test set.

    Settings: ``sizes``, the numbers of training rows, except those beyond the data; ``at_most``, a
    limit for some methods. The values of each size, with ``@size`` in their names, are macro F1
    over all labels, macro F1 over the labels that occur in the test rows, and micro F1.
    """
    split = random_split(task, data)
    values: Values = {}
    for size in _sizes(task, split[0].n_rows):
        train, test = first_rows(*split, size)
        model = make_method(task.method, seed=task.seed).fit(train.X, train.Y)
        found = _f1_scores(test.Y, predict_labels(model, test.X))
        values |= {f"{name}@{size}": value for name, value in found.items()}
    return values


def training_time(task: Task, data: Dataset) -> Values:
    """Measure the CPU seconds of training on growing numbers of rows, with one thread.

    Settings: ``sizes`` and ``at_most``, as in `stream`.
    """
    split = random_split(task, data)
    # The first fit in a process also loads libraries, which must not be timed.
    few, _ = first_rows(*split, min(task.settings["sizes"]) // 10)
    make_method(task.method, seed=task.seed).fit(few.X, few.Y)
    values: Values = {}
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


def _f1_scores(truth: Indicators, labels: Indicators) -> dict[str, float]:
    occurs = truth.any(axis=0)
    return {
        "f1_macro": METRICS["f1_macro"](truth, labels),
        "f1_macro_occurring": METRICS["f1_macro"](truth[:, occurs], labels[:, occurs]),
        "f1_micro": METRICS["f1_micro"](truth, labels),
    }


def in_parts(task: Task, data: Dataset) -> Values:
    """Label the test rows in parts, each a test set of its own, and score all of them together.

    All numbers of parts are scored on the same rows, so scores differ only because a rule for test
    sets sees more or fewer rows at once. Settings: ``size``, the number of training rows;
    ``parts``, the numbers of parts, with ``/parts`` in the names of their values.
    """
    train, test = first_rows(*random_split(task, data), task.settings["size"])
    model = make_method(task.method, seed=task.seed).fit(train.X, train.Y)
    values: Values = {}
    for n_parts in task.settings["parts"]:
        parts = np.array_split(np.arange(test.n_rows), n_parts)
        labels = np.vstack([predict_labels(model, test.take(rows).X) for rows in parts])
        values[f"rows/{n_parts}"] = len(parts[0])
        values[f"f1_macro/{n_parts}"] = METRICS["f1_macro"](test.Y, labels)
    return values
