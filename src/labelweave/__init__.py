"""labelweave: probabilistic multi-label classification.

Learn the joint distribution P(y|x) of the whole label vector, query it, and choose predictions for
the loss you care about.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labelweave.baselines import (
        InstanceBasedLogistic,
        LabelPowerset,
        LaSVM,
        MaxMarginOutputCoding,
        MLkNN,
        PairwiseCRF,
        PassiveAggressive,
        RAkEL,
        StackedBinaryRelevance,
        ThresholdedSVM,
    )
    from labelweave.datasets import Dataset, load, load_emotions, load_yeast
    from labelweave.decision import FLoss, HammingLoss, MajorityVote, SubsetLoss
    from labelweave.evaluation import BestJoint, CalibratedJointCV, ConformalClassifier, compare
    from labelweave.features import KernelFeatures
    from labelweave.inference import (
        Annealing,
        Auto,
        Beam,
        BestFirst,
        EpsilonApproximate,
        Exhaustive,
        Gibbs,
        Greedy,
        MeanField,
        Mode,
        MonteCarlo,
        ThresholdAlgorithm,
    )
    from labelweave.joint import (
        ChainJoint,
        FieldJoint,
        GeneralChain,
        IndependentJoint,
        JointDistribution,
        ListedJoint,
        MixtureJoint,
        TableJoint,
        TreeJoint,
    )
    from labelweave.models import (
        BinaryRelevance,
        ChainEnsemble,
        ChainMixture,
        ClassifierChain,
        DistributionalForest,
        Explanation,
        JointClassifierCV,
        Structure,
        TreeEnsemble,
        TreeMixture,
        TreeNetwork,
        explain_label,
        explain_set,
    )
    from labelweave.online import BayesianOnlineClassifier
    from labelweave.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "Annealing",
    "Auto",
    "BayesianOnlineClassifier",
    "Beam",
    "BestFirst",
    "BestJoint",
    "BinaryRelevance",
    "CalibratedJointCV",
    "ChainEnsemble",
    "ChainJoint",
    "ChainMixture",
    "ClassifierChain",
    "ConformalClassifier",
    "Dataset",
    "DistributionalForest",
    "EpsilonApproximate",
    "Exhaustive",
    "Explanation",
    "FLoss",
    "FieldJoint",
    "GeneralChain",
    "Gibbs",
    "Greedy",
    "HammingLoss",
    "IndependentJoint",
    "InstanceBasedLogistic",
    "JointClassifierCV",
    "JointDistribution",
    "KernelFeatures",
    "LaSVM",
    "LabelPowerset",
    "ListedJoint",
    "MLkNN",
    "MaxMarginOutputCoding",
    "MeanField",
    "MixtureJoint",
    "MajorityVote",
    "Mode",
    "MonteCarlo",
    "PairwiseCRF",
    "PassiveAggressive",
    "RAkEL",
    "StackedBinaryRelevance",
    "Structure",
    "SubsetLoss",
    "TableJoint",
    "ThresholdAlgorithm",
    "ThresholdedSVM",
    "TreeEnsemble",
    "TreeJoint",
    "TreeMixture",
    "TreeNetwork",
    "compare",
    "explain_label",
    "explain_set",
    "load",
    "load_emotions",
    "load_yeast",
    "show_versions",
]

# Names are imported on first use, so that `labelweave --help` does not wait for scikit-learn.
_EXPORTS: dict[str, tuple[str, ...]] = {
    "baselines": (
        "InstanceBasedLogistic",
        "LaSVM",
        "LabelPowerset",
        "MLkNN",
        "MaxMarginOutputCoding",
        "PairwiseCRF",
        "PassiveAggressive",
        "RAkEL",
        "StackedBinaryRelevance",
        "ThresholdedSVM",
    ),
    "datasets": ("Dataset", "load", "load_emotions", "load_yeast"),
    "decision": ("FLoss", "HammingLoss", "MajorityVote", "SubsetLoss"),
    "evaluation": ("BestJoint", "CalibratedJointCV", "ConformalClassifier", "compare"),
    "features": ("KernelFeatures",),
    "inference": (
        "Annealing",
        "Auto",
        "Beam",
        "BestFirst",
        "EpsilonApproximate",
        "Exhaustive",
        "Gibbs",
        "Greedy",
        "MeanField",
        "Mode",
        "MonteCarlo",
        "ThresholdAlgorithm",
    ),
    "joint": (
        "ChainJoint",
        "FieldJoint",
        "GeneralChain",
        "IndependentJoint",
        "JointDistribution",
        "ListedJoint",
        "MixtureJoint",
        "TableJoint",
        "TreeJoint",
    ),
    "models": (
        "BinaryRelevance",
        "ChainEnsemble",
        "ChainMixture",
        "ClassifierChain",
        "DistributionalForest",
        "Explanation",
        "JointClassifierCV",
        "Structure",
        "TreeEnsemble",
        "TreeMixture",
        "TreeNetwork",
        "explain_label",
        "explain_set",
    ),
    "online": ("BayesianOnlineClassifier",),
    "versions": ("show_versions",),
}

_MODULES = (
    *_EXPORTS,
    "distributed",
    "explore",
    "logistic",
    "metrics",
    "persistence",
    "plots",
    "report",
    "papers",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"labelweave.{name}")
    for package, names in _EXPORTS.items():
        if name in names:
            return getattr(import_module(f"labelweave.{package}"), name)
    raise AttributeError(f"module 'labelweave' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))
