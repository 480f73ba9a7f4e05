"""Metrics, comparison of methods by cross-validation, significance tests, active learning."""

from labelweave.evaluation.calibration.calibrated_joint import CalibratedJointCV
from labelweave.evaluation.calibration.marginal_calibration import MarginalCalibration
from labelweave.evaluation.calibration.temperature import fit_temperature
from labelweave.evaluation.comparison import compare
from labelweave.evaluation.conformal.conformal_classifier import ConformalClassifier
from labelweave.evaluation.conformal.nonconformity import (
    HeldOutScores,
    conformal_quantile,
    nonconformity,
)
from labelweave.evaluation.dependence.label_dependence import LabelDependence
from labelweave.evaluation.dependence.label_forest import chow_liu
from labelweave.evaluation.dependence.pairwise import (
    common_log_odds_ratios,
    conditional_matrix,
    conditional_mutual_information,
    mean_conditional_matrix,
    mutual_information,
)
from labelweave.evaluation.methods.calibrate_option import calibrated
from labelweave.evaluation.methods.decisions import make_decision, make_decisions, with_decisions
from labelweave.evaluation.methods.preprocessing import with_preprocessing
from labelweave.evaluation.methods.registry import METHODS, Method, make_method, make_methods
from labelweave.evaluation.predictions import (
    predict_decided,
    predict_joint,
    predict_labels,
    predict_marginals,
    predict_scores,
    score,
)
from labelweave.evaluation.queries import (
    best_queries,
    disagreement,
    information_about_others,
    label_uncertainty,
    row_uncertainty,
)
from labelweave.evaluation.results import Comparison
from labelweave.evaluation.selection.best_joint import BestJoint
from labelweave.evaluation.selection.candidates import PORTFOLIO
from labelweave.evaluation.selection.pooling import pool_weights
from labelweave.evaluation.selection.trials import Trial
from labelweave.evaluation.significance import paired_t_test, rank_methods
from labelweave.evaluation.splits import IterativeStratification
from labelweave.metrics import METRICS, reliability_curve

__all__ = [
    "BestJoint",
    "PORTFOLIO",
    "Trial",
    "METHODS",
    "METRICS",
    "CalibratedJointCV",
    "Comparison",
    "ConformalClassifier",
    "HeldOutScores",
    "IterativeStratification",
    "LabelDependence",
    "MarginalCalibration",
    "Method",
    "best_queries",
    "calibrated",
    "chow_liu",
    "common_log_odds_ratios",
    "compare",
    "conditional_matrix",
    "conditional_mutual_information",
    "conformal_quantile",
    "disagreement",
    "fit_temperature",
    "information_about_others",
    "predict_decided",
    "label_uncertainty",
    "predict_joint",
    "predict_labels",
    "make_decision",
    "make_decisions",
    "make_method",
    "make_methods",
    "mean_conditional_matrix",
    "mutual_information",
    "predict_marginals",
    "nonconformity",
    "paired_t_test",
    "rank_methods",
    "pool_weights",
    "reliability_curve",
    "row_uncertainty",
    "score",
    "predict_scores",
    "with_decisions",
    "with_preprocessing",
]
