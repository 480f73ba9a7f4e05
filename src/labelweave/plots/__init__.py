"""Plots in the style of scikit-learn's displays, which keep their figures and their Axes.

They need ``pip install 'labelweave[plot]'``. Every display has class methods named after their
input (`from_estimator`, `from_predictions`, `from_joint`, ...), the figures it shows as attributes,
and a method ``plot(ax=None)`` that draws them again. After drawing, ``axes_`` are the panels,
``ax_`` is the first of them, and ``figure_`` is the matplotlib figure.

These parameters mean the same everywhere:

- `model` is a fitted estimator with ``predict_joint``, also inside a pipeline, unless a method says
  otherwise. `X` (array, sparse matrix or data frame) are features, and `Y` (array, sparse matrix or
  data frame of 0/1, (n, L)) true or predicted labels of the same rows.
- `label_names` are by default those of the joint distribution, the columns of the data frame of the
  labels, or positions.
- `labels` chooses the labels to draw, by name or position and in this order; by default a display
  draws the `max_labels` labels that matter most.
- `ax` is the matplotlib Axes to draw into, or a sequence with one for each panel; by default the
  panels are those of a new figure, large enough for all names.
"""

from labelweave.plots.comparisons import ComparisonDisplay
from labelweave.plots.curves import (
    ConvergenceDisplay,
    ExpectedF1Display,
    ReliabilityDisplay,
    StreamDisplay,
)
from labelweave.plots.dependence import DependenceDisplay
from labelweave.plots.explanation import ExplanationDisplay
from labelweave.plots.marginals import MarginalsDisplay
from labelweave.plots.matrices import ConditionalMatrixDisplay, DependenceMatrixDisplay

__all__ = [
    "ComparisonDisplay",
    "ConditionalMatrixDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "DependenceMatrixDisplay",
    "ExpectedF1Display",
    "ExplanationDisplay",
    "MarginalsDisplay",
    "ReliabilityDisplay",
    "StreamDisplay",
]
