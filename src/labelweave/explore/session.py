"""A fitted model, the rows to explore, and the answers for all rows as they are computed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_labels
from labelweave._common.pipelines import inside
from labelweave.inference import Auto
from labelweave.joint import JointDistribution
from labelweave.models.predictions import predict_joint, predict_labels

# Rows whose answers are computed together; `stop` takes effect between two blocks.
_BLOCK = 64
# The rows over which dependence is averaged, and the label pairs in memory at a time.
_SAMPLED, _MOST_PAIRS = 200, 4_000_000
# The numbers of a dense X from which means and standard deviations are computed.
_MOST_NUMBERS = 5_000_000


class RowAnswers:
    """The answers of the model for every row; arrays fill up from the first row to the last.

    The answers for the first `n_done` rows are known. `labels` (n, L) are the predictions. Rules
    for whole test sets decide when all rows are done; until then `labels` holds the most probable
    vectors. The log-probabilities (n,) are `log_prob` of these labels, `best` of the most probable
    vector found, and `log_truth` of the true labels (NaN if they are unknown).
    """

    def __init__(self, n_rows: int, n_labels: int) -> None:
        self.n_done = 0
        self.labels = np.zeros((n_rows, n_labels), dtype=np.int8)
        self.marginals = np.full((n_rows, n_labels), np.nan, dtype=np.float32)
        self.log_prob, self.best = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
        self.entropy, self.log_truth = np.full(n_rows, np.nan), np.full(n_rows, np.nan)

    def put(self, rows: slice, joint: JointDistribution, labels: Any, truth: Labels | None) -> None:
        """Compute the answers of some rows; `labels` are those predicted, by default the mode."""
        mode = joint.mode(Auto())
        self.labels[rows] = mode.labels if labels is None else labels
        self.log_prob[rows] = joint.log_prob(self.labels[rows])
        self.best[rows] = np.maximum(mode.log_prob, self.log_prob[rows])
        self.marginals[rows] = joint.marginals()
        self.entropy[rows] = joint.entropy()
        if truth is not None:
            self.log_truth[rows] = joint.log_prob(truth[rows])
        self.n_done = rows.stop


class Session:
    """A fitted model and the rows to explore; `explore` describes the arguments."""

    def __init__(
        self,
        model: Any,
        X: Any,
        Y: Any = None,
        *,
        label_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        name: str = "data",
    ) -> None:
        X = X if hasattr(X, "shape") else np.asarray(X)
        self.model, self.X, self.name = model, X, name
        first = self.joint_of(slice(0, 1))
        self.n_rows, self.n_labels = X.shape[0], first.n_labels
        if Y is not None:
            Y = check_labels(
                Y.toarray() if hasattr(Y, "toarray") else Y, self.n_rows, self.n_labels
            )
        self.truth: Labels | None = Y
        named = [f"y{j}" for j in range(self.n_labels)] if label_names is None else label_names
        self.label_names = list(map(str, named))
        if len(self.label_names) != self.n_labels:
            raise ValueError(f"label_names must name the model's {self.n_labels} labels")
        columns = getattr(X, "columns", None)
        self.feature_names = feature_names if columns is None else list(map(str, columns))
        if self.feature_names is not None and len(self.feature_names) != X.shape[1]:
            raise ValueError(f"feature_names must name the {X.shape[1]} features of X")
        self.answers = RowAnswers(self.n_rows, self.n_labels)
        self.failure = ""
        self._stop = threading.Event()

    def joint_of(self, rows: slice | list[int]) -> JointDistribution:
        joint = predict_joint(self.model, self.features_of(rows))
        if not isinstance(joint, JointDistribution):
            raise ValueError(
                "model has no joint distribution to explore: it must be one of labelweave's "
                "models, or a pipeline that ends in one"
            )
        return joint

    def features_of(self, rows: slice | list[int]) -> Any:
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def compute(self) -> None:
        """Compute the missing answers of all rows; `stop` ends it early."""
        by_row = _decides_by_row(self.model)
        while self.answers.n_done < self.n_rows and not self._stop.is_set():
            begin = self.answers.n_done
            rows = slice(begin, min(begin + _BLOCK, self.n_rows))
            labels = predict_labels(self.model, self.features_of(rows)) if by_row else None
            self.answers.put(rows, self.joint_of(rows), labels, self.truth)
        if not by_row and self.answers.n_done == self.n_rows:
            self._decide_together()

    def _decide_together(self) -> None:
        """Replace the labels by the decisions of a rule for all rows together."""
        labels = predict_labels(self.model, self.X).astype(np.int8)
        for begin in range(0, self.n_rows, _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, self.n_rows))
            self.answers.log_prob[rows] = self.joint_of(rows).log_prob(labels[rows])
            self.answers.labels[rows] = labels[rows]

    def _compute_or_tell(self) -> None:
        try:
            self.compute()
        except Exception as error:
            self.failure = f"rows from {self.answers.n_done} on: {error}"

    def start(self) -> threading.Thread:
        """Compute the answers in another thread."""
        thread = threading.Thread(target=self._compute_or_tell, name="answers", daemon=True)
        thread.start()
        return thread

    def stop(self) -> None:
        """End `compute` after its current block of rows."""
        self._stop.set()

    @cached_property
    def pairs(self) -> Floats:
        """P(y_i = 1, y_j = 1) under the model, averaged over evenly spaced rows, (L, L)."""
        rows = self._spaced(_SAMPLED)
        total = np.zeros((self.n_labels, self.n_labels))
        together = max(1, _MOST_PAIRS // self.n_labels**2)
        for first in range(0, len(rows), together):
            total += self.joint_of(rows[first : first + together]).pairwise().sum(axis=0)
        return total / len(rows)

    @cached_property
    def spread(self) -> StandardScaler:
        """The mean and standard deviation of every feature; of large dense X, over some rows.

        Features that are not numeric have NaN.
        """
        X = self.X
        if not sparse.issparse(X):
            X = self.features_of(self._spaced(max(_SAMPLED, _MOST_NUMBERS // X.shape[1])))
        if hasattr(X, "iloc"):
            X = X.astype(object).apply(pd.to_numeric, errors="coerce").astype(np.float64)
        with np.errstate(invalid="ignore"):
            return StandardScaler(with_mean=False).fit(X)

    def _spaced(self, count: int) -> list[int]:
        rows: Indices = np.unique(np.linspace(0, self.n_rows - 1, count).astype(np.int64))
        return [int(row) for row in rows]

    @property
    def done(self) -> slice:
        """The rows whose answers are known so far."""
        return slice(0, self.answers.n_done)

    def ready(self, done: slice) -> float:
        """Return these rows as a share of all rows."""
        return done.stop / self.n_rows if self.n_rows else 1.0


def _decides_by_row(model: Any) -> bool:
    rule = getattr(inside(model).model, "threshold_rule", lambda: None)()
    return rule is None or "rows" not in rule.needs
