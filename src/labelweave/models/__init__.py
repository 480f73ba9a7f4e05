"""Estimators with scikit-learn's interface that learn the joint distribution P(y|x).

`base` and `label_classifier` hold what all estimators share, `label_encoding` and `batch_labels`
the label matrices of users; chains, trees, mixtures and forests have a folder each, and `ensemble`
averages chains or trees. `base_classifier` makes any scikit-learn classifier the conditional of a
label, and `additive_classifiers` finds those whose log-odds are linear; `stacking` fits joint
models to the predictions of other classifiers; `explanations` says why a model predicts what it
does, wherever its conditionals are linear (`linear_members`). Users import from here.
"""

from labelweave.models.base import MultiLabelClassifier
from labelweave.models.binary_relevance import BinaryRelevance
from labelweave.models.chains.chain_ensemble import ChainEnsemble
from labelweave.models.chains.classifier_chain import ClassifierChain
from labelweave.models.explanations import (
    Explanation,
    can_explain,
    explain_label,
    explain_set,
)
from labelweave.models.forests.distributional_forest import DistributionalForest
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.mixtures.chain_mixture import ChainMixture
from labelweave.models.mixtures.tree_mixture import TreeMixture
from labelweave.models.stacking.joint_classifier_cv import JointClassifierCV
from labelweave.models.streaming import StreamingClassifier
from labelweave.models.trees.structure import Structure, structures_of
from labelweave.models.trees.tree_ensemble import TreeEnsemble
from labelweave.models.trees.tree_network import TreeNetwork

__all__ = [
    "BinaryRelevance",
    "ChainEnsemble",
    "ChainMixture",
    "ClassifierChain",
    "DistributionalForest",
    "Explanation",
    "JointClassifierCV",
    "LabelClassifier",
    "MultiLabelClassifier",
    "StreamingClassifier",
    "Structure",
    "TreeEnsemble",
    "TreeMixture",
    "TreeNetwork",
    "can_explain",
    "explain_label",
    "explain_set",
    "structures_of",
]
