"""Prediction on dask arrays and data frames: lazy, block by block, with rules for all rows."""

from __future__ import annotations

import pickle
from typing import Any

import dask.array as da
import numpy as np
from dask import delayed
from dask.base import tokenize
from dask.delayed import Delayed
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats
from labelweave._common.pipelines import inside
from labelweave.decision.probabilities import Scores
from labelweave.decision.rules import ScoredRows
from labelweave.distributed.row_blocks import RowBlocks
from labelweave.distributed.threshold_passes import thresholds_of_blocks
from labelweave.models.base import Estimator


def predict(model: Any, X: Any) -> Any:
    """Return the labels of the rows of a dask array or data frame, as ``model.predict`` would.

    Nothing is computed before the result is. Decisions row by row take one pass over X. A rule for
    whole test sets takes all rows of X as one: further passes, each of which reads X and computes
    the scores again, find the thresholds of all rows, to the last bit.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a pipeline or search that ends in one. It is copied now and sent
        to each worker once.
    X : dask array or data frame
        One chunk of columns; chunks may be sparse matrices and their numbers of rows unknown.
        ``X.persist()`` keeps rows in memory that are dear to read.

    Returns
    -------
    dask array or data frame
        (n, L) of 0/1, or the classes of a one-dimensional target; with the index of X and the names
        of the labels if X is a data frame. Chunks without rows have no labels.

    Notes
    -----
    What the rules need, for n rows in blocks of b rows with L labels:

    - "fixed" and tuned thresholds: no pass of their own;
    - "sample": one pass; counts of 8·L·samples·grid bytes a block;
    - "lcard": two passes; the second one brings together the scores that share their first 20
      bits with the threshold, a small part of all unless very many scores are equal, and equal
      scores are counted;
    - "cmn", "expected_f" and "expected_auc": one pass, after which the workers together hold the
      scores of all rows, 8·n·L bytes; a sixteenth of the labels at a time is sorted on one
      worker. No exact statistic is smaller; dask spills to disk what does not fit.

    Examples
    --------
    >>> import dask.array as da
    >>> from labelweave import load
    >>> from labelweave.distributed import predict
    >>> from labelweave import BinaryRelevance
    >>> data = load("emotions")
    >>> model = BinaryRelevance(C=0.01, decision="cmn").fit(data.X, data.Y)
    >>> X = da.from_array(data.X, chunks=(100, -1))
    >>> labels = predict(model, X)
    >>> labels.shape, labels.chunksize
    ((593, 6), (100, 6))
    >>> bool((labels.compute() == model.predict(data.X)).all())
    True
    """
    classifier, rows = _checked(model, X)
    encoding = classifier.label_encoding
    no_rows = encoding.decode(np.empty((0, classifier.n_labels_), dtype=np.int8))
    names, sent, rule = _label_names(classifier), _sent(model), classifier.threshold_rule()
    if rule is None:
        return rows.map_to_rows(_predict, no_rows, names, model=sent)
    chosen = thresholds_of_blocks(rule, rows, _evidence, sent, classifier.n_labels_)
    again = rows.after(chosen) if "rows" in rule.needs else rows
    return again.map_to_rows(_predict_above, no_rows, names, model=sent, thresholds=chosen)


def predict_proba(model: Any, X: Any) -> Any:
    """Return the marginal probabilities of the labels, as ``model.predict_proba`` would.

    Parameters
    ----------
    model : fitted estimator
        As in `predict`.
    X : dask array or data frame
        As in `predict`.

    Returns
    -------
    dask array or data frame
        (n, L); the probabilities of the two classes of a one-dimensional target, (n, 2).

    Examples
    --------
    >>> import dask.array as da
    >>> from labelweave import load
    >>> from labelweave.distributed import predict_proba
    >>> from labelweave import BinaryRelevance
    >>> data = load("emotions")
    >>> model = BinaryRelevance(C=0.01).fit(data.X, data.Y)
    >>> predict_proba(model, da.from_array(data.X, chunks=(100, -1))).mean(axis=0).compute().shape
    (6,)
    """
    classifier, rows = _checked(model, X)
    model.predict_proba  # noqa: B018  an AttributeError says why there is none
    encoding = classifier.label_encoding
    no_rows = encoding.probabilities(np.empty((0, classifier.n_labels_)))
    names = encoding.classes.tolist() if encoding.single else _label_names(classifier)
    return rows.map_to_rows(_predict_proba, no_rows, names, model=_sent(model))


