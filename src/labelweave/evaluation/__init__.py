"""Measure predictions, compare methods on the same folds, and tell chance from difference."""

from labelweave.evaluation.answers import joint_of, labels_of, marginals_of
from labelweave.evaluation.comparison import Comparison, DataSummary, FoldResult
from labelweave.evaluation.cross_validation import compare, score_model
from labelweave.evaluation.methods import METHODS, Method, make_method, make_methods
from labelweave.evaluation.metrics import (
    DEFAULT_METRICS,
    METRICS,
    Metric,
    cll_loss,
    cll_loss_path,
    cll_loss_row,
    exact_match,
    f1_example,
    f1_macro,
    f1_micro,
    hamming_loss,
    jaccard,
    resolve_metrics,
    subset_loss,
)
from labelweave.evaluation.preparation import with_scaling
from labelweave.evaluation.significance import (
    TTest,
    corrected_t_test,
    paired_t_test,
    tallies,
    verdicts,
)
from labelweave.evaluation.splits import IterativeStratification, make_splitter

__all__ = [
    "DEFAULT_METRICS",
    "METHODS",
    "METRICS",
    "Comparison",
    "DataSummary",
    "FoldResult",
    "IterativeStratification",
    "Method",
    "Metric",
    "TTest",
    "cll_loss",
    "cll_loss_path",
    "cll_loss_row",
    "compare",
    "corrected_t_test",
    "exact_match",
    "f1_example",
    "f1_macro",
    "f1_micro",
    "hamming_loss",
    "jaccard",
    "joint_of",
    "labels_of",
    "make_method",
    "make_methods",
    "make_splitter",
    "marginals_of",
    "paired_t_test",
    "resolve_metrics",
    "score_model",
    "subset_loss",
    "tallies",
    "verdicts",
    "with_scaling",
]
