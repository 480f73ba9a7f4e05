"""Comparison of methods by cross-validation, significance tests, dependence, active learning."""

from labelweave.evaluation.comparison import compare
from labelweave.evaluation.dependence import (
    LabelDependence,
    chow_liu,
    conditional_matrix,
    mutual_information,
)
from labelweave.evaluation.queries import (
    information_about_others,
    label_uncertainty,
    row_uncertainty,
)
from labelweave.evaluation.results import Comparison
from labelweave.evaluation.significance import paired_t_test, rank_methods
from labelweave.evaluation.splits import IterativeStratification
from labelweave.models.methods import make_methods
from labelweave.models.predictions import predict_joint, score

__all__ = [
    "Comparison",
    "IterativeStratification",
    "LabelDependence",
    "chow_liu",
    "compare",
    "conditional_matrix",
    "information_about_others",
    "label_uncertainty",
    "make_methods",
    "mutual_information",
    "paired_t_test",
    "predict_joint",
    "rank_methods",
    "row_uncertainty",
    "score",
]
