"""Joint distributions over label vectors: one interface, several forms."""

from labelweave.joint.base import JointDistribution
from labelweave.joint.chain import ChainJoint, GeneralChain
from labelweave.joint.estimate import Estimate
from labelweave.joint.field import FieldJoint
from labelweave.joint.independent import IndependentJoint
from labelweave.joint.listed import ListedJoint
from labelweave.joint.mixture import MixtureJoint
from labelweave.joint.mode import Mode, Ranked, SearchedMode
from labelweave.joint.table import TableJoint
from labelweave.joint.tempered import TemperedJoint
from labelweave.joint.tree import TreeJoint

__all__ = [
    "ChainJoint",
    "Estimate",
    "FieldJoint",
    "GeneralChain",
    "IndependentJoint",
    "JointDistribution",
    "ListedJoint",
    "MixtureJoint",
    "Mode",
    "Ranked",
    "SearchedMode",
    "TableJoint",
    "TemperedJoint",
    "TreeJoint",
]
