"""What displays ask a fitted model, which may be the last step of a pipeline or of a search."""

from __future__ import annotations

from typing import Any

from labelweave._common.pipelines import inside
from labelweave.joint import JointDistribution
from labelweave.models.predictions import predict_joint

__all__ = ["joint_of", "model_names"]


def model_names(model: Any) -> tuple[str, ...] | None:
    """Return the names of the labels that the model was fitted to; None if they had none."""
    names = getattr(inside(model).model, "label_names_in_", None)
    return None if names is None else tuple(map(str, names))


def joint_of(model: Any, X: Any) -> JointDistribution:
    """Return the joint distribution of a model's rows, or raise an error that says it has none."""
    joint = predict_joint(model, X)
    if not isinstance(joint, JointDistribution):
        raise ValueError(f"model must have predict_joint; {type(model).__name__} has none")
    return joint
