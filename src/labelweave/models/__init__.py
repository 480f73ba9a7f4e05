"""Estimators with scikit-learn's interface that learn P(y|x)."""

from labelweave.models.base import MultiLabelClassifier
from labelweave.models.binary_relevance import BinaryRelevance
from labelweave.models.chain_ensemble import ChainEnsemble
from labelweave.models.classifier_chain import ClassifierChain
from labelweave.models.label_classifier import LabelClassifier

__all__ = [
    "BinaryRelevance",
    "ChainEnsemble",
    "ClassifierChain",
    "LabelClassifier",
    "MultiLabelClassifier",
]
