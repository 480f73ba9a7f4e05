"""JointClassifierCV: any classifiers in, a joint distribution out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import delayed
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_memory

from labelweave._common.arrays import Floats, Indices, Labels, Positions
from labelweave._common.checks import check_flag
from labelweave._common.files import check_positions, check_shape
from labelweave._common.folds import Fold, check_folds, deal, presentation_order
from labelweave._common.pipelines import first, fit_arguments, last
from labelweave.decision.rules import ThresholdRule
from labelweave.inference.strategy import Inference
from labelweave.joint import JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.chains import ClassifierChain
from labelweave.models.conditionals import check_base_classifier, seeded_clone
from labelweave.models.cross_fitting import N_FOLDS, CrossFit, TrainingData, run_fits
from labelweave.models.forest import ProjectedExtraTrees


def handles_all_labels(estimator: Any) -> bool:
    """Whether a classifier's tags, or those of a pipeline's last step, accept a label matrix."""
    tags = get_tags(last(estimator))
    is_multi_label = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(is_multi_label or tags.target_tags.multi_output)


def takes_missing_values(estimator: Any) -> bool:
    """Whether a classifier's tags, or those of a pipeline's first step, accept NaN."""
    return bool(get_tags(first(estimator)).input_tags.allow_nan)


def offers_out_of_bag(estimator: Any) -> bool:
    """Whether a classifier is bagged and predicts out of bag; a pipeline's steps see all rows."""
    predicts_unseen = "oob_score" in estimator.get_params(deep=False)
    return predicts_unseen and bool(getattr(estimator, "bootstrap", False))


def apparent_votes(probabilities: Floats, weight: float) -> Floats:
    """Return the number of votes, at most `weight`, that each column's probabilities may share.

    It is one over the smallest probability of either class, where that is at least ``1 / weight``:
    the smallest share of ten neighbours, besides 0, is 0.1.
    """
    ends = np.concatenate([probabilities, 1.0 - probabilities])
    smallest: Floats = np.where(ends * weight >= 1.0, ends, 1.0).min(axis=0)
    return 1.0 / smallest


def smoothed_log_odds(probabilities: Floats, votes: Floats) -> Floats:
    """Return log (m p + 1) / (m (1 - p) + 1): Laplace's estimate for frequencies p of m votes."""
    return np.log1p(votes * probabilities) - np.log1p(votes * (1.0 - probabilities))


@dataclass(frozen=True)
class FittedBase:
    """A classifier of those labels, among K, that vary; None if no label varies.

    Constant labels are predicted by their frequencies, (K,).
    """

    classifier: Any
    varying: Positions
    frequencies: Floats

    def probabilities(self, X: Any) -> Floats:
        """Return the probability of each label, (n, K)."""
        if self.classifier is None:
            return self._completed(np.empty((X.shape[0], 0)))
        try:
            positive = self._positive(self.classifier.predict_proba(X))
        except (TypeError, ValueError) as error:
            raise ValueError(f"estimator: {self.classifier} cannot predict: {error}") from error
        if not np.isfinite(positive).all():
            raise ValueError(
                f"estimator: {self.classifier} predicts probabilities that are not finite"
            )
        return self._completed(positive)

    def out_of_bag(self, n_rows: int) -> Floats:
        """Return out-of-bag probabilities, (n, K); NaN in rows that all members have drawn."""
        if self.classifier is None:
            return self._completed(np.empty((n_rows, 0)))
        by_class = np.asarray(self.classifier.oob_decision_function_)
        votes = by_class.reshape(n_rows, 2, -1)  # forests append an axis for several labels
        never = votes.sum(axis=1) == 0.0  # forests return zeros, other ensembles NaN
        return self._completed(np.where(never, np.nan, votes[:, 1]))

    def _positive(self, probability: Any) -> Floats:
        """Return P(y_j = 1) from the forms that `predict_proba` has, (n, V)."""
        if isinstance(probability, list):  # one matrix of two classes for each label
            return np.column_stack([of_label[:, 1] for of_label in probability])
        columns = np.asarray(probability, dtype=np.float64)
        return columns[:, 1:] if columns.shape[1] > len(self.varying) else columns

    def _check_learned(self) -> None:
        check_positions(self.varying, len(self.frequencies), "varying")

    def _completed(self, of_varying: Floats) -> Floats:
        completed = np.tile(self.frequencies, (len(of_varying), 1))
        completed[:, self.varying] = of_varying
        return completed


