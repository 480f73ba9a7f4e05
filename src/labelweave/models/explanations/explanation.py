"""Contributions to a log-odds or a log-ratio, as arrays and as a table."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_whole_number
from labelweave._common.wording import counted, left_out

if TYPE_CHECKING:
    import pandas as pd

# Rows, contributions of each, and letters of a term's name and of a line that are printed.
_ROWS, _TERMS, _WIDTH, _LINE = 3, 5, 40, 98


@dataclass(frozen=True, repr=False)
class Explanation:
    """Terms that add up to log P(y|x) - log P(y'|x), one sum for each row.

    ``base_values + values.sum(axis=1)`` is the log-ratio. For a single label, y has it and y' has
    not, and the log-ratio is the label's log-odds given all other labels.

    Attributes
    ----------
    values : (n, T) array
        Contributions of the D features, the L labels, their interaction and, in a mixture, its
        components.
    base_values : (n,) array
        The sum for a row with the features and labels of the baseline.
    data : (n, T) array
        The values of features and labels, and the share of each component; NaN for the interaction.
    feature_names : tuple of str
        The names of all terms.
    kinds : tuple of str
        "feature", "label", "interaction" or "component".
    labels, against : (n, L) int8 arrays
        The vectors y and y'.
    label_names : tuple of str
    by_label : (n, L) array
        The same log-ratio by conditionals: log P(y_j | parents, x) less the same of y'.
    between_components : (n,) array
        What `by_label` lacks in a mixture; zero otherwise.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import ClassifierChain
    >>> from labelweave.models.explanations import explain_label
    >>> data = load_emotions()
    >>> model = ClassifierChain(C=0.01, label_penalty=0.03).fit(data.X, data.Y)
    >>> explanation = explain_label(model, data.X[:3], 2)
    >>> explanation
    Explanation: 3 rows, 79 terms (to_frame lists them)
    row 0: log-ratio +1.594 of y2 given y1
            term value contribution
      base value             -0.437
              y1     1       +0.695
              y0     0       +0.590
              x4 6.215       +0.220
             x35 8.156       +0.209
             x67   136       +0.163
       72 others             +0.154
    row 1: ...
    >>> explanation.log_ratio.round(2)
    array([ 1.59, -4.35, -3.98])
    >>> explanation.title(row=2)
    'y2 given y0, y5'
    >>> list(explanation.to_frame(row=1).columns)
    ['term', 'kind', 'value', 'contribution']
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    kinds: tuple[str, ...]
    labels: Labels
    against: Labels
    label_names: tuple[str, ...]
    by_label: Floats
    between_components: Floats

    def __repr__(self) -> str:
        n = len(self.values)
        shown = [self._row_text(row) for row in range(min(n, _ROWS))]
        heading = f"{type(self).__name__}: {counted(n, 'row')}, "
        heading += f"{counted(len(self.feature_names), 'term')} (to_frame lists them)"
        return "\n".join([heading, *shown, *left_out(n - len(shown))])

    def _row_text(self, row: int) -> str:
        """Return the log-ratio of a row, what it compares, and the largest contributions."""
        table = self.to_frame(row, _TERMS).drop(columns="kind")
        table["term"] = table["term"].str.slice(0, _WIDTH)
        formats = {"value": "{:.4g}".format, "contribution": "{:+.3f}".format}
        lines = table.to_string(index=False, formatters=formats, na_rep="").splitlines()
        title = f"row {row}: log-ratio {self.log_ratio[row]:+.3f} of {self.title(row)}"
        return "\n  ".join([*wrap(title, _LINE, break_on_hyphens=False), *lines])

    @property
    def log_ratio(self) -> Floats:
        """What the terms add up to, (n,)."""
        total: Floats = self.base_values + self.values.sum(axis=1)
        return total

    def title(self, row: int = 0) -> str:
        """Return in words what the log-ratio of a row is about.

        Parameters
        ----------
        row : int, default=0
        """
        differing = np.flatnonzero(self.labels[row] != self.against[row])
        if len(differing) != 1:
            return f"{self._named(self.labels[row])} against {self._named(self.against[row])}"
        (label,) = differing
        name = (
            self.label_names[label] if self.labels[row, label] else f"no {self.label_names[label]}"
        )
        others = np.minimum(self.labels[row], self.against[row])
        return (
            name if len(self.label_names) == 1 else f"{name} given {self._named(others, 'other')}"
        )

    def _named(self, labels: Labels, kind: str = "") -> str:
        nothing = f"no {kind} label" if kind else "no label"
        return ", ".join(self.label_names[j] for j in np.flatnonzero(labels)) or nothing

    def shap_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``shap.Explanation``, whose plots then show all terms."""
        return {
            "values": self.values,
            "base_values": self.base_values,
            "data": self.data,
            "feature_names": list(self.feature_names),
        }

    def to_frame(self, row: int = 0, max_terms: int | None = None) -> pd.DataFrame:
        """Return the terms of a row as a table: the base value, then the largest contributions.

        Parameters
        ----------
        row : int, default=0
        max_terms : int, optional
            Number of contributions to list; the last line sums up the others. By default all that
            are not zero.
        """
        import pandas as pd

        row = check_whole_number(row, "row", 0, len(self.values) - 1)
        values = self.values[row]
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[values[order] != 0]
        kept = order if max_terms is None else order[: check_whole_number(max_terms, "max_terms")]
        lines = [("base value", "base", np.nan, self.base_values[row])]
        lines += [
            (self.feature_names[t], self.kinds[t], self.data[row, t], values[t]) for t in kept
        ]
        others = order[len(kept) :]
        if len(others):
            lines.append((f"{len(others)} others", "rest", np.nan, values[others].sum()))
        return pd.DataFrame(lines, columns=["term", "kind", "value", "contribution"])

    def by_label_frame(self, row: int = 0) -> pd.DataFrame:
        """Return the log-ratio of a row by labels: what the conditional of each contributes.

        Parameters
        ----------
        row : int, default=0
        """
        import pandas as pd

        row = check_whole_number(row, "row", 0, len(self.values) - 1)
        columns = {
            "label": self.label_names,
            "value": self.labels[row],
            "against": self.against[row],
            "contribution": self.by_label[row],
        }
        return pd.DataFrame(columns)