def thresholds(model: Any, X: Any) -> da.Array:
    """Return the thresholds that `predict` applies to the rows of X, (L,), as a dask array."""
    classifier, rows = _checked(model, X)
    rule = classifier.threshold_rule()
    if rule is None:
        raise ValueError(
            f"{type(classifier).__name__} decides row by row, without thresholds: set its decision "
            "to a rule for whole test sets, such as 'cmn'"
        )
    chosen = thresholds_of_blocks(rule, rows, _evidence, _sent(model), classifier.n_labels_)
    plain = delayed(np.asarray)(chosen)  # of `Probabilities`, the probabilities
    return da.from_delayed(plain, shape=(classifier.n_labels_,), dtype=np.float64)


def _checked(model: Any, X: Any) -> tuple[Estimator, RowBlocks]:
    """Return the classifier at the end of a model, and the rows; raise what would fail later."""
    classifier = _classifier(model)
    check_is_fitted(classifier)
    rows = RowBlocks.of(X)
    names = getattr(model, "feature_names_in_", None)
    if rows.columns is not None and names is not None and rows.columns != list(names):
        raise ValueError(_other_names(rows.columns, list(names)))
    width, expected = rows.blocks.shape[1], getattr(model, "n_features_in_", None)
    if expected is not None and not np.isnan(width) and width != expected:
        raise ValueError(
            f"X has {width} features, but {type(model).__name__} is expecting {expected} features"
        )
    return classifier, rows


def _other_names(found: list[Any], expected: list[Any]) -> str:
    missing = [name for name in expected if name not in found]
    if missing:
        return f"X has no column {missing[0]!r}, which the model was fitted with"
    return (
        "the columns of X are not those that the model was fitted with, in this order: "
        "pass X[list(model.feature_names_in_)]"
    )


def _classifier(model: Any) -> Estimator:
    """Return the classifier at the end of a model."""
    classifier = inside(model).model
    if not isinstance(classifier, Estimator):
        raise TypeError(
            f"model must be an estimator of labelweave, or a pipeline that ends in one; "
            f"got {type(model).__name__}"
        )
    return classifier


def _sent(model: Any) -> Delayed:
    """Return one task that makes the model on a worker: all blocks use its result.

    A copy, since a model may go on learning before the prediction is computed.
    """
    copied = pickle.dumps(model, protocol=5)
    return delayed(pickle.loads)(copied, dask_key_name=f"model-{tokenize(copied)}")


def _label_names(classifier: Estimator) -> list[str]:
    names = classifier.label_encoding.names
    return list(names) if names else [f"y{label}" for label in range(classifier.n_labels_)]


# What runs on workers.


def _predict(block: Any, model: Any) -> NDArray[Any]:
    return np.asarray(model.predict(block))


def _predict_proba(block: Any, model: Any) -> Floats:
    return np.asarray(model.predict_proba(block))


def _predict_above(block: Any, model: Any, thresholds: Scores) -> NDArray[Any]:
    found = inside(model, block)
    return found.model.predict_above(found.X, thresholds)  # type: ignore[no-any-return]


def _evidence(block: Any, model: Any) -> ScoredRows:
    if block.shape[0] == 0:
        shape = (0, _classifier(model).n_labels_)
        return ScoredRows(np.empty(shape), lambda k: np.empty((k, *shape), dtype=np.int8))
    found = inside(model, block)
    return found.model.scored(found.X)  # type: ignore[no-any-return]
