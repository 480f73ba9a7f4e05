"""Pictures in scikit-learn's manner: displays that compute, are drawn, and keep both.

Needs ``pip install 'labelweave[plot]'``. Every display has class methods named after what they take
(`from_estimator`, `from_predictions`, `from_joint`, ...), the figures it shows as attributes, a
method ``plot(ax=None)`` that draws them again, and ``ax_`` and ``figure_``.
"""

from labelweave.plots.canvas import Display
from labelweave.plots.comparison import ComparisonDisplay
from labelweave.plots.conditional_matrix import ConditionalMatrixDisplay
from labelweave.plots.convergence import ConvergenceDisplay
from labelweave.plots.dependence import DependenceDisplay
from labelweave.plots.dependence_matrix import DependenceMatrixDisplay
from labelweave.plots.expected_f1 import ExpectedF1Display
from labelweave.plots.explanation import ExplanationDisplay
from labelweave.plots.marginals import MarginalsDisplay
from labelweave.plots.reliability import ReliabilityDisplay
from labelweave.plots.stream import StreamDisplay

__all__ = [
    "ComparisonDisplay",
    "ConditionalMatrixDisplay",
    "ConvergenceDisplay",
    "DependenceDisplay",
    "DependenceMatrixDisplay",
    "Display",
    "ExpectedF1Display",
    "ExplanationDisplay",
    "MarginalsDisplay",
    "ReliabilityDisplay",
    "StreamDisplay",
]
