"""Pictures in scikit-learn's manner: displays that compute, are drawn, and keep both.

They need ``pip install 'labelweave[plot]'``. Every display has class methods named after their
input (`from_estimator`, `from_predictions`, `from_joint`, ...), the figures it shows as attributes,
and a method ``plot(ax=None)`` that draws them again. After drawing, ``axes_`` are the panels,
``ax_`` is the first of them, and ``figure_`` is the matplotlib figure.
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