@dataclass(frozen=True)
class BaseLearner:
    """A classifier to be fitted to some of the labels: all of them, or one if it is binary."""

    estimator: Any
    columns: Positions
    seed: int
    out_of_bag: bool

    def fit(self, X: Any, labels: Labels, weight: Floats | None) -> FittedBase:
        """Fit a clone to the labels that vary; constant ones need no classifier."""
        chosen = labels[:, self.columns]
        frequencies = np.average(chosen, axis=0, weights=weight)
        varying = np.flatnonzero((chosen != chosen[0]).any(axis=0))
        untrained = FittedBase(None, varying, frequencies)
        if len(varying) == 0:
            return untrained
        classifier = seeded_clone(self.estimator, self.seed)
        if self.out_of_bag:
            # Bagged classifiers that could grow further refuse to predict out of bag.
            is_warm = "warm_start" in classifier.get_params(deep=False)
            classifier.set_params(oob_score=True, **({"warm_start": False} if is_warm else {}))
        # Weights of one would change nothing but the bootstrap samples.
        is_weighted = weight is not None and bool((weight != 1).any())
        arguments = fit_arguments(self.estimator, weight if is_weighted else None)
        with warnings.catch_warnings():
            if self.out_of_bag:  # some rows may be in every bag: `FittedBase.out_of_bag` tells
                warnings.filterwarnings("ignore", "Some inputs do not have OOB", UserWarning)
                warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
            try:
                classifier.fit(X, self._target(chosen[:, varying]), **arguments)
            except (TypeError, ValueError) as error:
                raise ValueError(f"estimator: {self._described(chosen)}: {error}") from error
        return replace(untrained, classifier=classifier)

    def _described(self, labels: Labels) -> str:
        start = f"{self.estimator} cannot be fitted to"
        if len(self.columns) > 1:
            return f"{start} the labels of {len(labels)} rows"
        return f"{start} label {self.columns[0]}, which {labels.sum()} of {len(labels)} rows have"

    def _target(self, labels: Labels) -> NDArray[np.int64]:
        """Return the target for the classifier; a single label becomes a vector of classes."""
        wide = labels.astype(np.int64)
        flat = wide.shape[1] == 1 and get_tags(last(self.estimator)).target_tags.single_output
        return wide[:, 0] if flat else wide


def fit_learners(
    learners: Sequence[BaseLearner], data: TrainingData, cv: Any, seed: int, n_jobs: int | None
) -> tuple[list[FittedBase], Floats]:
    """Fit base learners to all rows, and predict each row by fits that have not seen it.

    The predictions, (n, M), are the labels of one learner after the other, with NaN in rows that
    were never held out. Joblib may cache the result.
    """
    # Bootstrap samples and shuffled mini-batches depend on the order of the rows.
    order, n_rows = presentation_order(data.X, data.labels, seed), len(data.labels)
    if data.weight is not None:
        order = order[data.weight[order] > 0]
    by_folds = [learner for learner in learners if not learner.out_of_bag]
    folds = deal(cv, data.X, data.labels, data.weight, seed) if by_folds else []
    calls = [delayed(_fit_rows)(learner, data, order) for learner in learners]
    calls += [
        delayed(_predict_fold)(learner, data, order[np.isin(order, fold.train)], fold.held_out)
        for learner in by_folds
        for fold in folds
    ]
    results = iter(run_fits(calls, n_jobs, "fitting base classifiers"))
    bases: list[FittedBase] = [next(results) for _ in learners]
    held_out = []
    for learner, base in zip(learners, bases, strict=True):
        if learner.out_of_bag:
            by_row = CrossFit([base.out_of_bag(len(order))], [Fold(order, order)])
        elif folds:
            by_row = CrossFit([next(results) for _ in folds], folds)
        else:
            held_out.append(np.full((n_rows, len(learner.columns)), np.nan))
            continue
        held_out.append(np.asarray(by_row.gather(n_rows)))
    return bases, np.hstack(held_out)


