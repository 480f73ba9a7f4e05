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
from labelweave.evaluation.metrics.classification import (
    exact_match,
    f1_example,
    f1_macro,
    f1_macro_zero_division_1,
    f1_micro,
    hamming_loss,
    jaccard,
    precision_macro,
    precision_micro,
    recall_macro,
    recall_micro,
    subset_loss,
)
from labelweave.evaluation.metrics.likelihood import (
    cll_loss,
    cll_loss_path,
    cll_loss_row,
    log_loss,
)
from labelweave.evaluation.metrics.per_label import f1_by_threshold, per_label
from labelweave.evaluation.metrics.ranking import (
    auc_macro,
    auc_micro,
    average_precision_macro,
    average_precision_micro,
    average_precision_ranking,
    coverage_error,
    one_error,
    precision_at_k,
    ranking_loss,
)
from labelweave.evaluation.metrics.registry import DEFAULT_METRICS, METRICS, Metric, resolve_metrics
from labelweave.evaluation.metrics.reliability import (
    ReliabilityCurve,
    joint_calibration_error,
    reliability_curve,
    wilson_interval,
)
from labelweave.evaluation.predictions import (
    predict_decided,
    predict_joint,
    predict_labels,
    predict_marginals,
    predict_scores,
    score_model,
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

__all__ = [
    "BestJoint",
    "PORTFOLIO",
    "Trial",
    "DEFAULT_METRICS",
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
    "Metric",
    "ReliabilityCurve",
    "auc_macro",
    "auc_micro",
    "average_precision_macro",
    "average_precision_micro",
    "average_precision_ranking",
    "best_queries",
    "calibrated",
    "chow_liu",
    "common_log_odds_ratios",
    "cll_loss",
    "cll_loss_path",
    "cll_loss_row",
    "compare",
    "conditional_matrix",
    "conditional_mutual_information",
    "conformal_quantile",
    "coverage_error",
    "disagreement",
    "exact_match",
    "f1_by_threshold",
    "f1_example",
    "f1_macro",
    "f1_macro_zero_division_1",
    "f1_micro",
    "fit_temperature",
    "hamming_loss",
    "information_about_others",
    "jaccard",
    "joint_calibration_error",
    "predict_decided",
    "label_uncertainty",
    "log_loss",
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
    "one_error",
    "paired_t_test",
    "per_label",
    "rank_methods",
    "pool_weights",
    "precision_at_k",
    "precision_macro",
    "precision_micro",
    "ranking_loss",
    "recall_macro",
    "recall_micro",
    "reliability_curve",
    "resolve_metrics",
    "row_uncertainty",
    "score_model",
    "predict_scores",
    "subset_loss",
    "wilson_interval",
    "with_decisions",
    "with_preprocessing",
]
