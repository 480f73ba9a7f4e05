"""The result of a comparison: the scores on every fold, and what is needed to repeat it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice
from labelweave.evaluation.comparison.display import as_html, as_markdown, as_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA_VERSION", "Comparison", "DataSummary", "FoldResult"]

#: Version of the JSON schema; incremented when readers of the old one would misread the new one.
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class DataSummary:
    """Name and size of the data set of a comparison."""

    name: str
    n_rows: int
    n_features: int
    n_labels: int


@dataclass(frozen=True)
class FoldResult:
    """The result of one method on one fold.

    Parameters
    ----------
    method : str
        Name of the method in the comparison.
    fold : int
        Index of the fold, from 0.
    scores : dict
        Score by metric; metrics that do not apply to the method are absent.
    fit_seconds, predict_seconds : float
        Wall-clock time; nan if the method failed before.
    warnings : tuple of str
        Distinct warnings that were raised.
    error : str or None
        Why the method failed on this fold, on one line.
    traceback : str or None
        The traceback of the failure.
    """

    method: str
    fold: int
    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    warnings: tuple[str, ...] = ()
    error: str | None = None
    traceback: str | None = None


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of several methods on the same folds of one data set.

    Parameters
    ----------
    data : DataSummary
        The data set.
    splitter : str
        How the rows were split, e.g. ``KFold(n_splits=10, random_state=0, shuffle=True)``.
    fold_sizes : tuple of (int, int)
        Numbers of rows in the training and test set of each fold.
    scale : str
        Preprocessing: "auto", "True" or "False" (see :func:`compare`).
    metrics : tuple of str
        Names of the metrics.
    methods : dict
        The estimator of each method, by name; the first one is the reference.
    results : tuple of FoldResult
        One for each method and fold, in that order.
    versions : dict
        Versions of the libraries in use, CPU, SIMD level, compiler and BLAS.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> result = compare({"prior": DummyClassifier()}, X, Y, folds=2, metrics=["f1_micro"])
    >>> result
    data: 40 rows, 5 features, 5 labels; 2 folds
                               prior
    micro F1         0... ± 0...
    fit seconds      0... ± 0...
    predict seconds  0... ± 0...
    mean ± standard deviation over folds
    >>> result.to_frame().columns.tolist()
    ['method', 'fold', 'f1_micro', 'fit_seconds', 'predict_seconds', 'error']
    """

    data: DataSummary
    splitter: str
    fold_sizes: tuple[tuple[int, int], ...]
    scale: str
    metrics: tuple[str, ...]
    methods: dict[str, str]
    results: tuple[FoldResult, ...]
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def method_names(self) -> tuple[str, ...]:
        """Names of the methods, in the given order."""
        return tuple(self.methods)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return len(self.fold_sizes)

    def of_method(self, method: str) -> tuple[FoldResult, ...]:
        """Return the results of one method, fold by fold."""
        if method not in self.methods:
            raise ValueError(f"unknown method {method!r}; choose from {', '.join(self.methods)}")
        return tuple(result for result in self.results if result.method == method)

    def scores(self, method: str, metric: str) -> Floats:
        """Return the scores of one method, one per fold; nan where there is none."""
        if metric not in self.metrics:
            raise ValueError(f"unknown metric {metric!r}; choose from {', '.join(self.metrics)}")
        return np.array([run.scores.get(metric, math.nan) for run in self.of_method(method)])

    def seconds(self, method: str, phase: str) -> Floats:
        """Return the seconds that one method took to "fit" or "predict", one per fold."""
        check_choice(phase, "phase", ("fit", "predict"))
        return np.array([getattr(run, f"{phase}_seconds") for run in self.of_method(method)])

    def failures(self) -> tuple[FoldResult, ...]:
        """Return the results that ended in an error."""
        return tuple(run for run in self.results if run.error is not None)

    def failure_notes(self) -> list[str]:
        """Describe the failures, one line per method and reason."""
        reasons = Counter((run.method, run.error) for run in self.failures())
        return [
            f"{method} failed on {count} of {self.n_folds} folds: {reason}"
            for (method, reason), count in reasons.items()
        ]

    def mean_sizes(self) -> tuple[float, float]:
        """Return the average numbers of training and test rows per fold."""
        train, test = np.mean(self.fold_sizes, axis=0)
        return float(train), float(test)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        """Show the table in notebooks."""
        return as_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with one row per method and fold, and one column per metric."""
        import pandas as pd

        return pd.DataFrame(
            {
                "method": [run.method for run in self.results],
                "fold": [run.fold for run in self.results],
                **{m: [run.scores.get(m, math.nan) for run in self.results] for m in self.metrics},
                "fit_seconds": [run.fit_seconds for run in self.results],
                "predict_seconds": [run.predict_seconds for run in self.results],
                "error": [run.error for run in self.results],
            }
        )

    def to_markdown(self, *, test: str = "paired", alpha: float = 0.05) -> str:
        """Return means, standard deviations and marks of significance as a Markdown table.

        Parameters
        ----------
        test : {"paired", "corrected"}, default="paired"
            The t-test of the first method against each of the others.
        alpha : float, default=0.05
            Significance level.
        """
        return as_markdown(self, test=test, alpha=alpha)

    def to_json(self) -> str:
        """Return everything as JSON text; :meth:`from_json` restores an equal comparison."""
        content: dict[str, Any] = {"schema": SCHEMA_VERSION, "kind": "labelweave-comparison"}
        content |= asdict(self)
        del content["results"]
        content["methods"] = [
            {
                "name": name,
                "estimator": estimator,
                "folds": [
                    {key: value for key, value in asdict(run).items() if key != "method"}
                    for run in self.of_method(name)
                ],
            }
            for name, estimator in self.methods.items()
        ]
        return json.dumps(_portable(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Comparison:
        """Restore a comparison from the output of :meth:`to_json`."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"text is not JSON: {error}") from error
        if not isinstance(content, dict) or content.get("kind") != "labelweave-comparison":
            raise ValueError("text is not a comparison; pass the output of `compare`")
        if content.get("schema") != SCHEMA_VERSION:
            raise ValueError(
                f"text has schema {content.get('schema')!r}, this version reads {SCHEMA_VERSION}; "
                "read it with the labelweave version that wrote it"
            )
        try:
            return _from_content(content)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"text is not a complete comparison: {error!r}") from error


def _portable(value: Any) -> Any:
    """Convert infinite and undefined numbers, which JSON cannot represent, to strings."""
    if isinstance(value, dict):
        return {key: _portable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _from_content(content: Mapping[str, Any]) -> Comparison:
    return Comparison(
        data=DataSummary(**content["data"]),
        splitter=content["splitter"],
        fold_sizes=tuple((int(train), int(test)) for train, test in content["fold_sizes"]),
        scale=content["scale"],
        metrics=tuple(content["metrics"]),
        methods={method["name"]: method["estimator"] for method in content["methods"]},
        results=tuple(
            FoldResult(
                method=method["name"],
                fold=run["fold"],
                scores={metric: float(score) for metric, score in run["scores"].items()},
                fit_seconds=float(run["fit_seconds"]),
                predict_seconds=float(run["predict_seconds"]),
                warnings=tuple(run["warnings"]),
                error=run["error"],
                traceback=run["traceback"],
            )
            for method in content["methods"]
            for run in method["folds"]
        ),
        versions=dict(content["versions"]),
    )
