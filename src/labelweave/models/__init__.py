"""Estimators with scikit-learn's interface that learn P(y|x)."""

from labelweave.models.base import MultiLabelClassifier
from labelweave.models.binary_relevance import BinaryRelevance
from labelweave.models.chain_ensemble import ChainEnsemble
from labelweave.models.chain_mixture import ChainMixture
from labelweave.models.classifier_chain import ClassifierChain
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.tree_ensemble import TreeEnsemble
from labelweave.models.tree_mixture import TreeMixture
from labelweave.models.tree_network import TreeNetwork
from labelweave.models.tree_structure import Structure

__all__ = [
    "BinaryRelevance",
    "ChainEnsemble",
    "ChainMixture",
    "ClassifierChain",
    "LabelClassifier",
    "MultiLabelClassifier",
    "Structure",
    "TreeEnsemble",
    "TreeMixture",
    "TreeNetwork",
]
