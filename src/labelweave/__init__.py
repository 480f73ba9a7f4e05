"""labelweave: probabilistic multi-label classification.

Learn the joint distribution P(y|x) of the whole label vector, query it, and choose predictions for
the loss you care about.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Names are imported on first use, so that `labelweave --help` does not wait for scikit-learn.
_HOMES = {
    "data": ("Dataset", "load"),
    "evaluation": ("compare",),
    "models.base": ("MultiLabelClassifier",),
    "models.best_joint": ("BestJoint",),
    "models.binary_relevance": ("BinaryRelevance",),
    "models.calibration": ("CalibratedJointCV",),
    "models.chains": ("ClassifierChain",),
    "models.conformal": ("ConformalClassifier",),
    "models.ensembles": ("ChainEnsemble", "TreeEnsemble"),
    "models.em": ("MixtureSettings",),
    "models.explanations": ("Explanation", "explain_label", "explain_set"),
    "models.forest": ("DistributionalForest",),
    "models.kernel_features": ("KernelFeatures",),
    "models.mixtures": ("ChainMixture", "TreeMixture"),
    "models.online.classifier": ("BayesianOnlineClassifier",),
    "models.online.settings": ("OnlineSettings",),
    "models.rivals.neighbours": ("InstanceBasedLogistic", "MLkNN"),
    "models.rivals.output_coding": ("MaxMarginOutputCoding",),
    "models.rivals.pairwise_crf": ("PairwiseCRF",),
    "models.rivals.passive_aggressive": ("PassiveAggressive",),
    "models.rivals.powersets": ("LabelPowerset", "RAkEL"),
    "models.rivals.stacked_binary_relevance": ("StackedBinaryRelevance",),
    "models.rivals.svm": ("LaSVM", "ThresholdedSVM"),
    "models.stacking": ("JointClassifierCV",),
    "models.structure": ("Structure",),
    "models.tree_network": ("TreeNetwork",),
    "persistence": ("load_model", "save_model"),
    "versions": ("show_versions",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}
_ROOMS = (
    *("data", "decision", "distributed", "evaluation", "explore", "inference", "joint", "metrics"),
    *("models", "papers", "persistence", "plots", "report", "versions"),
)

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"labelweave.{name}")
    if name in _MODULES:
        return getattr(import_module(f"labelweave.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'labelweave' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*__all__, *_ROOMS))
