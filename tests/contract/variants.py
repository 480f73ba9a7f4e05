"""Other configurations of the classes, each with the laws that its parameters touch.

The laws are the modules of this folder: ``"weights"`` is ``test_weights.py``. Of a variant the fast
suite tests the laws named here, which its class's default could keep where the variant breaks them;
``make test-all`` tests all laws on all variants. What decides the laws:

- another base classifier gets the rows, the weights and the seed, and is stored;
- chosen penalties (``"cv"``) split rows into folds, whatever their order, weights and threads;
- another order, structure or sampling draws from the seed;
- another decision or inference answers from the same joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from labelweave import (
    BayesianOnlineClassifier,
    BestJoint,
    BinaryRelevance,
    CalibratedJointCV,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    DistributionalForest,
    InstanceBasedLogistic,
    JointClassifierCV,
    LabelPowerset,
    LaSVM,
    MaxMarginOutputCoding,
    MixtureSettings,
    PairwiseCRF,
    PassiveAggressive,
    RAkEL,
    StackedBinaryRelevance,
    ThresholdedSVM,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
)
from labelweave.decision import MajorityVote
from labelweave.inference import Greedy
from labelweave.models.base import Estimator
from tests.contract.estimators import (
    HEATED,
    JOINTS,
    LEAVES,
    LISTED,
    NEIGHBOURS,
    PROBIT,
    RESAMPLED,
    SCALED,
    Case,
)

LAWS = (
    "answers",
    "bad_input",
    "determinism",
    "edge_cases",
    "inputs",
    "many_labels",
    "parameters",
    "persistence",
    "weights",
)


@dataclass(frozen=True)
class Variant:
    """A configuration and the laws that it touches."""

    case: Case
    laws: frozenset[str]


def touches(laws: str, estimator: Estimator, **facts: Any) -> Variant:
    """Return a variant of these laws, with the facts of `Case`."""
    named = frozenset(laws.split())
    assert named <= set(LAWS), f"unknown laws: {named - set(LAWS)}"
    return Variant(Case(estimator, **facts), named)


# The solver for few features: quick, and exact enough to compare models.
_LOGISTIC = LogisticRegression(solver="newton-cholesky")
_TREE = DecisionTreeClassifier(max_depth=3)
_FIXED: Mapping[str, float] = MappingProxyType({"C": 1.0, "label_penalty": 0.1})

_FEW = MixtureSettings(max_components=2, cv=2)
_CONSTANT = MixtureSettings(gate="constant")
_PUBLISHED = MixtureSettings.preset("published", max_components=3)

_NO_VARIANCE = {
    "identical rows": "GaussianNB divides by variances, which are all zero",
    "one row a class": "GaussianNB divides by variances, which are all zero",
    "sparse": "GaussianNB reads dense features only",
}
_RESAMPLED_BAYES = RESAMPLED | {
    "identical rows": "naive Bayes smooths its counts, which differ by resample",
}
_SMOOTHED = {"identical rows": "naive Bayes smooths its counts, also those given a parent"}
_VOTES = LISTED | {
    "constant label": "the votes of three members are little proof",
    "identical rows": "members vote for the most frequent vector",
}

_RELEVANCE = {
    "br-C1": touches("edge_cases weights", BinaryRelevance(C=1.0)),
    "br-logistic": touches(
        "inputs weights parameters persistence", BinaryRelevance(estimator=_LOGISTIC), bitwise=False
    ),
    "br-tree": touches("answers determinism persistence", BinaryRelevance(estimator=_TREE)),
    "br-bayes": touches(
        "inputs edge_cases", BinaryRelevance(estimator=GaussianNB()), unsuited=_NO_VARIANCE
    ),
    "stacked-labels": touches(
        "determinism edge_cases weights",
        StackedBinaryRelevance(outputs="label", cv=3, **_FIXED),
    ),
    "stacked-seen": touches("determinism weights", StackedBinaryRelevance(cv=1, **_FIXED)),
    "stacked-cv": touches("determinism edge_cases weights", StackedBinaryRelevance(cv=3)),
    "iblr-cv": touches(
        "determinism edge_cases",
        InstanceBasedLogistic(n_neighbors=3),
        weighted=False,
        unsuited=NEIGHBOURS,
    ),
    "iblr-features": touches(
        "determinism edge_cases inputs",
        InstanceBasedLogistic(n_neighbors=3, passthrough=True),
        weighted=False,
        unsuited=NEIGHBOURS,
    ),
}

_CHAINS = {
    "chain-C1": touches("edge_cases weights", ClassifierChain(C=1.0, label_penalty=1.0)),
    "chain-greedy": touches("answers many_labels", ClassifierChain(C=1.0, inference=Greedy())),
    "chain-hamming": touches("answers many_labels", ClassifierChain(decision="hamming", **_FIXED)),
    "chain-random": touches(
        "determinism many_labels persistence",
        ClassifierChain(C=1.0, order="random", random_state=3),
    ),
    "chain-auto": touches(
        "determinism edge_cases persistence weights", ClassifierChain(order="auto", **_FIXED)
    ),
    "chain-logistic": touches(
        "inputs weights parameters persistence", ClassifierChain(estimator=_LOGISTIC), bitwise=False
    ),
    "chain-tree": touches("answers determinism persistence", ClassifierChain(estimator=_TREE)),
    "chain-bayes": touches(
        "inputs edge_cases",
        ClassifierChain(estimator=GaussianNB(), inference=Greedy()),
        unsuited=_NO_VARIANCE,
    ),
    # Without a resample its members know the counts of rows.
    "ensemble-vote": touches(
        "answers weights persistence",
        ChainEnsemble(n_estimators=3, decision=MajorityVote(), bootstrap=False, **_FIXED),
    ),
    "ensemble-bayes": touches(
        "determinism weights persistence",
        ChainEnsemble(n_estimators=2, estimator=BernoulliNB()),
        unsuited=_RESAMPLED_BAYES,
    ),
    "chains-grown": touches(
        "determinism edge_cases weights", ChainMixture(settings=_FEW, **_FIXED)
    ),
    "chains-random": touches(
        "answers determinism many_labels",
        ChainMixture(n_components=2, order="random", inference=Greedy(), **_FIXED),
    ),
}

_TREES = {
    "tree-cv": touches("determinism edge_cases weights", TreeNetwork()),
    "tree-published": touches(
        "determinism edge_cases weights", TreeNetwork.preset("published", C=_FIXED["C"])
    ),
    "tree-random": touches(
        "answers determinism persistence",
        TreeNetwork(structure="random", decision="hamming", **_FIXED),
    ),
    "tree-logistic": touches(
        "inputs parameters persistence weights",
        TreeNetwork(estimator=_LOGISTIC, structure="random"),
        bitwise=False,
    ),
    "tree-bayes": touches(
        "weights", TreeNetwork(estimator=BernoulliNB(), screen=2), unsuited=_SMOOTHED
    ),
    "tree-tree": touches("answers persistence", TreeNetwork(estimator=_TREE, screen=2)),
    "trees-cv": touches("determinism weights", TreeMixture(n_components=2)),
    "trees-grown": touches(
        "determinism edge_cases weights",
        TreeMixture(settings=_FEW, **_FIXED),
    ),
    "trees-published": touches(
        "answers determinism edge_cases persistence",
        TreeMixture.preset("published", settings=_PUBLISHED, C=_FIXED["C"]),
        unsuited={"known counts": "each component counts rows by its responsibilities"},
    ),
    "trees-constant": touches(
        "answers edge_cases persistence",
        TreeMixture(n_components=2, settings=_CONSTANT, decision="hamming", **_FIXED),
    ),
    "tree-ensemble-learned": touches(
        "answers determinism weights",
        TreeEnsemble(n_estimators=2, structure="learned", decision="subset", **_FIXED),
        unsuited=RESAMPLED,
    ),
    "tree-ensemble-bayes": touches(
        "determinism weights persistence",
        TreeEnsemble(n_estimators=2, estimator=BernoulliNB()),
        unsuited=_RESAMPLED_BAYES,
    ),
}

_POWERSETS = {
    "powerset-cv": touches(
        "determinism edge_cases weights", LabelPowerset(), bitwise=False, unsuited=LISTED
    ),
    "rakel-cv": touches("determinism", RAkEL(n_labelsets=2), bitwise=False, unsuited=LISTED),
    "powerset-tree": touches(
        "answers determinism persistence",
        LabelPowerset(estimator=_TREE, decision="hamming"),
        unsuited=LISTED,
    ),
    "rakel-disjoint": touches(
        "answers determinism", RAkEL(overlapping=False, C=1.0), bitwise=False, unsuited=LISTED
    ),
    "rakel-published": touches(
        "answers determinism persistence",
        RAkEL.preset("published", estimator=_TREE),
        unsuited=_VOTES,
    ),
}

_WOVEN = {
    "weave-logistic": touches(
        "inputs weights persistence",
        JointClassifierCV(estimator=_LOGISTIC, joint=ClassifierChain(**_FIXED), cv=2),
        bitwise=False,
    ),
    "weave-features": touches(
        "determinism inputs edge_cases",
        JointClassifierCV(estimator=_TREE, joint=ClassifierChain(**_FIXED), passthrough=True, cv=2),
        unsuited=SCALED,
    ),
}

_FORESTS = {
    "forest-bootstrap": touches(
        "determinism edge_cases persistence",
        DistributionalForest(estimator=ExtraTreesClassifier(n_estimators=9, bootstrap=True)),
        unsuited=LEAVES | {"repeated rows": "bootstrap samples are drawn by weight"},
    ),
    "forest-folds": touches(
        "answers determinism weights persistence",
        DistributionalForest(_TREE, temperature=1.0, cv=2),
        unsuited=LEAVES,
    ),
}

_CALIBRATED = {
    "calibrated-chain": touches(
        "answers many_labels",
        CalibratedJointCV(estimator=ClassifierChain(**_FIXED), cv=2),
        unsuited=JOINTS | HEATED,
    ),
    "calibrated-marginals": touches(
        "determinism weights persistence",
        CalibratedJointCV(
            estimator=BinaryRelevance(C=1.0), temperature=None, marginals="sigmoid", cv=2
        ),
        unsuited=JOINTS | HEATED | {"marginals": "they have a calibration of their own"},
    ),
}

_OTHERS = {
    "pool": touches(
        "answers determinism edge_cases persistence weights",
        BestJoint(
            candidates=[
                ("alone", BinaryRelevance(C=1.0)),
                ("chain", ClassifierChain(**_FIXED)),
            ],
            pool=True,
            cv=2,
        ),
        unsuited=SCALED,
    ),
    "crf-cv": touches("determinism edge_cases weights", PairwiseCRF()),
    "crf-pseudo": touches(
        "answers edge_cases many_labels weights",
        PairwiseCRF(likelihood="pseudo", max_edges=3, **_FIXED),
    ),
    "mmoc-cv": touches("weights", MaxMarginOutputCoding(margin_weight=10.0)),
    # Takes seconds; tests/rivals has the choice by rows left out, and its weights.
    "mmoc-margin-cv": touches("", MaxMarginOutputCoding()),
    "mmoc-codes": touches(
        "edge_cases",
        MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=30.0, n_codes=2),
    ),
    "svm-cv": touches("determinism edge_cases weights", ThresholdedSVM(cv=2)),
    "svm-fixed": touches("answers edge_cases", ThresholdedSVM(C=1.0, decision="fixed")),
    "lasvm-rbf": touches("inputs edge_cases persistence", LaSVM(kernel="rbf", passes=5, tol=1e-8)),
    "pa-batch": touches("determinism weights", PassiveAggressive(tuned_with="batch", cv=2)),
    "online-independent": touches(
        "answers determinism persistence",
        BayesianOnlineClassifier(coupled=False, decision="subset"),
        unsuited=PROBIT,
    ),
    "online-drift": touches(
        "determinism edge_cases weights",
        BayesianOnlineClassifier(
            decision="hamming", forgetting=0.01, flip_probability=0.01, passes=2
        ),
        unsuited=PROBIT,
    ),
}

VARIANTS = _RELEVANCE | _CHAINS | _TREES | _POWERSETS | _FORESTS | _WOVEN | _CALIBRATED | _OTHERS
