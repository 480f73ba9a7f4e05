"""Joint distributions over label vectors: one interface, several forms."""

from labelweave.joint.chain import ChainJoint
from labelweave.joint.distribution import JointDistribution
from labelweave.joint.field import FieldJoint
from labelweave.joint.independent import IndependentJoint
from labelweave.joint.listed import ListedJoint
from labelweave.joint.mixture import MixtureJoint
from labelweave.joint.quantities import Estimate
from labelweave.joint.results import Mode, Ranked
from labelweave.joint.tree import TreeJoint

__all__ = [
    "ChainJoint",
    "Estimate",
    "FieldJoint",
    "IndependentJoint",
    "JointDistribution",
    "ListedJoint",
    "MixtureJoint",
    "Mode",
    "Ranked",
    "TreeJoint",
]
