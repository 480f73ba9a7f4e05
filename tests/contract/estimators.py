"""The classes that keep the contract, each in the configuration that all laws are tested on.

A new class joins by a line in `DEFAULTS`; `tests.contract.variants` has their other configurations.
Penalties are chosen by binary relevance, the chain and `PassiveAggressive`; elsewhere they are
fixed here, which makes thousands of fits cheap. The choice is a variant of single models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BayesianOnlineClassifier,
    BestJoint,
    BinaryRelevance,
    CalibratedJointCV,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    ConformalClassifier,
    DistributionalForest,
    InstanceBasedLogistic,
    JointClassifierCV,
    LabelPowerset,
    LaSVM,
    MaxMarginOutputCoding,
    MLkNN,
    PairwiseCRF,
    PassiveAggressive,
    RAkEL,
    StackedBinaryRelevance,
    ThresholdedSVM,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
)
from labelweave.models.base import Estimator


@dataclass(frozen=True)
class Case:
    """An estimator under test.

    Attributes
    ----------
    estimator
        Never fitted itself: the tests clone it.
    bitwise
        Whether batches give the same bits; a base classifier that multiplies matrices by BLAS
        rounds differently for different numbers of rows.
    weighted
        Whether `fit` takes sample weights; where they have no meaning, it has no such argument.
    unsuited
        Inputs that a foreign base classifier cannot learn from, with the reason.
    """

    estimator: Estimator
    bitwise: bool = True
    weighted: bool = True
    unsuited: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


RESAMPLED = {"known counts": "each member counts the rows of its own resample"}
LISTED = {"known counts": "vectors that were not seen share little probability, label or not"}
NEIGHBOURS = {"identical rows": "the first rows are everyone's neighbours but their own"}
LEAVES = LISTED | {"any classifier": "only forests and trees have leaves"}
SCALED = {"sparse": "dense features are standardised, sparse ones are not"}
JOINTS = {
    "any classifier": "it needs P(y|x) of its estimator",
    "base classifiers": "its estimator is none",
}
HEATED = {"known counts": "the temperature of all labels holds for this one, too"}
PROBIT = {
    "constant label": "it learns the label from the features like any other, not from its count",
    "fractional weights": "a row is seen once, twice, ... or not at all",
    "identical rows": "its margin and its trust in every row make it surer than the frequencies",
    "known counts": "a label without positives is learned like any other",
}

DEFAULTS = {
    "br": Case(BinaryRelevance()),
    "chain": Case(ClassifierChain()),
    "ensemble": Case(ChainEnsemble(n_estimators=3, C=1.0, label_penalty=0.1), unsuited=RESAMPLED),
    "powerset": Case(LabelPowerset(C=1.0), bitwise=False, unsuited=LISTED),
    "rakel": Case(RAkEL(n_labelsets=2, C=1.0), bitwise=False, unsuited=LISTED),
    "stacked": Case(StackedBinaryRelevance(C=1.0, label_penalty=0.1, cv=3)),
    "mlknn": Case(MLkNN(n_neighbors=3), weighted=False, unsuited=NEIGHBOURS),
    "iblr": Case(
        InstanceBasedLogistic(n_neighbors=3, C=1.0, label_penalty=0.1),
        weighted=False,
        unsuited=NEIGHBOURS,
    ),
    "crf": Case(PairwiseCRF(C=1.0, label_penalty=0.1)),
    "mmoc": Case(MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=10.0)),
    "svm": Case(ThresholdedSVM(C=1.0, cv=2)),
    # So many passes that dense and sparse rows, whose products differ in the last bits, come to
    # the same machine.
    "lasvm": Case(LaSVM(passes=5, tol=1e-8)),
    "pa": Case(PassiveAggressive(cv=2)),
    "tree": Case(TreeNetwork(C=1.0, label_penalty=0.1)),
    "trees": Case(TreeMixture(C=1.0, label_penalty=0.1, n_components=2)),
    "chains": Case(ChainMixture(C=1.0, label_penalty=0.1, n_components=2)),
    "tree-ensemble": Case(
        TreeEnsemble(n_estimators=3, C=1.0, label_penalty=0.1), unsuited=RESAMPLED
    ),
    "weave": Case(
        JointClassifierCV(
            estimator=DecisionTreeClassifier(max_depth=3),
            joint=ClassifierChain(C=1.0, label_penalty=0.1),
            cv=3,
        )
    ),
    "forest": Case(
        DistributionalForest(estimator=ExtraTreesClassifier(n_estimators=5), cv=2),
        unsuited=LEAVES,
    ),
    "best": Case(
        BestJoint(
            candidates=[
                ("alone", BinaryRelevance(C=1.0)),
                ("chain", ClassifierChain(C=1.0, label_penalty=0.1)),
            ],
            cv=2,
        ),
        unsuited=SCALED,
    ),
    "conformal": Case(
        ConformalClassifier(estimator=BinaryRelevance(C=1.0)), weighted=False, unsuited=JOINTS
    ),
    "calibrated": Case(
        CalibratedJointCV(estimator=BinaryRelevance(C=1.0), cv=3), unsuited=JOINTS | HEATED
    ),
    # The rules for test sets look at all rows of a test set together, see tests/online.
    "online": Case(BayesianOnlineClassifier(decision="hamming"), unsuited=PROBIT),
}

# For scikit-learn's own checks: each class as it comes, unless choosing its penalties takes long.
SKLEARN_CHECKED = [
    BinaryRelevance(),
    ClassifierChain(),
    ChainEnsemble(n_estimators=3, bootstrap=False),
    LabelPowerset(),
    RAkEL(),
    StackedBinaryRelevance(),
    MLkNN(),
    InstanceBasedLogistic(),
    PairwiseCRF(),
    MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=30.0),
    ThresholdedSVM(C=1.0),
    LaSVM(),
    PassiveAggressive(),
    TreeNetwork(),
    TreeMixture(n_components=2, C=1.0, label_penalty=0.1),
    ChainMixture(n_components=2, C=1.0, label_penalty=0.1),
    TreeEnsemble(n_estimators=3, bootstrap=False),
    DistributionalForest(estimator=ExtraTreesClassifier(n_estimators=5), cv=2),
    JointClassifierCV(
        estimator=LogisticRegression(), joint=ClassifierChain(C=1.0, label_penalty=0.1), cv=3
    ),
    BestJoint(candidates=["br(C=1)", "auto(C=1,label_penalty=0.1)"], cv=2),
    ConformalClassifier(estimator=BinaryRelevance(C=1.0)),
    CalibratedJointCV(estimator=BinaryRelevance(C=1.0), cv=3),
    BayesianOnlineClassifier(decision="hamming"),
]
# Configurations that matter to them. With "hamming" they also ask `predict` to agree with
# `predict_proba`, which the mode need not. (They want no probability to be 0 or 1, which is the
# estimator's affair: a decision tree may be that certain.)
SKLEARN_CHECKED_VARIANTS = [
    BinaryRelevance(decision="hamming"),
    ClassifierChain(random_state=0),
    ClassifierChain(decision="hamming"),
    ClassifierChain(estimator=LogisticRegression()),
    TreeNetwork(decision="hamming"),
    TreeNetwork(estimator=LogisticRegression()),
    TreeMixture(),
    TreeMixture(decision="hamming"),
    ChainMixture(),
    InstanceBasedLogistic(passthrough=True),
    MaxMarginOutputCoding(),
    ThresholdedSVM(),
    LaSVM(kernel="rbf"),
    PassiveAggressive(tuned_with="batch"),
]
