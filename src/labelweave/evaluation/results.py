"""The result of a comparison: the scores on every fold, and the settings to repeat it.

Tables on the console, in notebooks and in documents all show the rows of `score_rows`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_number
from labelweave._common.wording import Symbols
from labelweave.evaluation.significance import Standing, paired_t_test
from labelweave.metrics import METRICS

if TYPE_CHECKING:
    import pandas as pd

# Version of the JSON schema; incremented when readers of the old one would misread the new one.
_SCHEMA_VERSION = 1
_SYMBOLS = Symbols.of("utf-8")


@dataclass(frozen=True)
class DataSummary:
    """Name and size of the data set of a comparison."""

    name: str
    n_rows: int
    n_features: int
    n_labels: int


@dataclass(frozen=True)
class FoldResult:
    """The result of one method on one fold, counted from 0.

    `scores` are by metric; metrics that do not apply to the method are absent. Wall-clock times are
    nan if the method failed earlier. `warnings` are distinct; `error` says on one line why the
    method failed.
    """

    method: str
    fold: int
    scores: dict[str, float] = field(default_factory=dict)
    fit_seconds: float = math.nan
    predict_seconds: float = math.nan
    warnings: tuple[str, ...] = ()
    error: str | None = None
    traceback: str | None = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FoldResult:
        """Restore a result from its fields in JSON."""
        return cls(
            method=content["method"],
            fold=content["fold"],
            scores={metric: float(score) for metric, score in content["scores"].items()},
            fit_seconds=float(content["fit_seconds"]),
            predict_seconds=float(content["predict_seconds"]),
            warnings=tuple(content["warnings"]),
            error=content["error"],
            traceback=content["traceback"],
        )


@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of several methods on the same folds of one data set.

    Parameters
    ----------
    data : DataSummary
        `name`, `n_rows`, `n_features` and `n_labels` of the data set.
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
        One for each method and fold, in that order, with `method`, `fold`, `scores`, `fit_seconds`,
        `predict_seconds`, `warnings`, `error` and `traceback`.
    versions : dict
        Versions of the libraries in use, CPU, SIMD level, compiler and BLAS.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.dummy import DummyClassifier
    >>> from labelweave import compare
    >>> X, Y = make_multilabel_classification(40, n_features=5, random_state=0)
    >>> compare({"prior": DummyClassifier()}, X, Y, cv=2, metrics=["f1_micro"])
    data: 40 rows, 5 features, 5 labels; 2 folds
                               prior
    micro F1         0... ± 0...
    fit seconds      0... ± 0...
    predict seconds  0... ± 0...
    mean ± standard deviation over folds
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
        """Return the scores of one method, one per fold; nan for folds without a score."""
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

    def verdicts(
        self, metric: str, *, test: str = "paired", alpha: float = 0.05
    ) -> dict[str, Standing | None]:
        """Test the first method against each of the others on one metric.

        The result says for each other method whether the first method is "better" or "worse", or a
        "tie"; None if no test is possible (fewer than two folds in common, or no scores).

        Parameters
        ----------
        metric : str
            A metric of the comparison.
        test : {"paired", "corrected"}, default="paired"
            Which t-test over the folds, see :func:`paired_t_test`.
        alpha : float, default=0.05
            Significance level.
        """
        check_choice(test, "test", ("paired", "corrected"))
        check_number(alpha, "alpha", above=0, below=1)
        train, test_rows = self.mean_sizes()
        sizes = {"n_train": train, "n_test": test_rows} if test == "corrected" else {}
        first, *others = self.method_names
        reference = self.scores(first, metric)
        tests = {
            name: paired_t_test(reference, self.scores(name, metric), **sizes) for name in others
        }
        higher = METRICS[metric].higher_is_better
        return {
            name: outcome.standing(higher_is_better=higher, alpha=alpha)
            for name, outcome in tests.items()
        }

    def __repr__(self) -> str:
        # Every cell has room for a star and a mark, so that numbers are aligned.
        blank = " " if len(self.methods) > 1 else ""
        table = self._table(
            lambda figure: (
                f"{figure.written}{'*' if figure.is_best else blank}{figure.mark or blank}"
            )
        )
        lines = [line.rstrip() for line in table.to_string().splitlines()]
        return "\n".join([heading(self), *lines, *self._notes("*")])

    def _repr_html_(self) -> str:
        """Show the table in notebooks."""
        table = self._table(
            lambda figure: f"{figure.written}{'*' if figure.is_best else ''}{figure.mark}"
        )
        notes = "<br>".join(map(escape, self._notes("*")))
        # The class tells notebooks that dollar signs do not enclose formulas.
        return f'<div class="tex2jax_ignore">{escape(heading(self))}{table.to_html()}{notes}</div>'

    def _table(self, write: Callable[[Figure], str], **test: Any) -> pd.DataFrame:
        """Return the formatted figures: a row per metric, a column per method."""
        import pandas as pd

        rows = {
            row.title: [
                write(row.figures[name]) if name in row.figures else "" for name in self.methods
            ]
            for row in score_rows(self, _SYMBOLS, **test)
        }
        return pd.DataFrame.from_dict(rows, orient="index", columns=list(self.methods))

    def _notes(self, best: str, *, test: str = "paired", alpha: float = 0.05) -> list[str]:
        return [*legend(self, _SYMBOLS, best, test=test, alpha=alpha), *self.failure_notes()]

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

        The parameters are as in `verdicts`.
        """

        def written(figure: Figure) -> str:
            bold = "**" if figure.is_best else ""
            return f"{bold}{figure.written}{bold} {figure.mark}".rstrip()

        def line(cells: Iterable[str]) -> str:
            return "| " + " | ".join(text.replace("|", r"\|") for text in cells) + " |"

        rows = self._table(written, test=test, alpha=alpha).itertuples(name=None)
        table = [line(["", *self.methods]), "|---|" + "---:|" * len(self.methods), *map(line, rows)]
        notes = [f"- {note}" for note in self._notes("bold", test=test, alpha=alpha)]
        return "\n\n".join([heading(self), "\n".join(table), "\n".join(notes)]) + "\n"

    def to_json(self) -> str:
        """Return everything as JSON text; :meth:`from_json` restores an equal comparison."""
        content: dict[str, Any] = {"schema": _SCHEMA_VERSION, "kind": "labelweave-comparison"}
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
        if content.get("schema") != _SCHEMA_VERSION:
            raise ValueError(
                f"text has schema {content.get('schema')!r}, this version reads {_SCHEMA_VERSION}; "
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
            FoldResult.from_dict(run | {"method": method["name"]})
            for method in content["methods"]
            for run in method["folds"]
        ),
        versions=dict(content["versions"]),
    )


