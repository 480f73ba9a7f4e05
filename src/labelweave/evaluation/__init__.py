"""Comparison of methods by cross-validation, significance tests, dependence, active learning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelweave.evaluation.comparison.cross_validation import compare
    from labelweave.evaluation.comparison.results import Comparison
    from labelweave.evaluation.comparison.significance import paired_t_test
    from labelweave.evaluation.comparison.splits import IterativeStratification
    from labelweave.evaluation.dependence import (
        LabelDependence,
        chow_liu,
        conditional_matrix,
        mutual_information,
    )
    from labelweave.evaluation.metrics.registry import METRICS
    from labelweave.evaluation.metrics.reliability import reliability_curve
    from labelweave.evaluation.queries import (
        information_about_others,
        label_uncertainty,
        row_uncertainty,
    )

__all__ = [
    "Comparison",
    "IterativeStratification",
    "LabelDependence",
    "METRICS",
    "chow_liu",
    "compare",
    "conditional_matrix",
    "information_about_others",
    "label_uncertainty",
    "mutual_information",
    "paired_t_test",
    "reliability_curve",
    "row_uncertainty",
]

_HOMES = {
    "compare": "labelweave.evaluation.comparison.cross_validation",
    "Comparison": "labelweave.evaluation.comparison.results",
    "paired_t_test": "labelweave.evaluation.comparison.significance",
    "IterativeStratification": "labelweave.evaluation.comparison.splits",
    "LabelDependence": "labelweave.evaluation.dependence",
    "chow_liu": "labelweave.evaluation.dependence",
    "conditional_matrix": "labelweave.evaluation.dependence",
    "mutual_information": "labelweave.evaluation.dependence",
    "METRICS": "labelweave.evaluation.metrics.registry",
    "reliability_curve": "labelweave.evaluation.metrics.reliability",
    "information_about_others": "labelweave.evaluation.queries",
    "label_uncertainty": "labelweave.evaluation.queries",
    "row_uncertainty": "labelweave.evaluation.queries",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'labelweave.evaluation' has no attribute {name!r}")
