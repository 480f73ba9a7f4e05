"""Prediction on dask arrays and data frames: lazy, block by block, with rules for all rows.

Internally X is a dask array with one block for each chunk or partition (`RowBlocks`); a block is a
NumPy array, a sparse matrix or a pandas data frame. A rule for whole test sets makes passes of its
own over the blocks, within the graph: rules that go label by label see the scores of a group of
labels together, counts of sampled labellings are added up, and a common threshold is found by a
histogram of all scores and the scores of one of its bins.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Any, NamedTuple, Self, TypeAlias

import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed
from dask.base import tokenize
from dask.core import flatten
from dask.delayed import Delayed
from dask.graph_manipulation import bind
from dask.highlevelgraph import HighLevelGraph
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Counts, Floats
from labelweave._common.pipelines import inside
from labelweave.decision import CardinalityThreshold, MajorityVote, SampledF
from labelweave.decision.expected import F1Statistics
from labelweave.decision.probabilities import Probabilities, Scores, check_scores, joined
from labelweave.decision.rules import ScoredRows, ThresholdRule, nearest_cut
from labelweave.models.base import Estimator

Frame: TypeAlias = "pd.DataFrame | pd.Series[Any]"
# The meta-information by which dask lets a task return any object.
_NO_OBJECTS = np.empty((0, 0), dtype=object)
# Number of summaries that are merged at a time.
_ARITY = 8
# Largest number of groups into which labels are divided for a rule that sees whole columns.
_LABEL_GROUPS = 16
# Scores with the same first bits (sign, exponent and 8 bits beyond) share a bin of a histogram.
_BIN_BITS = 20


def predict(model: Any, X: Any) -> Any:
    """Return the labels of the rows of a dask array or data frame, as ``model.predict`` would.

    The result is lazy. Decisions row by row take one pass over X. A rule for whole test sets takes
    all rows of X as one test set: further passes, each of which reads X and computes the scores
    again, find the same thresholds as for rows in memory, to the last bit.

    Parameters
    ----------
    model : fitted estimator
        A model of this library, or a pipeline or search that ends in one. It is copied now and sent
        to each worker once.
    X : dask array or data frame
        The columns are one chunk; a chunk of rows may be a sparse matrix and of unknown length.
        ``X.persist()`` keeps rows in memory if reading them is expensive.

    Returns
    -------
    dask array or data frame
        (n, L) of 0/1, or the classes of a one-dimensional target; with the index of X and the names
        of the labels if X is a data frame. Chunks without rows have no labels.

    Notes
    -----
    The rules need, for n rows with L labels:

    - "fixed" and tuned thresholds: no pass of their own;
    - "sample": one pass; counts of 8·L·samples·grid bytes a block;
    - "lcard": two passes; the second one collects the scores that share their first 20 bits with
      the threshold, and counts equal ones;
    - "cmn", "expected_f" and "expected_auc": one pass, after which the workers together hold the
      scores of all rows, 8·n·L bytes; one worker sorts the scores of a sixteenth of the labels
      at a time. No smaller statistic is exact; dask spills to disk if memory is short.

    Examples
    --------
    >>> import dask.array as da
    >>> from labelweave import BinaryRelevance, load
    >>> from labelweave.distributed import predict
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
    chosen = thresholds_of_blocks(rule, rows, sent, classifier.n_labels_)
    again = rows.after(chosen) if "rows" in rule.needs else rows
    return again.map_to_rows(_predict_above, no_rows, names, model=sent, thresholds=chosen)


