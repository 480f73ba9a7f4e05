"""The results of comparisons on disk, by all that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import joblib

from labelweave._common.arrays import Indices
from labelweave._common.keyed_lines import KeyedLines
from labelweave._common.row_keys import data_digest
from labelweave.evaluation.comparison.results import FoldResult
from labelweave.versions import code_version

__all__ = ["FoldKeys", "keeping"]


class FoldKeys:
    """Keys of results: digests of everything that the result of a method on a fold depends on.

    Parameters
    ----------
    X, Y : array, sparse matrix or data frame
        The data.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> keys, rows = FoldKeys(np.eye(3), np.eye(3)), (np.array([0, 1]), np.array([2]))
    >>> one, other = DummyClassifier(), DummyClassifier(strategy="uniform")
    >>> keys(one, rows, ["exact_match"]) == keys(other, rows, ["exact_match"])
    False
    """

    def __init__(self, X: Any, Y: Any) -> None:
        self._common = [data_digest(X, Y), code_version()]

    def __call__(
        self, estimator: Any, rows: tuple[Indices, Indices], metrics: Sequence[str]
    ) -> str:
        """Return the key of an estimator, preprocessing included, judged by metrics on test rows.

        The rows say more than the splitter and the number of the fold, which may have no useful
        repr; likewise the state of an estimator, whose repr abbreviates long parameters.
        """
        own = [list(metrics), joblib.hash(estimator), data_digest(*rows)]
        text = json.dumps([*self._common, *own])
        return hashlib.sha256(text.encode()).hexdigest()[:24]


Keep = Callable[[str, FoldResult], None]


@contextmanager
def keeping(file: Path | None) -> Iterator[tuple[dict[str, FoldResult], Keep]]:
    """Hold a file of results; yield what succeeded before, by key, and a function to add to it.

    Without a file nothing is known and nothing is kept.

    Examples
    --------
    >>> with keeping(None) as (found, keep):
    ...     keep("key", FoldResult("br", 0))
    >>> found
    {}
    """
    if file is None:
        yield {}, lambda _key, _run: None
        return
    lines = KeyedLines(file, asdict, _fold_result)
    with lines.writing() as append:
        yield {key: run for key, run in lines.read().items() if run.error is None}, append


def _fold_result(content: dict[str, Any]) -> FoldResult:
    return FoldResult(**content | {"warnings": tuple(content["warnings"])})
