"""The two bases of all estimators.

`Estimator` holds scikit-learn's manners: parameters, validation, `fit`, `partial_fit`, tags.
`MultiLabelClassifier` is the base of the estimators that learn P(y|x): a subclass returns it from
``_joint(X, rows)``, and predictions, marginals and decisions follow from it.

The parameters of an estimator are the fields of a dataclass, so that a parameter that all
estimators share is written once. They are keyword-only, but for the base classifier of an estimator
that has one.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_n_jobs, check_number, check_whole_number
from labelweave._common.files import check_shape
from labelweave._common.folds import has_splits
from labelweave._common.labels import LabelEncoding, read_batch_labels, read_labels
from labelweave._common.matrices import mean_row, validated_features
from labelweave._common.presets import NO_PRESETS, Preset, Presets
from labelweave._common.progress import progress_shown
from labelweave._common.row_keys import row_keys
from labelweave.decision import Decided, FixedThreshold, SubsetLoss
from labelweave.decision.decide import decide, resolve_decision
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Scores
from labelweave.decision.rules import ScoredRows, ThresholdRule, apply_thresholds
from labelweave.inference import Auto
from labelweave.inference.strategy import Inference
from labelweave.joint.distribution import JointDistribution, RowOptions
from labelweave.logistic.conditionals import LinearConditionals
from labelweave.logistic.penalties import PenaltyChoice
from labelweave.models.conditionals import LinearMembers
from labelweave.models.cross_fitting import cross_fitted_scores

# What `fit` learns beside the attributes that end in an underscore.
_LEARNED = ("_encoding", "_rates", "_means", "_untuned_rule", "_is_fitted")


def _settings(value: Any) -> dict[str, Any]:
    """Return the settings of a strategy, rule or settings object; an empty dict for the rest."""
    # Estimators are dataclasses too, but have parameters.
    is_value = dataclasses.is_dataclass(value) and not hasattr(value, "get_params")
    if not is_value or isinstance(value, type):
        return {}
    return {part.name: getattr(value, part.name) for part in dataclasses.fields(value) if part.init}


def checked_weight(X: Any, sample_weight: Any) -> Floats | None:
    """Return the sample weights of the rows of X as floats, if there are any."""
    if sample_weight is None:
        return None
    if not np.asarray(sample_weight).any():
        raise ValueError("sample_weight is zero for every row: there is nothing to learn from")
    checked: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return checked


def _can_stream(model: Estimator) -> bool:
    model._check_can_stream()
    return True


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(ClassifierMixin, BaseEstimator, ABC):
    """Base of all estimators, with or without probabilities.

    A subclass implements ``_fit(X, labels, sample_weight)`` and `predict`. ``_fit`` receives X
    validated (float64 array or CSR) and the labels as an int8 array of 0/1. If it learns from
    batches, too, it implements ``_begin`` and ``_learn_batch``, and its ``_check_can_stream``
    allows `partial_fit`. If a method was published with settings other than the defaults,
    `presets` names them: ``TreeNetwork.preset("published")``.

    Parameters
    ----------
    n_jobs : int, optional
        Number of threads, or of processes for the classifiers of other libraries; -1 uses all
        cores. Results depend neither on it nor on which rows are predicted together, up to the
        rounding of those classifiers.
    random_state : int, RandomState or None, default=None
        Seeds everything that is drawn (orders, folds, samples), and every unset `random_state` of
        a base classifier. None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, show progress and print what `fit` chose.

    Attributes set by `fit`
    -----------------------
    n_labels_ : int
    label_names_in_ : (L,) array of str
        The columns of y, when y is a data frame.
    classes_ : (L, 2) array
        The values of each label; the two classes if y is one-dimensional. For estimators with a
        ``decision_function``, the indices of the labels, (L,), as scikit-learn expects.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    #: Named sets of parameters.
    presets: ClassVar[Presets] = NO_PRESETS
    preset = Preset()
    #: Settings objects that parameters stand for when they are None.
    _default_settings: ClassVar[Mapping[str, Any]] = {}
    #: Whether later batches may have more columns of X than earlier ones, on the right.
    _features_may_join: ClassVar[bool] = False
    #: Whether later batches may have more labels than earlier ones, on the right.
    _labels_may_join: ClassVar[bool] = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from features and labels."""
        self._reset()
        X = self._features(X, reset=True)
        labels, encoding = read_labels(y, X.shape[0])
        self._adopt(encoding)
        X, labels, sample_weight = self._weighted(X, labels, sample_weight)
        self._rates: Floats = np.average(labels, axis=0, weights=sample_weight)
        self._means = mean_row(X, sample_weight)
        self._check_parameters()
        with self._watched():
            self._fit(X, labels, sample_weight)
            self._tune(X, labels, sample_weight)
        self._is_fitted = True
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also settings such as ``inference__width``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name in list(params):
                settings = _settings(self._setting(name))
                params |= {f"{name}__{key}": value for key, value in settings.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``inference__width=8`` replaces the strategy by one with that setting."""
        # A strategy is a value that others may hold too: it is replaced, never changed.
        nested = {name: params.pop(name) for name in list(params) if "__" in name}
        super().set_params(**params)
        for name, setting in nested.items():
            owner, _, key = name.partition("__")
            value: Any = self._setting(owner)
            if key in _settings(value):
                setattr(self, owner, dataclasses.replace(value, **{key: setting}))
            elif owner in vars(self) and not hasattr(value, "set_params"):
                raise ValueError(f"{owner}={value!r} has no setting {key!r}, so {name} is unknown")
            else:
                super().set_params(**{name: setting})
        return self

    def _setting(self, name: str) -> Any:
        """Return a parameter, or the settings object that it stands for when it is None."""
        value = getattr(self, name, None)
        return self._default_settings.get(name) if value is None else value

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on learning, from rows in the order given; after `fit`, or from nothing.

        Batches of any size give the same model as their rows one by one. The first batch fixes the
        parameters of the model. A batch that fails leaves the model as it was.
        """
        before = dict(vars(self))
        try:
            self._take_batch(X, y, classes, sample_weight)
        except BaseException:
            self._roll_back(before)
            raise
        return self

    def _take_batch(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "_is_fitted")
        if first:
            self._reset()
        X = self._batch_features(X)
        known = None if first else self._encoding
        labels, encoding = read_batch_labels(
            y, X.shape[0], known, classes, may_grow=self._labels_may_join
        )
        X, labels, sample_weight = self._weighted(X, labels, sample_weight)
        self._adopt(encoding)
        if first:
            self._rates = np.average(labels, axis=0, weights=sample_weight)
        self._check_parameters()
        if first:
            self._begin(X.shape[1])
        self._learn_batch(X, labels, sample_weight)
        self._is_fitted = True

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels of the rows of X, (n, L) of 0/1."""

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule, informed about the training rows, that decides for all rows together.

        None if `predict` decides row by row.
        """
        return None

    def scored(self, X: Any) -> ScoredRows:
        """Return the scores of the rows of X, and draws, by which `threshold_rule` decides."""
        raise NotImplementedError(f"{type(self).__name__} decides row by row")

    def predict_above(self, X: Any, thresholds: Scores) -> NDArray[Any]:
        """Return the labels whose scores in `scored` are above their thresholds."""
        return self._encoding.decode(apply_thresholds(self.scored(X).scores, thresholds))

    @property
    def label_encoding(self) -> LabelEncoding:
        """How label vectors of 0/1 stand for the target that the model was fitted to."""
        return self._encoding

    @abstractmethod
    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn from validated data."""

    def _begin(self, n_features: int) -> None:
        """Make a model of `n_labels_` labels that has learned nothing, for `partial_fit`."""
        raise NotImplementedError

    def _learn_batch(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn from the validated rows of a batch, in turn.

        After a failure attributes are put back, but objects changed in place stay changed: the
        whole batch has to be checked before.
        """
        raise NotImplementedError

    def _check_can_stream(self) -> None:
        """Raise AttributeError if the class, or its parameters, need all rows at once."""
        raise AttributeError(f"{type(self).__name__} learns from all rows at once: use fit")

    def _tune(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        """Learn what a decision needs from held-out rows; most decisions need nothing."""

    def _adopt(self, encoding: LabelEncoding) -> None:
        """Set the attributes that describe the labels of y."""
        self._encoding: LabelEncoding = encoding
        self.classes_ = encoding.classes
        self.n_labels_ = 1 if encoding.single else len(encoding.classes)
        # With a decision_function, scikit-learn expects classes_ to be the indices of the labels.
        if not encoding.single and hasattr(self, "decision_function"):
            self.classes_ = np.arange(self.n_labels_)
        if encoding.names is not None:
            self.label_names_in_ = np.array(encoding.names, dtype=object)

    def _check_learned(self) -> None:
        """Raise ValueError if attributes, read from a file, have sizes that `fit` never gives."""
        if not self.__sklearn_is_fitted__():
            return
        shown = type(self).__new__(type(self))
        shown._adopt(self._encoding)
        for name in ("n_labels_", "classes_", "label_names_in_"):
            if not np.array_equal(getattr(self, name, ()), getattr(shown, name, ())):
                raise ValueError(f"{name} contradicts the classes and names of the labels")
        for name, shape in (("_rates", self.n_labels_), ("_means", self.n_features_in_)):
            if hasattr(self, name):
                check_shape(getattr(self, name), (shape,), name)
        conditionals = getattr(self, "conditionals_", None)
        if isinstance(conditionals, LinearConditionals):
            check_shape(conditionals.intercept, (self.n_labels_,), "conditionals_.intercept")

    def _weighted(
        self, X: Any, labels: Labels, sample_weight: Any
    ) -> tuple[Any, Labels, Floats | None]:
        """Check the sample weights; return the rows of positive weight.

        Splits given as `cv` count all rows: then those of weight zero stay, in no fold.
        """
        weight = checked_weight(X, sample_weight)
        if weight is None or has_splits(getattr(self, "cv", None)):
            return X, labels, weight
        # Not every learner ignores rows of weight zero, so they are left out.
        kept = np.flatnonzero(weight)
        if len(kept) < len(labels):
            X, labels, weight = X[kept], labels[kept], weight[kept]
        return X, labels, weight

    def _check_parameters(self) -> None:
        """Check the parameters, also those of `predict`, before any work is done."""
        self._n_threads()

    def _features(self, X: Any, *, reset: bool) -> Any:
        return validated_features(self, X, reset=reset)

    def _reset(self) -> None:
        """Drop the attributes of an earlier `fit`, whether it failed or not."""
        for name in list(vars(self)):
            if name.endswith("_") or name in _LEARNED:
                del self.__dict__[name]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_is_fitted")

    def _penalty(self, name: str, otherwise: str = "'cv'") -> float | str:
        """Return a penalty: "cv" or a positive number; errors name what else it may be."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "cv":
            return value
        return check_number(value, name, above=0, otherwise=otherwise)

    def _count(self, name: str) -> int:
        return check_whole_number(getattr(self, name), name)

    def _watched(self) -> AbstractContextManager[None]:
        return progress_shown(f"fitting {type(self).__name__}") if self.verbose else nullcontext()

    def _tell(self, message: str) -> None:
        if self.verbose > 0:
            print(f"{type(self).__name__}: {message}")

    def _keep_penalties(self, chosen: PenaltyChoice, *more: str) -> None:
        self.C_, self.label_penalty_ = chosen.C, chosen.label_penalty
        shown = f"C = {self.C_:.4g}", f"label_penalty = {self.label_penalty_:.4g}", *more
        self._tell(", ".join(shown))

    def _n_threads(self) -> int:
        return check_n_jobs(self.n_jobs)

    def _seed(self) -> int:
        # Reproducible by default: None means 0.
        state = 0 if self.random_state is None else self.random_state
        try:
            return int(check_random_state(state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(
                "random_state must be None, a whole number from 0 to 2^32 - 1 or a RandomState; "
                f"got {self.random_state!r}"
            ) from error

    def _names(self) -> tuple[str, ...] | None:
        return self._encoding.names

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    def _roll_back(self, before: dict[str, Any]) -> None:
        """Return to the attributes from before a batch that failed or was interrupted."""
        self.__dict__.clear()
        self.__dict__.update(before)

    def _batch_features(self, X: Any) -> Any:
        """Return X validated; if features may join, a wider X sets the width of later batches."""
        width = getattr(self, "n_features_in_", None)
        wider = width is not None and np.ndim(X) == 2 and np.shape(X)[1] > width
        if width is None or not (wider and self._features_may_join):
            return self._features(X, reset=width is None)
        known = getattr(self, "feature_names_in_", None)
        rows = self._features(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        if known is not None and (names is None or list(names[:width]) != list(known)):
            raise ValueError(
                "X has new features, but its feature names do not begin with those seen before: "
                "append new columns on the right"
            )
        return rows


@dataclass(eq=False, repr=False, kw_only=True)
class MultiLabelClassifier(Estimator):
    """Base of the estimators that learn P(y|x), which `predict_joint` returns for new rows.

    A subclass implements ``_fit(X, labels, sample_weight)``, as `Estimator` describes, and
    ``_joint(X, rows)``, which receives validated rows.

    If `decision` is tuned on held-out rows, such as "macro_f1" or "micro_f1", `fit` holds them out:
    it fits the model five times more, each time to four fifths of the rows, with the penalties that
    were chosen on all of them.

    Parameters
    ----------
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises: "subset" gives the most probable label vector, "hamming"
        each label by its marginal probability. Some models have another default.
    n_jobs, random_state, verbose : see `Estimator`

    Attributes set by `fit`
    -----------------------
    rule_ : ThresholdRule
        The tuned rule, if `decision` is tuned on held-out rows.

    Examples
    --------
    What every estimator can predict:

    >>> from labelweave import load
    >>> from labelweave import BinaryRelevance, MultiLabelClassifier
    >>> data = load("emotions")
    >>> model: MultiLabelClassifier = BinaryRelevance(C=0.01).fit(data.X, data.Y)
    >>> model.predict(data.X[:2]).shape, model.predict_proba(data.X[:2]).shape
    ((2, 6), (2, 6))
    >>> model.predict_joint(data.X[:2])
    IndependentJoint(n_rows=2, n_labels=6)
    """

    decision: str | Decision = "subset"

    @property
    def thresholds_(self) -> Floats:
        """The probability above which each label is predicted, (L,), if `decision` is tuned.

        `predict` compares log-odds, which differ where probabilities are rounded to one number.
        """
        if not hasattr(self, "rule_"):
            raise AttributeError("thresholds_ exist after fit with a decision such as 'macro_f1'")
        return np.asarray(self.rule_.thresholds(np.empty((0, self.n_labels_))))

    @property
    def prediction_parameters(self) -> tuple[str, ...]:
        """Parameters that only predictions depend on: models that differ in them share a fit.

        A decision that is tuned on held-out rows is not one of them.
        """
        return ("inference",) if self._untuned() is not None else ("decision", "inference")

    def predict_joint(self, X: Any) -> JointDistribution:
        """Return the joint distributions of the labels, one per row of X.

        Their decision "subset" looks for the mode as this estimator does.
        """
        check_is_fitted(self)
        X = self._features(X, reset=False)
        return self._joint(X, self._rows(X)).with_inference(self._inference())

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that are optimal for `decision`, (n, L) of 0/1.

        A rule for test sets decides for all rows of X together.
        """
        check_is_fitted(self)
        rule = self.threshold_rule()
        if rule is None:
            return self._encoding.decode(self._decide()(self.predict_joint(X)))
        return self._encoding.decode(rule.label(*self.scored(X)))

    def decide(self, X: Any, loss: str | Decision) -> Decided:
        """Return the labels of least expected loss, and that loss, without fitting anew.

        The loss is "subset", "hamming", "f1", "jaccard", "ranking", or one of
        `labelweave.decision`, such as ``FLoss(beta=2)`` or ``PartialAbstention(price=0.2)``.
        """
        return decide(self.predict_joint(X), loss)

    def threshold_rule(self) -> ThresholdRule | None:
        """Return the rule by which `predict` decides for all rows together; None if it does not."""
        decision = self._decide()
        return decision if isinstance(decision, ThresholdRule) else None

    def scored(self, X: Any) -> ScoredRows:
        """Return the scores by which `threshold_rule` decides, usually log-odds of marginals."""
        joint, rule = self.predict_joint(X), self.threshold_rule()
        return ScoredRows.of(joint) if rule is None else rule.scored(joint)

    def predict_proba(self, X: Any) -> Floats:
        """Return the marginal probability of each label, (n, L), or of two classes, (n, 2).

        Chains of more than 16 labels average conditional probabilities over 1000 weighted prefixes,
        with standard errors of some 10⁻⁴ to 10⁻³; `PairwiseCRF` takes annealed draws, with errors
        of some 10⁻², on single rows more than 10⁻¹. ``predict_joint(X).estimate("marginals")`` has
        the errors, and takes more ``samples``. The ``log_prob(Y)`` of chains is exact.
        """
        marginals = self.predict_joint(X).marginals()
        return self._encoding.probabilities(marginals)

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of each label, (n, L), infinite where it is certain.

        They rank rows whose probabilities are rounded to the same number near 0 or 1.
        """
        return self.predict_joint(X).marginal_log_odds()

    def _rows(self, X: Any) -> RowOptions:
        names, keys = self._names(), row_keys(X)
        return {"label_names": names, "row_ids": keys, "n_threads": self._n_threads()}

    @abstractmethod
    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        """Return the joint distributions of validated rows."""

    def _linear_members(self, X: Any) -> LinearMembers | None:
        """Return the linear conditionals of validated rows; None if there are others among them."""
        return None

    def _unexplained_because(self) -> str | None:
        """Return why conditionals cannot be explained, if not for want of linear ones."""
        return None

    def _delegate(
        self, X: Any | None, names: Sequence[str] | None
    ) -> tuple[Any, Any, Sequence[str] | None] | None:
        """Return the model that predicts in place of this one, if there is one.

        The rows X as that model sees them, and the names of their features, come with it.
        """
        return None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_labels = getattr(self._inference(), "check_n_labels", None)
        if resolve_decision(self.decision) == SubsetLoss() and check_n_labels is not None:
            check_n_labels(self.n_labels_)

    def _decide(self) -> Decision:
        """Return the decision, informed about the training rows."""
        decision = resolve_decision(self.decision)
        if not isinstance(decision, ThresholdRule):
            return decision
        if "held_out" not in decision.needs:
            return decision.informed(self._training_rates())
        if getattr(self, "_untuned_rule", None) != decision:
            raise ValueError(
                f"decision {self.decision!r} is tuned on rows that fit holds out, but the model "
                "was not fitted with it: call fit again, or choose a decision such as 'f1' or 'cmn'"
            )
        return self.rule_

    def _training_rates(self) -> Floats:
        """Return the share of the training rows that have each label, (L,)."""
        return self._rates

    def _untuned(self) -> ThresholdRule | None:
        """Return the rule that `decision` stands for if it is tuned on held-out rows."""
        rule = resolve_decision(self.decision)
        return rule if isinstance(rule, ThresholdRule) and "held_out" in rule.needs else None

    def _tune(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        rule = self._untuned()
        if rule is not None:
            self.rule_ = self._tuned(rule, X, labels, sample_weight)
            self._untuned_rule = rule

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        """Return the rule tuned on rows that clones of the fitted model have not seen."""
        model, seed, named = self._fold_model(), self._seed(), self._encoding.named
        held_out = cross_fitted_scores(
            model, rule, X, labels, sample_weight, seed=seed, named=named
        )
        # If all rows are equal, there is nothing to tune on.
        return FixedThreshold() if held_out is None else rule.informed(self._rates, held_out)

    def _fold_model(self) -> Self:
        """Return a clone to be fitted to parts of the rows, with the penalties chosen on all."""
        learned = {
            name: getattr(self, f"{name}_", None)
            for name, value in self.get_params(deep=False).items()
            if isinstance(value, str) and value == "cv"
        }
        chosen = {name: value for name, value in learned.items() if isinstance(value, float)}
        model: Self = clone(self)
        return model.set_params(decision=FixedThreshold(), verbose=0, **chosen)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # scikit-learn's check of multi-label classifiers expects `predict` to round the marginals,
        # but the most probable vector of dependent labels may differ from that. This tag is the
        # check's only switch.
        tags.classifier_tags.poor_score = self.decision != "hamming"
        return tags

    def _inference(self) -> Inference:
        strategy: Inference | str | None = getattr(self, "inference", None)  # some have no choice
        if strategy is None or (isinstance(strategy, str) and strategy == "auto"):
            return Auto()
        if isinstance(strategy, str | type) or not callable(strategy):
            raise ValueError(
                f"inference must be 'auto' or a strategy such as Greedy(); got {strategy!r}"
            )
        return strategy