def predict_proba(model: Any, X: Any) -> Any:
    """Return the marginal probabilities of the labels, as ``model.predict_proba`` would.

    Parameters
    ----------
    model, X
        As in `predict`.

    Returns
    -------
    dask array or data frame
        (n, L); the probabilities of the two classes of a one-dimensional target, (n, 2).

    Examples
    --------
    >>> import dask.array as da
    >>> from labelweave import BinaryRelevance, load
    >>> from labelweave.distributed import predict_proba
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


def _checked(model: Any, X: Any) -> tuple[Estimator, RowBlocks]:
    """Check a model and X; return the classifier at the end of the model, and the rows."""
    classifier = inside(model).model
    if not isinstance(classifier, Estimator):
        raise TypeError(
            f"model must be an estimator of labelweave, or a pipeline that ends in one; "
            f"got {type(classifier).__name__}"
        )
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
        "the columns of X must be those that the model was fitted with, in the same order: "
        "pass X[list(model.feature_names_in_)]"
    )


def _sent(model: Any) -> Delayed:
    """Return a task that makes a copy of the model on a worker: the model may go on learning."""
    copied = pickle.dumps(model, protocol=5)
    return delayed(pickle.loads)(copied, dask_key_name=f"model-{tokenize(copied)}")


def _label_names(classifier: Estimator) -> list[str]:
    names = classifier.label_encoding.names
    return list(names) if names else [f"y{label}" for label in range(classifier.n_labels_)]


# Calls on workers.


def _predict(block: Any, model: Any) -> NDArray[Any]:
    return np.asarray(model.predict(block))


def _predict_proba(block: Any, model: Any) -> Floats:
    return np.asarray(model.predict_proba(block))


def _predict_above(block: Any, model: Any, thresholds: Scores) -> NDArray[Any]:
    found = inside(model, block)
    return found.model.predict_above(found.X, thresholds)  # type: ignore[no-any-return]


def _scored(block: Any, model: Any) -> ScoredRows:
    if block.shape[0] == 0:
        shape = (0, inside(model).model.n_labels_)
        return ScoredRows(np.empty(shape), lambda k: np.empty((k, *shape), dtype=np.int8))
    found = inside(model, block)
    return found.model.scored(found.X)  # type: ignore[no-any-return]


def _of_scores(function: Callable[..., Any], block: Any, model: Any, **arguments: Any) -> Any:
    return function(_scored(block, model).scores, **arguments)


@dataclass(frozen=True)
class RowBlocks:
    """The rows of X in blocks, each with all columns."""

    blocks: da.Array
    #: The names of the columns of a data frame; None if X is an array.
    columns: list[Any] | None = None
    #: The index values at which the partitions of a data frame begin.
    divisions: tuple[Any, ...] = ()

    @classmethod
    def of(cls, X: Any) -> RowBlocks:
        if isinstance(X, da.Array):
            return cls._of_array(X)
        if hasattr(X, "to_dask_array") and hasattr(X, "columns"):
            return cls._of_frame(X)
        raise TypeError(
            f"X must be a dask array or a dask data frame; got {type(X).__name__}: "
            "model.predict(X) predicts rows that are in memory"
        )

    @classmethod
    def _of_array(cls, X: da.Array) -> RowBlocks:
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, rows by features; got shape {X.shape}")
        if X.numblocks[1] != 1:
            raise ValueError(
                f"the columns of X are in {X.numblocks[1]} chunks, but a row is predicted as a "
                "whole: call X.rechunk({1: -1}) first"
            )
        return cls(X)

    @classmethod
    def _of_frame(cls, X: Any) -> RowBlocks:
        parts = X.to_delayed()
        name = f"frames-{tokenize(X)}"
        keys = {(name, number, 0): part.key for number, part in enumerate(parts)}
        # All partitions share one graph, so the graph of the first is enough.
        graph = HighLevelGraph.from_collections(name, keys, dependencies=parts[:1])
        chunks = ((np.nan,) * len(parts), (len(X.columns),))
        return cls(da.Array(graph, name, chunks, dtype=object), list(X.columns), X.divisions)

    @property
    def n_blocks(self) -> int:
        return int(self.blocks.numblocks[0])

    def after(self, step: Delayed) -> Self:
        """Return the same rows, which are read again after a step is done.

        Otherwise a pass that waits for a result of all rows would keep all of them in memory.
        """
        return replace(self, blocks=bind(self.blocks, step))

    def map_to_objects(self, function: Callable[..., Any], /, **arguments: Any) -> da.Array:
        """Return one result of ``function(block, **arguments)``, of any type, for each block."""
        chunks = ((1,) * self.n_blocks, (1,))
        return self.blocks.map_blocks(
            function, dtype=object, meta=_NO_OBJECTS, chunks=chunks, **arguments
        )

    def map_to_rows(
        self,
        function: Callable[..., Any],
        /,
        nothing: NDArray[Any],
        names: list[Any],
        **arguments: Any,
    ) -> Any:
        """Return ``function(block, **arguments)`` for all rows, an array or a data frame like X."""
        of_rows = partial(_of_rows, function, nothing)
        if self.columns is not None:
            frames = self.map_to_objects(partial(_framed, of_rows, names), **arguments)
            return self._frame_of(frames, _frame(nothing, names, None))
        widths = tuple((width,) for width in nothing.shape[1:])
        return self.blocks.map_blocks(
            of_rows,
            dtype=nothing.dtype,
            meta=nothing,
            chunks=(self.blocks.chunks[0], *widths),
            drop_axis=None if widths else 1,
            **arguments,
        )

    def _frame_of(self, frames: da.Array, meta: Frame) -> Any:
        from dask.dataframe import from_delayed

        parts = list(frames.to_delayed().ravel())
        return from_delayed(parts, meta=meta, divisions=self.divisions, verify_meta=False)


def _of_rows(
    function: Callable[..., Any], nothing: NDArray[Any], block: Any, **arguments: Any
) -> NDArray[Any]:
    return np.asarray(function(block, **arguments)) if block.shape[0] else nothing


def _framed(
    function: Callable[..., Any], names: list[Any], block: pd.DataFrame, **arguments: Any
) -> Frame:
    return _frame(function(block, **arguments), names, block.index)


def _frame(values: NDArray[Any], names: list[Any], index: Any) -> Frame:
    if values.ndim == 1:
        return pd.Series(values, index=index)
    return pd.DataFrame(values, index=index, columns=names)


def thresholds_of_blocks(
    rule: ThresholdRule, rows: RowBlocks, model: Delayed, n_labels: int
) -> Delayed:
    """Return the thresholds that an informed rule chooses for all rows, exact to the last bit."""
    inner = rule.rule if isinstance(rule, MajorityVote) else rule
    if "rows" not in inner.needs:
        return delayed(inner.thresholds(np.empty((0, n_labels))), traverse=False)
    if inner.by_label:
        return _by_label(inner, rows, model, n_labels)
    if isinstance(inner, CardinalityThreshold):
        return _by_histogram(inner.share(n_labels), rows, model, n_labels)
    if isinstance(inner, SampledF):
        counts = rows.map_to_objects(partial(_counted, inner), model=model)
        return delayed(F1Statistics.thresholds)(_merged(counts, _added), inner.beta)
    raise ValueError(
        f"{type(inner).__name__} has to see the scores of all rows at once: choose 'cmn', 'lcard', "
        "'sample', 'expected_f' or 'expected_auc', or set by_label where a threshold depends on "
        "the scores of its label alone"
    )


# Rules that go label by label: the scores of a group of labels are brought together.


def _by_label(rule: ThresholdRule, rows: RowBlocks, model: Delayed, n_labels: int) -> Delayed:
    groups = np.array_split(np.arange(n_labels), min(n_labels, _LABEL_GROUPS, rows.n_blocks))
    parts = rows.map_to_objects(partial(_of_scores, partial(_columns, groups)), model=model)
    keys = list(flatten(parts.__dask_keys__()))
    name = f"columns-{tokenize(parts.name, rule)}"
    layer: dict[Any, Any] = {}
    for number, group in enumerate(groups):
        taken = [(name, "part", number, place) for place in range(len(keys))]
        layer |= {new: (getitem, key, number) for new, key in zip(taken, keys, strict=True)}
        layer[name, number] = (partial(_thresholds_of_columns, rule.for_labels(group)), taken)
    layer[name] = (joined, [(name, number) for number in range(len(groups))])
    return Delayed(name, HighLevelGraph.from_collections(name, layer, dependencies=[parts]))


def _columns(groups: Sequence[Any], scores: Scores) -> list[Scores]:
    return [scores[:, group] for group in groups]


def _thresholds_of_columns(rule: ThresholdRule, parts: Sequence[Scores]) -> Scores:
    return rule.thresholds(joined(parts))


# Sampled labellings: the counts of all blocks are added up.


def _counted(rule: SampledF, block: Any, model: Any) -> F1Statistics:
    return rule.counted(*_scored(block, model))


def _added(parts: Sequence[F1Statistics]) -> F1Statistics:
    total = F1Statistics(*parts[0].beta.shape, parts[0].grid)
    for part in parts:
        total.add(part)
    return total


# One threshold for all labels: a histogram finds its bin, and a second pass collects the scores in
# that bin and the nearest scores beyond it.


class Tally(NamedTuple):
    """Distinct numbers in ascending order, and how often each occurs.

    If they are scores, `of_log_odds` says whether they are log-odds of `Probabilities`.
    """

    values: NDArray[Any]
    counts: Counts
    of_log_odds: bool = False

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        values, place = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
        counts = np.zeros(len(values), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([p.counts for p in parts]))
        return cls(values, counts, any(p.of_log_odds for p in parts))


def _by_histogram(share: float, rows: RowBlocks, model: Delayed, n_labels: int) -> Delayed:
    bins = rows.map_to_objects(partial(_of_scores, histogram), model=model)
    chosen = delayed(bin_of_rank)(_merged(bins, Tally.merged), share)
    again = rows.after(chosen)
    near = again.map_to_objects(partial(_of_scores, scores_near), model=model, chosen=chosen)
    tally = _merged(near, _merged_near, chosen)
    return delayed(common_threshold)(tally, share, n_labels)


def _merged_near(parts: Sequence[Tally], chosen: int | None) -> Tally:
    return folded(Tally.merged(parts), chosen)


def bins_of(scores: Floats) -> NDArray[np.int64]:
    """Return the bin of each score; bins have the order of the scores."""
    bits = (scores + 0.0).view(np.int64)  # 0.0 and -0.0 are the same score
    # As whole numbers, negative floats have the opposite order.
    ordered = bits ^ (bits >> 63 & np.iinfo(np.int64).max)
    return np.asarray(ordered >> (64 - _BIN_BITS))


def histogram(scores: Scores) -> Tally:
    bins, counts = np.unique(bins_of(check_scores(scores)), return_counts=True)
    return Tally(bins, counts)


def bin_of_rank(bins: Tally, share: float) -> int | None:
    """Return the bin with the score above which this share of all scores lies; None if none."""
    n_scores = int(bins.counts.sum())
    if n_scores == 0:
        return None
    rank = min(int(share * n_scores), n_scores - 1)
    not_below = np.cumsum(bins.counts[::-1])[::-1]
    return int(bins.values[np.flatnonzero(not_below > rank)[-1]])


def scores_near(scores: Scores, chosen: int | None) -> Tally:
    """Tally the scores in a bin; all scores on either side count as the nearest one beyond it."""
    values, counts = np.unique(check_scores(scores), return_counts=True)
    return folded(Tally(values, counts, isinstance(scores, Probabilities)), chosen)


def folded(tally: Tally, chosen: int | None) -> Tally:
    """Return the tally in which all scores on either side of the bin count as the nearest one."""
    if chosen is None:
        return tally
    first, end = np.searchsorted(bins_of(tally.values), [chosen, chosen + 1])
    # Scores are counted in runs: all below the bin, each one inside, all above the bin.
    below, inside, above = np.split(np.arange(len(tally.values)), [first, end])
    starts = np.concatenate([below[:1], inside, above[:1]])
    nearest = np.concatenate([below[-1:], inside, above[:1]])
    counts = np.add.reduceat(tally.counts, starts) if len(starts) else tally.counts
    return Tally(tally.values[nearest], counts, tally.of_log_odds)


def common_threshold(tally: Tally, share: float, n_labels: int) -> Scores:
    """Return the threshold that `CardinalityThreshold` chooses for all labels, (L,)."""
    cut = nearest_cut(tally.values, tally.counts, share * int(tally.counts.sum()))
    chosen = np.full(n_labels, cut)
    return Probabilities(chosen) if tally.of_log_odds else chosen


def _merged(summaries: da.Array, merge: Callable[..., Any], *arguments: Delayed) -> Delayed:
    """Merge the summaries along a tree: no worker holds more than a few of them at a time."""
    keys = list(flatten(summaries.__dask_keys__()))
    name = f"merge-{tokenize(summaries.name)}"
    others = [argument.key for argument in arguments]
    layer: dict[Any, Any] = {}
    level = 0
    while len(keys) > 1 or level == 0:
        groups = [keys[first : first + _ARITY] for first in range(0, len(keys), _ARITY)]
        keys = [(name, level, number) for number in range(len(groups))]
        layer |= {key: (merge, group, *others) for key, group in zip(keys, groups, strict=True)}
        level += 1
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[summaries, *arguments])
    return Delayed(keys[0], graph, layer=name)