def _fit_rows(learner: BaseLearner, data: TrainingData, rows: Indices) -> FittedBase:
    part = data.taken(rows)
    return learner.fit(part.X, part.labels, part.weight)


def _predict_fold(
    learner: BaseLearner, data: TrainingData, train: Indices, test: Positions
) -> Floats:
    return _fit_rows(learner, data, train).probabilities(data.X[test])


def _is_named(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)


@dataclass(eq=False, repr=False, kw_only=True)
class JointClassifierCV(MultiLabelClassifier):
    """A joint model P(y|x) over the predictions of any classifiers.

    Base classifiers predict each training row without having seen it, out of bag or by
    cross-fitting, and a joint model learns the labels from the log-odds of these predictions. So it
    learns how far to trust each classifier, and how labels depend on each other. For new rows the
    base classifiers, fitted to all training rows, give the log-odds.

    Parameters
    ----------
    estimator : classifier, list of classifiers or list of (name, classifier), optional
        Any scikit-learn classifiers with ``predict_proba``. Multi-label ones are fitted once,
        binary ones once per label; they see X as a float64 array or CSR matrix, without names of
        columns, and with missing values if all of them accept these. Named classifiers are
        parameters too, such as ``forest__max_depth``. By default 300 extremely randomized trees on
        bootstrap samples, for more than 16 labels grown on random projections of them.
    joint : estimator of P(y|x), optional
        The model that learns the labels from the log-odds, such as ``TreeMixture()``. By default
        ``ClassifierChain()``. Its `inference` finds the most probable label vector; its `decision`
        has no effect.
    passthrough : bool or "auto", default=False
        If True, the joint model sees the features beside the log-odds; dense features are
        standardised. "auto" passes on only sparse features, which tell more about text than the
        default forest does.
    cv : "auto", "oob", int, splitter or list of splits, default="auto"
        How training rows are held out. "auto" is out of bag for a bagged classifier
        (``bootstrap=True`` and a parameter `oob_score`) and in five folds for others. Folds are
        dealt as in `CalibratedJointCV`; prefer them if many rows are equal, because a bag may
        contain a copy of a row that is out of it. Rows that are never held out only train the base
        classifiers; if a row is held out repeatedly, its predictions are averaged.
    multi_label : "auto", True or False, default="auto"
        Whether the classifiers learn all labels at once; "auto" asks scikit-learn's tags, in
        pipelines those of the last step. Set it where the tags are wrong, e.g. to True for
        ``CatBoostClassifier(loss_function="MultiLogloss")``.
    memory : str, joblib.Memory or None, default=None
        Where to cache the cross-fitted classifiers. Fits to the same data that differ only in
        `joint` or `passthrough` then fit the base classifiers once.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`
        `n_jobs` is the number of base classifiers fitted at a time, unless Joblib's backend sets
        it, and the number of threads of a `joint` whose own `n_jobs` is None.

    Attributes
    ----------
    bases_ : list of FittedBase
        The base classifiers, fitted to all rows: one for each multi-label classifier and one per
        label for each binary one, in the order of `estimator`.
    joint_ : estimator
        The fitted joint model; its features are the labels' log-odds by one classifier after the
        other, followed by the features of X that are passed on.
    votes_ : (M,) array
        The number of votes m of each held-out probability; see Notes.
    scaler_ : StandardScaler or None
        How dense features are standardised for the joint model.

    Notes
    -----
    The log-odds of a probability p are log (m p + 1) / (m (1 - p) + 1): Laplace's estimate, if p is
    the share of m votes. So predictions of 0 and 1 stay finite: a label that none of ten neighbours
    has is not impossible. The number of votes is one over the smallest held-out probability of
    either class, or of training rows if that is smaller; if probabilities are continuous, the
    log-odds barely change except for that limit.

    ``fit`` takes a copy of the training rows for each base classifier in progress, and 64 n M bytes
    for n rows and M log-odds (labels times classifiers); with `passthrough` another copy of X.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from labelweave import ClassifierChain, JointClassifierCV, load
    >>> data = load("emotions")
    >>> forest = RandomForestClassifier(n_estimators=50, min_samples_leaf=3)
    >>> chain = ClassifierChain(C=1.0, label_penalty=1.0)
    >>> model = JointClassifierCV(forest, joint=chain).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    estimator: Any = field(default=None, kw_only=False)
    joint: MultiLabelClassifier | None = None
    passthrough: bool | str = False
    cv: Any = "auto"
    multi_label: bool | str = "auto"
    memory: Any = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also those of named members."""
        params = super().get_params(deep=deep)
        if deep:
            for name, member in self._members().items():
                params[name] = member
                if hasattr(member, "get_params") and not isinstance(member, type):
                    own = member.get_params()
                    params |= {f"{name}__{key}": value for key, value in own.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a member is replaced by its name, or its own parameters are set."""
        if "estimator" in params:
            super().set_params(estimator=params.pop("estimator"))
        members = self._members()
        replaced = {name: params.pop(name) for name in members if name in params}
        if replaced:
            self.estimator = [(name, replaced.get(name, each)) for name, each in self.estimator]
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        if not self._passes_sparse_on():
            check_flag(self.passthrough, "passthrough", otherwise="'auto'")
        self._check_names()
        super()._check_parameters()

    def _passes_sparse_on(self) -> bool:
        return isinstance(self.passthrough, str) and self.passthrough == "auto"

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        learners = self._learners(sample_weight, seed)
        cached = check_memory(self.memory).cache(fit_learners, ignore=["n_jobs"])
        data = TrainingData(X, labels, sample_weight, self._encoding.named)
        self.bases_, held_out = cached(learners, data, self._folds(), seed, self.n_jobs)
        known = np.isfinite(held_out).all(axis=1)
        rows = np.flatnonzero(known if sample_weight is None else known & (sample_weight > 0))
        self._tell(f"{len(rows)} of {len(labels)} rows held out")
        if len(rows) == 0:  # if all rows are equal, nothing shows how good the predictions are
            rows = np.arange(len(labels))
            frequencies = np.hstack([base.frequencies for base in self.bases_])
            held_out = np.tile(frequencies, (len(rows), 1))
        if len(rows) < len(labels):
            data, held_out = data.taken(rows), held_out[rows]
        total = len(data.labels) if data.weight is None else data.weight.sum()
        self.votes_ = apparent_votes(held_out, float(total))
        is_dense = isinstance(X, np.ndarray)
        self._sees_features = not is_dense if self._passes_sparse_on() else bool(self.passthrough)
        scales = self._sees_features and is_dense
        scaler = StandardScaler()
        self.scaler_ = scaler.fit(data.X, sample_weight=data.weight) if scales else None
        self._fit_joint(replace(data, X=self._seen(data.X, held_out)), seed)

    def _fit_joint(self, seen: TrainingData, seed: int) -> None:
        joint = seeded_clone(self._joint_model(), seed)
        if self._untuned() is not None:
            joint.set_params(decision=self.decision)
        if joint.n_jobs is None:
            joint.set_params(n_jobs=self.n_jobs)
        self.joint_ = seen.fitted(joint)

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        # The joint model sees held-out predictions already, so only this model is cross-fitted.
        del rule, X, labels, sample_weight
        tuned: ThresholdRule = self.joint_.rule_
        return tuned

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        joint: JointDistribution = self.joint_.predict_joint(self._seen(X, self._probabilities(X)))
        # Random numbers belong to the features as given, not to their log-odds, which may differ in
        # the last bits from batch to batch.
        return joint.with_row_ids(rows["row_ids"])

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "bases_"):
            n_predicted = sum(len(base.frequencies) for base in self.bases_)
            check_shape(self.votes_, (n_predicted,), "votes_")

    def _probabilities(self, X: Any) -> Floats:
        """Return the predictions of the base classifiers for new rows, (n, M)."""
        return np.hstack([base.probabilities(X) for base in self.bases_])

    def _delegate(
        self, X: Any, names: Sequence[str] | None
    ) -> tuple[Any, Any, Sequence[str] | None] | None:
        if not hasattr(self, "joint_") or X is None:
            return (self.joint_, None, None) if hasattr(self, "joint_") else None
        labels = self._names() or [f"y{j}" for j in range(self.n_labels_)]
        seen = [f"{label} by {name}" for name in self._estimator_names() for label in labels]
        if self._sees_features:
            seen += names or []
        return self.joint_, self._seen(X, self._probabilities(X)), seen

    def _seen(self, X: Any, probabilities: Floats) -> Any:
        """Return rows as the joint model sees them: log-odds and, if wanted, features."""
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
            for columns, own in zip(groups, own_seeds, strict=False):
                learners.append(BaseLearner(estimator, columns, int(own), out_of_bag))
        return learners

    def _given(self) -> list[Any]:
        """Return `estimator` as a list, of pairs if its classifiers have names."""
        if self.estimator is None:
            return [ProjectedExtraTrees()]
        return (
            list(self.estimator) if isinstance(self.estimator, list | tuple) else [self.estimator]
        )

    def _members(self) -> dict[str, Any]:
        """Return the members by name; none if they have no names."""
        given = self._given()
        return dict(given) if all(map(_is_named, given)) else {}

    def _estimators(self) -> list[Any]:
        return list(self._members().values()) or self._given()

    def _check_names(self) -> None:
        """Raise an error for names that cannot be told from each other or from parameters."""
        given, members, own = self._given(), self._members(), self.get_params(deep=False)
        if not given:
            raise ValueError("estimator must have at least one classifier; got an empty list")
        is_mixed = not members and any(isinstance(each, tuple | str) for each in given)
        if is_mixed and isinstance(self.estimator, list | tuple):
            raise ValueError(
                "estimator must be a classifier, a list of classifiers, or a list of pairs "
                f"(name, classifier) throughout; got {self.estimator!r}"
            )
        if 0 < len(members) < len(given):
            names = [name for name, _ in given]
            raise ValueError(f"estimator: the names must differ; got {names}")
        for name in members:
            if not name or name in own or "__" in name:
                raise ValueError(
                    f"estimator: {name!r} cannot be a name, because it is empty, has '__' or is a "
                    f"parameter of {type(self).__name__}; choose another"
                )

    def _estimator_names(self) -> list[str]:
        """Return the given names of the base classifiers, else those of their classes."""
        if members := self._members():
            return list(members)
        names = [type(last(each)).__name__ for each in self._estimators()]
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
        if isinstance(self.cv, str) and self.cv in ("auto", "oob"):
            return N_FOLDS
        return check_folds(self.cv, otherwise="'auto', 'oob'")

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
        """Tell scikit-learn to pass sparse X and missing values if all bases accept them."""
        tags = super().__sklearn_tags__()
        known = (each for each in self._estimators() if not isinstance(each, type))
        bases = [each for each in known if hasattr(last(each), "__sklearn_tags__")]
        tags.input_tags.sparse = all(get_tags(each).input_tags.sparse for each in bases)
        # The joint model does not take missing values; log-odds have none.
        tags.input_tags.allow_nan = not self.passthrough and all(map(takes_missing_values, bases))
        return tags