def heading(comparison: Comparison) -> str:
    """Describe the data set and the number of folds."""
    data = comparison.data
    return (
        f"{data.name or 'data'}: {data.n_rows} rows, {data.n_features} features, "
        f"{data.n_labels} label{'s' if data.n_labels != 1 else ''}; {comparison.n_folds} folds"
    )


@dataclass(frozen=True)
class Figure:
    """A formatted number, whether it is the best in its row, and its mark."""

    written: str
    is_best: bool = False
    mark: str = ""


@dataclass(frozen=True)
class ScoreRow:
    """One row: a title, and a figure for each method that has one."""

    title: str
    figures: dict[str, Figure]


def score_rows(
    comparison: Comparison,
    symbols: Symbols,
    *,
    test: str = "paired",
    alpha: float = 0.05,
    with_spread: bool = True,
) -> list[ScoreRow]:
    """Return one row per metric, the seconds, and the first method's wins, ties and losses."""
    judged = {
        metric: comparison.verdicts(metric, test=test, alpha=alpha) for metric in comparison.metrics
    }
    names = comparison.method_names
    rows = []
    for metric in comparison.metrics:
        scores = {name: comparison.scores(name, metric) for name in names}
        higher = METRICS[metric].higher_is_better
        figures = _figures(scores, higher, judged[metric], symbols, with_spread)
        rows.append(ScoreRow(METRICS[metric].title, figures))
    for phase in ("fit", "predict"):
        seconds = {name: comparison.seconds(name, phase) for name in names}
        figures = _figures(seconds, False, {}, symbols, with_spread)
        rows.append(ScoreRow(f"{phase} seconds", figures))
    if len(names) > 1:
        tallies = {name: Figure(_tally(judged, name)) for name in names[1:]}
        rows.append(ScoreRow("wins/ties/losses", tallies))
    return rows


def legend(
    comparison: Comparison, symbols: Symbols, best: str, *, test: str, alpha: float
) -> list[str]:
    """Explain spreads, the sign of the best score, and marks."""
    lines = [f"mean {symbols.plus_minus} standard deviation over folds"]
    if len(comparison.methods) > 1:
        first = comparison.method_names[0]
        lines[0] += f"; {best}: best"
        lines.append(
            f"{symbols.better}/{symbols.worse}: {first} is significantly better/worse "
            f"({test} t-test, p < {alpha:g}); last row: its wins, ties, losses"
        )
    return lines


def _tally(judged: Mapping[str, Mapping[str, Standing | None]], method: str) -> str:
    """Count the metrics on which the first method is better than another, tied, or worse."""
    seen = [verdicts[method] for verdicts in judged.values()]
    return "/".join(str(seen.count(standing)) for standing in ("better", "tie", "worse"))


def _figures(
    values: dict[str, Floats],
    higher_is_better: bool,
    judged: dict[str, Standing | None],
    symbols: Symbols,
    with_spread: bool,
) -> dict[str, Figure]:
    """Format the scores of one row, all with the same number of decimals."""
    finished = {name: folds[~np.isnan(folds)] for name, folds in values.items()}
    means = {name: float(np.mean(folds)) for name, folds in finished.items() if len(folds)}
    decimals = _decimals(means.values())
    # Methods with the same printed score are equally good.
    choose = max if higher_is_better else min
    best = choose(means.values(), default=math.nan)
    marks = {"better": symbols.better, "worse": symbols.worse}
    figures = {}
    for name, folds in finished.items():
        if name not in means:
            figures[name] = Figure(symbols.missing)
            continue
        mean = f"{means[name]:.{decimals}f}"
        spread = _spread(folds, decimals, symbols) if with_spread else ""
        is_best = len(values) > 1 and mean == f"{best:.{decimals}f}"
        figures[name] = Figure(mean + spread, is_best, marks.get(judged.get(name) or "", ""))
    return figures


def _spread(folds: Floats, decimals: int, symbols: Symbols) -> str:
    if len(folds) < 2 or not np.isfinite(folds).all():
        return ""
    return f" {symbols.plus_minus} {np.std(folds, ddof=1):.{decimals}f}"


def _decimals(means: Iterable[float]) -> int:
    """Return the number of decimals: four for small values, fewer for large ones."""
    largest = max((abs(mean) for mean in means if math.isfinite(mean)), default=0.0)
    return 4 if largest < 10 else 3 if largest < 100 else 2 if largest < 10_000 else 0
