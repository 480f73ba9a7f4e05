"""The estimators that keep the contract. A new estimator joins by a line in `CASES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

from labelweave.baselines import (
    InstanceBasedLogistic,
    LabelPowerset,
    LaSVM,
    MaxMarginOutputCoding,
    MLkNN,
    PairwiseCRF,
    PassiveAggressive,
    RAkEL,
    StackedRelevance,
    ThresholdedSVM,
)
from labelweave.decision import Vote
from labelweave.inference import Greedy
from labelweave.models import (
    BinaryRelevance,
    ChainEnsemble,
    ChainMixture,
    ClassifierChain,
    LabelClassifier,
    TreeEnsemble,
    TreeMixture,
    TreeNetwork,
)
from labelweave.online import BayesianOnlineClassifier


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

    estimator: LabelClassifier
    bitwise: bool = True
    weighted: bool = True
    unsuited: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


# The solver for few features: quick, and exact enough to compare models.
_LOGISTIC = LogisticRegression(solver="newton-cholesky")
_TREE = DecisionTreeClassifier(max_depth=3)
_NO_VARIANCE = {
    "identical rows": "GaussianNB divides by variances, which are all zero",
    "one row a class": "GaussianNB divides by variances, which are all zero",
    "sparse": "GaussianNB reads dense features only",
}

_RESAMPLED = {"known counts": "each member counts the rows of its own resample"}
_RESAMPLED_BAYES = _RESAMPLED | {
    "identical rows": "naive Bayes smooths its counts, which differ by resample",
}
_SMOOTHED = {"identical rows": "naive Bayes smooths its counts, also those given a parent"}

# The other labellings look at all rows of a test set together, see tests/online.
_ONLINE = BayesianOnlineClassifier(labelling=None)
_PROBIT = {
    "constant label": "it learns the label from the features like any other, not from its count",
    "fractional weights": "a row is seen once, twice, ... or not at all",
    "identical rows": "its margin and its trust in every row make it surer than the frequencies",
    "known counts": "a label without positives is learned like any other",
}

_LISTED = {"known counts": "vectors that were not seen share little probability, label or not"}
_VOTES = _LISTED | {
    "constant label": "the votes of three members are little proof",
    "identical rows": "members vote for the most frequent vector",
}

_NEIGHBOURS = {"identical rows": "the first rows are everyone's neighbours but their own"}

CASES = {
    "br": Case(BinaryRelevance()),
    "br-C1": Case(BinaryRelevance(C=1.0)),
    "br-logistic": Case(BinaryRelevance(base=_LOGISTIC), bitwise=False),
    "br-tree": Case(BinaryRelevance(base=_TREE)),
    "br-bayes": Case(BinaryRelevance(base=GaussianNB()), unsuited=_NO_VARIANCE),
    "chain": Case(ClassifierChain()),
    "chain-C1": Case(ClassifierChain(C=1.0, label_penalty=1.0)),
    "chain-greedy": Case(ClassifierChain(C=1.0, inference=Greedy())),
    "chain-hamming": Case(ClassifierChain(C=1.0, label_penalty=0.1, decision="hamming")),
    "chain-random": Case(ClassifierChain(C=1.0, order="random", random_state=3)),
    "chain-auto": Case(ClassifierChain(C=1.0, label_penalty=0.1, order="auto")),
    "ensemble": Case(ChainEnsemble(n_estimators=3, C=1.0, label_penalty=0.1), unsuited=_RESAMPLED),
    "ensemble-vote": Case(
        ChainEnsemble(n_estimators=3, C=1.0, label_penalty=0.1, decision=Vote(), bootstrap=False)
    ),
    "ensemble-bayes": Case(
        ChainEnsemble(n_estimators=2, base=BernoulliNB()), unsuited=_RESAMPLED_BAYES
    ),
    "powerset": Case(LabelPowerset(), bitwise=False, unsuited=_LISTED),
    "powerset-tree": Case(LabelPowerset(base=_TREE, decision="hamming"), unsuited=_LISTED),
    "rakel": Case(RAkEL(n_labelsets=3), bitwise=False, unsuited=_LISTED),
    "rakel-disjoint": Case(RAkEL(overlapping=False, C=1.0), bitwise=False, unsuited=_LISTED),
    "rakel-published": Case(RAkEL.preset("published", base=_TREE), unsuited=_VOTES),
    "stacked": Case(StackedRelevance()),
    "stacked-labels": Case(StackedRelevance(outputs="label", n_folds=3, C=1.0, label_penalty=0.1)),
    "stacked-seen": Case(StackedRelevance(n_folds=1, C=1.0, label_penalty=0.1)),
    "mlknn": Case(MLkNN(k=3), weighted=False, unsuited=_NEIGHBOURS),
    "iblr": Case(InstanceBasedLogistic(k=3), weighted=False, unsuited=_NEIGHBOURS),
    "iblr-features": Case(
        InstanceBasedLogistic(k=3, features=True), weighted=False, unsuited=_NEIGHBOURS
    ),
    "crf": Case(PairwiseCRF()),
    "crf-pseudo": Case(PairwiseCRF(C=1.0, label_penalty=0.1, likelihood="pseudo", max_edges=3)),
    "mmoc": Case(MaxMarginOutputCoding()),
    "mmoc-codes": Case(MaxMarginOutputCoding(C=1.0, ridge=1.0, margin_weight=30.0, n_codes=2)),
    "svm": Case(ThresholdedSVM(n_folds=3)),
    "svm-fixed": Case(ThresholdedSVM(C=1.0, labelling="fixed")),
    # So many passes that dense and sparse rows, whose products differ in the last bits, come to
    # the same machine.
    "lasvm": Case(LaSVM(passes=5, tol=1e-8)),
    "lasvm-rbf": Case(LaSVM(kernel="rbf", passes=5, tol=1e-8)),
    "pa-online": Case(PassiveAggressive(n_folds=3)),
    "pa-batch": Case(PassiveAggressive(tuned_with="batch", n_folds=3)),
    "chain-logistic": Case(ClassifierChain(base=_LOGISTIC), bitwise=False),
    "chain-tree": Case(ClassifierChain(base=_TREE)),
    "chain-bayes": Case(
        ClassifierChain(base=GaussianNB(), inference=Greedy()), unsuited=_NO_VARIANCE
    ),
    "tree": Case(TreeNetwork()),
    "tree-published": Case(TreeNetwork.preset("published", C=1.0, label_penalty=0.1)),
    "tree-random": Case(
        TreeNetwork(C=1.0, label_penalty=0.1, structure="random", decision="hamming")
    ),
    "tree-logistic": Case(TreeNetwork(base=_LOGISTIC, structure="random"), bitwise=False),
    "tree-bayes": Case(TreeNetwork(base=BernoulliNB(), screen=2), unsuited=_SMOOTHED),
    "tree-tree": Case(TreeNetwork(base=_TREE, screen=2)),
    "trees": Case(TreeMixture(C=1.0, label_penalty=0.1, max_components=3)),
    "trees-2": Case(TreeMixture(n_components=2)),
    "trees-published": Case(
        TreeMixture.preset("published", C=1.0, label_penalty=0.1, max_components=3),
        unsuited={"known counts": "each component counts rows by its responsibilities"},
    ),
    "trees-constant": Case(
        TreeMixture(n_components=2, gate="constant", C=1.0, label_penalty=0.1, decision="hamming")
    ),
    "chains": Case(ChainMixture(C=1.0, label_penalty=0.1, max_components=3)),
    "chains-random": Case(
        ChainMixture(n_components=2, C=1.0, label_penalty=0.1, order="random", inference=Greedy())
    ),
    "tree-ensemble": Case(
        TreeEnsemble(n_estimators=3, C=1.0, label_penalty=0.1), unsuited=_RESAMPLED
    ),
    "tree-ensemble-learned": Case(
        TreeEnsemble(
            n_estimators=2, structure="learned", C=1.0, label_penalty=0.1, decision="subset"
        ),
        unsuited=_RESAMPLED,
    ),
    "tree-ensemble-bayes": Case(
        TreeEnsemble(n_estimators=2, base=BernoulliNB()), unsuited=_RESAMPLED_BAYES
    ),
}

CASES |= {
    "online": Case(_ONLINE, unsuited=_PROBIT),
    "online-independent": Case(
        BayesianOnlineClassifier(coupled=False, labelling=None, decision="subset"),
        unsuited=_PROBIT,
    ),
    "online-drift": Case(
        BayesianOnlineClassifier(labelling=None, forgetting=0.01, flip_probability=0.01, passes=2),
        unsuited=_PROBIT,
    ),
}

# For scikit-learn's own checks: the defaults and one with a base classifier. With "hamming" they
# also ask `predict` to agree with `predict_proba`, which the mode need not. (They want no
# probability to be 0 or 1, which is the base's affair: a decision tree may be that certain.)
SKLEARN_CHECKED = [
    BinaryRelevance(),
    BinaryRelevance(decision="hamming"),
    ClassifierChain(),
    ClassifierChain(random_state=0),
    ClassifierChain(decision="hamming"),
    ChainEnsemble(n_estimators=3, bootstrap=False),
    ClassifierChain(base=LogisticRegression()),
    TreeNetwork(),
    TreeNetwork(decision="hamming"),
    TreeNetwork(base=LogisticRegression()),
    TreeMixture(),
    TreeMixture(decision="hamming"),
    ChainMixture(),
    TreeEnsemble(n_estimators=3, bootstrap=False),
    BayesianOnlineClassifier(labelling=None),
    LabelPowerset(),
    RAkEL(),
    StackedRelevance(),
    MLkNN(),
    InstanceBasedLogistic(),
    InstanceBasedLogistic(features=True),
    PairwiseCRF(),
    MaxMarginOutputCoding(),
    ThresholdedSVM(),
    LaSVM(),
    LaSVM(kernel="rbf"),
    PassiveAggressive(),
    PassiveAggressive(tuned_with="batch"),
]
