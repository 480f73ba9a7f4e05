"""Any classifiers in, a joint distribution out: joint models on held-out log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_memory, has_fit_parameter

from labelweave._common.archives import check_shape
from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_flag, check_whole_number
from labelweave._common.pipelines import last_step
from labelweave._common.row_keys import row_keys
from labelweave.decision.losses import Decision
from labelweave.decision.rules import ThresholdRule
from labelweave.inference import Inference
from labelweave.joint import JointDistribution
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.base_classifier import check_base_classifier, seeded_clone
from labelweave.models.chains.classifier_chain import ClassifierChain
from labelweave.models.forests.projected_trees import ProjectedExtraTrees
from labelweave.models.label_classifier import checked_weight
from labelweave.models.stacking.base_learner import (
    BaseLearner,
    apparent_votes,
    handles_all_labels,
    offers_out_of_bag,
    smoothed_log_odds,
    takes_missing_values,
)
from labelweave.models.stacking.cross_fitting import cross_fit
from labelweave.models.stacking.named_estimators import NamedEstimators

# Folds of classifiers without out-of-bag predictions.
_N_FOLDS = 5


class JointClassifierCV(NamedEstimators):
    """A joint model P(y|x) over the predictions of any classifiers.

    Base classifiers predict each training row without having seen it, out of bag or by
    cross-fitting, and a joint model learns the labels from the log-odds of these predictions. So it
    learns how far to trust each classifier, and what one label says about another. For new rows the
    base classifiers, fitted to all training rows, give the log-odds.

    Parameters
    ----------
    estimator : classifier, list of classifiers or list of (name, classifier), optional
        Any scikit-learn classifiers with ``predict_proba``. Multi-label ones are fitted once,
        binary ones once per label; they see X as a float64 array or CSR matrix, without names of
        columns, and with missing values if all of them take these. Those with names are parameters
        too, such as ``forest__max_depth``. By default 300 extremely randomized trees on bootstrap
        samples, for more than 16 labels grown on random projections of them.
    joint : estimator of P(y|x), optional
        What learns the labels from the log-odds, for example ``TreeMixture()``. By default
        ``ClassifierChain()``. Its `inference` finds the most probable label vector; its `decision`
        has no effect.
    passthrough : bool or "auto", default=False
        If True, the joint model sees the features too, beside the log-odds: standardised if they
        are dense, as they are if they are sparse. "auto" shows it sparse ones only: of text they
        tell more than the default forest does.
    cv : "auto", "oob", int, splitter or list of splits, default="auto"
        How training rows are held out. "auto": out of bag where a classifier is bagged
        (``bootstrap=True`` and a parameter `oob_score`), in five folds elsewhere. A number of folds
        deals the rows by their content: their order does not matter, and equal rows share a fold;
        prefer it if many rows are equal, which out-of-bag predictions do not keep apart. Rows that
        are never held out only train the base classifiers; of a row that is held out repeatedly
        the predictions are averaged.
    multi_label : "auto", True or False, default="auto"
        Whether the classifiers learn all labels at once; "auto" asks scikit-learn's tags, in
        pipelines those of the last step. Set it where the tags are wrong, e.g. to True for
        ``CatBoostClassifier(loss_function="MultiLogloss")``.
    memory : str, joblib.Memory or None, default=None
        Where to cache the cross-fitted classifiers. Fits to the same data that differ only in
        `joint` or `passthrough`, as in a search over their parameters, then fit the base
        classifiers once.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of base classifiers fitted at a time, and of threads of a `joint` whose own `n_jobs`
        is None; -1 uses all cores. Joblib's backend decides where classifiers are fitted.
    random_state : int, RandomState or None, default=None
        Seeds the folds and every unset `random_state` of `estimator` and `joint`. None means 0:
        results are reproducible by default.
    verbose : int, default=0
        If positive, print how many rows were held out.

    Attributes
    ----------
    bases_ : list of FittedBase
        The base classifiers, fitted to all rows: one for each multi-label classifier and one per
        label for each binary one, in the order of `estimator`.
    joint_ : estimator
        The fitted joint model; its features are the labels' log-odds by the first classifier, the
        second one, ..., then those of X, if `passthrough` is True, or "auto" and X sparse.
    votes_ : (M,) array
        How many votes each held-out probability looks like a count of; see Notes.
    scaler_ : StandardScaler or None
        How dense features are standardised for the joint model.

    Notes
    -----
    The log-odds of a probability p are log (m p + 1) / (m (1 - p) + 1): Laplace's estimate, if p is
    the share of m votes. So predictions of 0 and 1 stay finite, and how far they are from the next
    value is in proportion: forests and neighbours vote, and a label that none of ten neighbours has
    is not impossible. The number of votes is one over the smallest held-out probability of either
    class, or of training rows if that is smaller; where probabilities are continuous the log-odds
    barely change but for that limit.

    Beside what the classifiers themselves take, ``fit`` takes a copy of the training rows for each
    fit that is in progress, and 64 n M bytes for n rows and M log-odds (labels times classifiers);
    with `passthrough` another copy of X. Sparse features with more than 3 % nonzero entries are
    made dense for the default forest, if that takes no more than 1 GB.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import ClassifierChain, JointClassifierCV
    >>> data = load_emotions()
    >>> forest = RandomForestClassifier(n_estimators=50, min_samples_leaf=3)
    >>> chain = ClassifierChain(C=1.0, label_penalty=1.0)
    >>> model = JointClassifierCV(estimator=forest, joint=chain).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> model.predict_joint(data.X[400:402]).condition({0: 1}).mode().labels
    array([[1, 0, 0, 1, 0, 0],
           [1, 0, 0, 0, 0, 1]], dtype=int8)
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        joint: MultiLabelClassifier | None = None,
        passthrough: bool | str = False,
        cv: Any = "auto",
        multi_label: bool | str = "auto",
        memory: Any = None,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.joint = joint
        self.passthrough = passthrough
        self.cv = cv
        self.multi_label = multi_label
        self.memory = memory
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        if not self._passes_sparse_on():
            check_flag(self.passthrough, "passthrough", otherwise="'auto'")
        self._check_names()
        super()._check_parameters()

    def _passes_sparse_on(self) -> bool:
        return isinstance(self.passthrough, str) and self.passthrough == "auto"

    @staticmethod
    def _weighted(X: Any, labels: Labels, sample_weight: Any) -> tuple[Any, Labels, Floats | None]:
        # Rows of weight zero are left out of every fit, but a splitter counts them.
        return X, labels, checked_weight(X, sample_weight)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        learners = self._learners(sample_weight, seed)
        cached = check_memory(self.memory).cache(cross_fit, ignore=["n_jobs"])
        fitted = cached(learners, X, labels, sample_weight, self._folds(), seed, self.n_jobs)
        self.bases_ = fitted.bases
        held_out = fitted.held_out
        known = np.isfinite(held_out).all(axis=1)
        rows = np.flatnonzero(known if sample_weight is None else known & (sample_weight > 0))
        self._tell(f"{len(rows)} of {len(labels)} rows held out")
        if len(rows) == 0:  # all rows are equal, say: nothing shows what the predictions are worth
            rows = np.arange(len(labels))
            frequencies = np.hstack([base.frequencies for base in self.bases_])
            held_out = np.tile(frequencies, (len(rows), 1))
        if len(rows) < len(labels):
            X, labels, held_out = X[rows], labels[rows], held_out[rows]
            sample_weight = None if sample_weight is None else sample_weight[rows]
        total = len(labels) if sample_weight is None else sample_weight.sum()
        self.votes_ = apparent_votes(held_out, float(total))
        is_dense = isinstance(X, np.ndarray)
        self._sees_features = not is_dense if self._passes_sparse_on() else bool(self.passthrough)
        scales = self._sees_features and is_dense
        self.scaler_ = StandardScaler().fit(X, sample_weight=sample_weight) if scales else None
        self._fit_joint(self._seen(X, held_out), labels, sample_weight, seed)

    def _fit_joint(
        self, seen: Any, labels: Labels, sample_weight: Floats | None, seed: int
    ) -> None:
        joint = seeded_clone(self._joint_model(), seed)
        if self._untuned() is not None:
            joint.set_params(decision=self.decision)
        if joint.n_jobs is None:
            joint.set_params(n_jobs=self.n_jobs)
        y = self._encoding.named(labels)
        if sample_weight is None:
            self.joint_ = joint.fit(seen, y)
        elif has_fit_parameter(joint, "sample_weight"):
            self.joint_ = joint.fit(seen, y, sample_weight=sample_weight)
        else:
            raise ValueError(f"sample_weight was given, but joint {joint!r} does not support it")

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        # What the joint model sees of the rows is held out already, so it cross-fits itself alone.
        del rule, X, labels, sample_weight
        tuned: ThresholdRule = self.joint_.rule_
        return tuned

    def _joint(self, X: Any) -> JointDistribution:
        joint: JointDistribution = self.joint_.predict_joint(self._seen(X, self._probabilities(X)))
        # Random numbers belong to the features as given, not to their log-odds, which may differ in
        # the last bits from batch to batch.
        return joint.with_row_ids(row_keys(X))

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "bases_"):
            n_predicted = sum(len(base.frequencies) for base in self.bases_)
            check_shape(self.votes_, (n_predicted,), "votes_")

    def _probabilities(self, X: Any) -> Floats:
        """Return what the base classifiers predict for new rows, (n, M)."""
        return np.hstack([base.probabilities(X) for base in self.bases_])

    def _delegate(self, X: Any, names: Sequence[str]) -> tuple[Any, Any, Sequence[str]]:
        labels = self._names() or [f"y{j}" for j in range(self.n_labels_)]
        seen = [f"{label} by {name}" for name in self._estimator_names() for label in labels]
        if self._sees_features:
            seen += names
        return self.joint_, self._seen(X, self._probabilities(X)), seen

    def _seen(self, X: Any, probabilities: Floats) -> Any:
        """Return what the joint model sees of rows: log-odds and, if asked for, features."""
        log_odds = smoothed_log_odds(probabilities, self.votes_)
        if not self._sees_features:
            return log_odds
        if self.scaler_ is not None:
            X = self.scaler_.transform(X if isinstance(X, np.ndarray) else X.toarray())
        if isinstance(X, np.ndarray):
            return np.hstack([log_odds, X])
        return sp.hstack([sp.csr_array(log_odds), X], format="csr")

    def _learners(self, sample_weight: Floats | None, seed: int) -> list[BaseLearner]:
        estimators = self._estimators()
        shape = (len(estimators), self.n_labels_)
        seeds = check_random_state(seed).randint(2**31 - 1, size=shape)
        learners, all_labels = [], np.arange(self.n_labels_)
        for estimator, own_seeds in zip(estimators, seeds, strict=True):
            check_base_classifier(estimator, sample_weight)
            groups = [all_labels] if self._at_once(estimator) else list(all_labels[:, None])
            out_of_bag = self._by_bags(estimator)
            learners += [
                BaseLearner(estimator, columns, int(own), out_of_bag)
                for columns, own in zip(groups, own_seeds, strict=False)
            ]
        return learners

    def _estimators(self) -> list[Any]:
        """Return the base classifiers as a list, without their names."""
        if self.estimator is None:
            return [ProjectedExtraTrees()]
        if members := self._members():
            return list(members.values())
        given = self.estimator
        return list(given) if isinstance(given, list | tuple) else [given]

    def _estimator_names(self) -> list[str]:
        """Return the given names of the base classifiers, else those of their classes."""
        if members := self._members():
            return list(members)
        names = [type(last_step(each)).__name__ for each in self._estimators()]
        return [
            name if names.count(name) == 1 else f"{name} {names[:k].count(name) + 1}"
            for k, name in enumerate(names)
        ]

    def _at_once(self, estimator: Any) -> bool:
        if isinstance(self.multi_label, str) and self.multi_label == "auto":
            return handles_all_labels(estimator)
        if not isinstance(self.multi_label, bool | np.bool_):
            raise ValueError(f"multi_label must be 'auto', True or False; got {self.multi_label!r}")
        return bool(self.multi_label)

    def _by_bags(self, estimator: Any) -> bool:
        if not isinstance(self.cv, str):
            return False
        offered = offers_out_of_bag(estimator)
        if self.cv == "oob" and not offered:
            raise ValueError(
                "cv='oob' needs bagged classifiers, with bootstrap=True and a parameter oob_score; "
                f"got {estimator!r}"
            )
        return offered

    def _folds(self) -> Any:
        """Return the number of folds, or what splits the rows."""
        is_name = isinstance(self.cv, str)
        if is_name and self.cv in ("auto", "oob"):
            return _N_FOLDS
        if not is_name and (isinstance(self.cv, list) or hasattr(self.cv, "split")):
            return self.cv
        return check_whole_number(
            self.cv, "cv", 2, otherwise="'auto', 'oob', a splitter, a list of splits"
        )

    def _joint_model(self) -> MultiLabelClassifier:
        """Return the joint model: fitted, if `fit` has come that far."""
        joint = getattr(self, "joint_", ClassifierChain() if self.joint is None else self.joint)
        if not isinstance(joint, MultiLabelClassifier):
            raise ValueError(
                f"joint must be an estimator of P(y|x) such as ClassifierChain(); got {joint!r}"
            )
        return joint

    def _inference(self) -> Inference:
        return self._joint_model()._inference()

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn whether sparse X and missing values suit: if they suit all bases."""
        tags = super().__sklearn_tags__()
        bases = [
            each
            for each in self._estimators()
            if hasattr(last_step(each), "__sklearn_tags__") and not isinstance(each, type)
        ]
        tags.input_tags.sparse = all(get_tags(each).input_tags.sparse for each in bases)
        # The joint model does not take missing values; log-odds have none.
        tags.input_tags.allow_nan = not self.passthrough and all(map(takes_missing_values, bases))
        return tags
