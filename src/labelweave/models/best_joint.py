"""BestJoint: the best of several models, or a mixture of them, by the likelihood of held-out rows.

On rows that the models have not seen, the mixture Σ_k w_k P_k(y|x) of highest mean log-likelihood,
which is concave in w, is never worse than the best of them (Breiman 1996; Yao et al. 2018, who call
it stacking of predictive distributions).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import LinearConstraint, minimize
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels, Positions
from labelweave._common.checks import check_flag, check_number
from labelweave._common.folds import Fold, check_folds, deal
from labelweave._common.pipelines import copy_for_fold, last
from labelweave._common.progress import stage
from labelweave.decision import FixedThreshold
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities, Scores, check_scores
from labelweave.decision.rules import ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.inference.strategy import Inference
from labelweave.joint import IndependentJoint, JointDistribution, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.metrics import Metric, resolve_metrics
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import seeded_clone
from labelweave.models.cross_fitting import CrossFit, TrainingData, cross_fit
from labelweave.models.methods import make_method, with_preprocessing
from labelweave.models.mixture_size import in_standard_errors
from labelweave.models.predictions import predict_joint, score_model

if TYPE_CHECKING:
    import pandas as pd


#: The methods that `BestJoint` tries by default, in this order; a mixture of trees takes longest
#: with many labels, and may be given up after one fold. Trees on all rows are better on some data,
#: trees on bootstrap samples on others: exact match and CLL-loss are .186 / 5.21 and .186 / 5.25 on
#: 2,250 rows of eisen's 14 classes, .742 / .77 and .703 / .84 on ImCLEF, .093 / 5.39 and
#: .102 / 5.11 on delicious' ten most frequent labels. A chain over a forest's predictions also
#: sees sparse features, which helps on text: its CLL-loss on 2,000 rows of imdb and of delicious is
#: 5.33 and 4.79, without the features 5.35 and 4.97; that of a linear chain is 5.34 and 4.83.
PORTFOLIO = (
    "auto",
    "forest",
    "forest(bootstrap=False)",
    "weave(passthrough='auto')",
    "auto(features=KernelFeatures())",
    "mc",
)
# A mixture is not tried by default if a component has more coefficients than this: with 47,000
# features and 101 labels it takes five CPU-minutes for 2,000 rows; a chain, 16 seconds for 5,400.
_LARGEST_COMPONENT = 2**20


def make_candidates(
    given: Sequence[Any] | None, decision: str | Decision, X: Any, seed: int
) -> list[tuple[str, Any]]:
    """Return estimators with distinct names, a decision, and the preprocessing that X needs."""
    given = PORTFOLIO if given is None else given
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ValueError(
            f"candidates must be a list of methods or estimators, not empty; got {given!r}"
        )
    candidates: dict[str, Any] = {}
    for name, estimator in map(_named, given):
        if not isinstance(last(estimator), MultiLabelClassifier):
            raise ValueError(
                f"candidates must be estimators of P(y|x), such as ClassifierChain(); {name} "
                "is not one. JointClassifierCV makes one of any classifier"
            )
        last(estimator).set_params(decision=decision)
        prepared = with_preprocessing(seeded_clone(estimator, seed), X)
        candidates[_distinct(name, candidates)] = prepared
    return list(candidates.items())


def _distinct(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name} {k}" for k in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _named(candidate: Any) -> tuple[str, Any]:
    if isinstance(candidate, str):
        return candidate, make_method(candidate)
    pair = candidate if isinstance(candidate, tuple) else (str(candidate), candidate)
    is_named = len(pair) == 2 and isinstance(pair[0], str)
    if not is_named or isinstance(pair[1], type) or not hasattr(pair[1], "get_params"):
        raise ValueError(
            "candidates must be names of methods, estimators such as ClassifierChain(), or pairs "
            f"(name, estimator); got {candidate!r}"
        )
    return pair[0], clone(pair[1])


# Least weight of a model during the search, so that no row becomes impossible.
_LEAST = 1e-12
# Weights are rounded to this many decimals, so that the order of the rows does not matter.
_DECIMALS = 6


def pool_weights(log_probs: Floats, sample_weight: Floats | None = None) -> Floats:
    """Return the weights of a mixture, (K,), that maximise the mean of log-probabilities (n, K).

    Rows that are impossible under all models do not count.
    """
    weight = np.ones(len(log_probs)) if sample_weight is None else sample_weight
    largest = log_probs.max(axis=1)
    counts = np.isfinite(largest) & (weight > 0)
    n_models = log_probs.shape[1]
    if n_models == 1 or not counts.any():
        return np.full(n_models, 1 / n_models)
    relative = np.exp(log_probs[counts] - largest[counts, None])
    share = weight[counts] / weight[counts].sum()

    def loss(weights: Floats) -> float:
        return -float(share @ np.log(relative @ weights))

    def gradient(weights: Floats) -> Floats:
        return -np.asarray((share / (relative @ weights)) @ relative)

    found = minimize(
        loss,
        np.full(n_models, 1 / n_models),
        jac=gradient,
        bounds=[(_LEAST, 1)] * n_models,
        constraints=LinearConstraint(np.ones(n_models), 1, 1),
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    )
    rounded = np.maximum(found.x, 0.0).round(_DECIMALS)
    weights: Floats = rounded / rounded.sum()
    return weights


_NOTHING = np.empty(0)


@dataclass(frozen=True)
class Trial:
    """The scores of a candidate, one for each fold that was tried; higher ones are better.

    The `problem` says why it was not tried on all folds. A candidate that was given up after one
    fold has a mean that does not compare with others.
    """

    name: str
    scores: tuple[float, ...]
    seconds: float = 0.0
    problem: str = ""

    @property
    def score(self) -> float:
        """The mean score; -inf without scores, or if they are not numbers."""
        mean = float(np.mean(self.scores)) if self.scores else -np.inf
        return -np.inf if np.isnan(mean) else mean

    @property
    def standard_error(self) -> float:
        """The standard error of the mean score, over folds; NaN with fewer than two."""
        if len(self.scores) < 2 or not np.isfinite(self.scores).all():
            return float("nan")
        return float(np.std(self.scores, ddof=1) / np.sqrt(len(self.scores)))


class Judgement(NamedTuple):
    """The score of a model on rows that it has not seen; higher ones are better.

    `log_prob`, (m,), holds the log-probabilities of the rows' labels unless the score is a metric;
    `evidence`, (m, L), holds the scores of the rows if a rule is to be tuned.
    """

    score: float
    log_prob: Floats = _NOTHING
    evidence: Scores = _NOTHING


def judge(
    model: Any,
    rows: Positions,
    *,
    data: TrainingData,
    metric: Metric | None,
    rule: ThresholdRule | None,
) -> Judgement:
    """Judge a model by rows that it has not seen."""
    part = data.taken(rows)
    if metric is not None:
        value = score_model(model, part.X, part.labels, [metric])[0][metric.name]
        return Judgement(value if metric.higher_is_better else -value)
    joint: Any = predict_joint(model, part.X)
    log_prob = joint.log_prob(part.labels)
    log_prob = np.where(np.isnan(log_prob), -np.inf, log_prob)
    evidence = _NOTHING if rule is None else rule.scored(joint).scores
    return Judgement(float(np.average(log_prob, weights=part.weight)), log_prob, evidence)


def without_tuning(estimator: Any) -> Any:
    """Return a clone whose decision needs no held-out rows."""
    cloned = clone(estimator)
    last(cloned).set_params(decision="hamming")
    return cloned


# A candidate is given up after the first fold if it is behind by this many standard errors of the
# paired differences of rows, or in a pool if its weight is below the least weight of a member.
# No candidate is given up on fewer rows than the last number.
_STANDARD_ERRORS = 4.0
LEAST_WEIGHT = 0.02
_FEWEST_ROWS = 20


@dataclass
class Race:
    """Candidates tried on the same folds, with the judgements on those that went through all folds.

    Without a `metric` they are judged by their log-likelihood, which is known row by row, so that
    candidates far behind are not tried on all folds.
    """

    data: TrainingData
    folds: list[Fold]
    metric: Metric | None
    #: A rule that is to be tuned on the held-out rows.
    rule: ThresholdRule | None
    #: Whether the candidates are to be members of a mixture.
    pooled: bool
    n_jobs: int | None
    trials: list[Trial] = field(default_factory=list)
    #: Judgements by the position of the candidate.
    judged: dict[int, CrossFit] = field(default_factory=dict)
    #: The error of the last candidate that failed.
    error: Exception | None = None

    def run(self, name: str, estimator: Any) -> None:
        """Try a candidate on the folds."""
        begin = time.monotonic()
        parts: list[Judgement] = []
        problem = ""
        # If no candidate can be given up, all folds are tried at once.
        at_first = 1 if self._can_give_up() else len(self.folds)
        try:
            parts = self._parts(estimator, self.folds[:at_first])
            if at_first == 1:
                problem = self._reason_to_give_up(parts[0])
            if not problem:
                parts += self._parts(estimator, self.folds[at_first:])
                self.judged[len(self.trials)] = CrossFit(parts, self.folds)
        except Warning:  # one that the user wants as an error
            raise
        except Exception as error:  # anything may fail, such as a base classifier of the user
            parts, problem = [], _described(error)
            self.error = error
            if not isinstance(error, ValueError):
                warnings.warn(f"candidate {name} failed: {problem}", FitFailedWarning, stacklevel=2)
        scores = tuple(part.score for part in parts)
        self.trials.append(Trial(name, scores, time.monotonic() - begin, problem))

    def _parts(self, estimator: Any, folds: list[Fold]) -> list[Judgement]:
        wanted = without_tuning(estimator) if self.metric is None else estimator
        fit = partial(self.data.fitted, wanted)
        score = partial(judge, data=self.data, metric=self.metric, rule=self.rule)
        return cross_fit(fit, folds, score, n_jobs=self.n_jobs).parts

    def _can_give_up(self) -> bool:
        several = self.metric is None and bool(self.judged) and len(self.folds) > 1
        return several and self._first_weight().sum() >= _FEWEST_ROWS

    def _first_weight(self) -> Floats:
        rows, weight = self.folds[0].held_out, self.data.weight
        return np.ones(len(rows)) if weight is None else weight[rows]

    def _reason_to_give_up(self, first: Judgement) -> str:
        """Return why a candidate is not worth further folds; empty if it is."""
        known = np.column_stack([found.parts[0].log_prob for found in self.judged.values()])
        weight = self._first_weight()
        if self.pooled:
            together = np.column_stack([known, first.log_prob])
            is_idle = pool_weights(together, weight)[-1] < LEAST_WEIGHT
            reason = f"weight below {LEAST_WEIGHT}"
        else:
            leader = known[:, np.average(known, axis=0, weights=weight).argmax()]
            is_idle = _is_far_behind(first.log_prob, leader, weight)
            reason = "far behind"
        return f"{reason} after one of {len(self.folds)} folds" if is_idle else ""

    def best(self) -> int | None:
        """Return the position of the best candidate; None if none went through all folds."""
        return max(self.judged, key=lambda k: self.trials[k].score, default=None)

    def rows(self) -> TrainingData:
        """Return the rows that were held out, in the order of all rows."""
        rows = [fold.held_out for fold in self.folds]
        return self.data.taken(np.unique(np.concatenate(rows)))

    def log_probs(self, members: list[int]) -> Floats:
        """Return the log-probability of each held-out row by each of some candidates, (n, K)."""
        return np.column_stack([np.asarray(self._by_row(k, "log_prob")) for k in members])

    def evidence(self, members: list[int], weights: Floats) -> Scores:
        """Return the scores of each held-out row in a mixture of some candidates, (n, L)."""
        parts = [self._by_row(k, "evidence") for k in members]
        if len(parts) == 1:
            return parts[0]
        # Several candidates are mixed by their marginals, which are held as log-odds.
        mixture = MixtureJoint(weights, [IndependentJoint(check_scores(part)) for part in parts])
        return Probabilities(mixture.marginal_log_odds())

    def _by_row(self, candidate: int, part: str) -> Scores:
        """Return a part of the judgements of a candidate in the order of the held-out rows."""
        found = self.judged[candidate].map(attrgetter(part))
        return found.gather(len(self.data.labels))[np.unique(found.rows)]


def _described(error: Exception) -> str:
    """Return the message of an error, with its type unless it is about a value."""
    is_plain = isinstance(error, ValueError) and str(error)
    return str(error) if is_plain else f"{type(error).__name__}: {error}"


def _is_far_behind(log_prob: Floats, leader: Floats, weight: Floats) -> bool:
    """Whether rows are less probable by several standard errors, or one of them is impossible."""
    if np.isneginf(leader).any():
        return False
    if np.isneginf(log_prob).any():
        return True
    return in_standard_errors(log_prob - leader, weight) < -_STANDARD_ERRORS


@dataclass(eq=False, repr=False, kw_only=True)
class BestJoint(MultiLabelClassifier):
    """The best of several models, or a mixture of them, by cross-validation on the training rows.

    Every candidate is fitted to all folds but one and scored on that one; the best is fitted to all
    rows. Candidates that the first fold shows to be far behind are not tried on the others. With
    ``pool=True`` the model is a mixture of the candidates, with the weights under which the
    held-out rows are most probable: all members are fitted to all rows, and the mixture beats the
    best of them if they are right about different rows. `table` shows the comparison.

    Parameters
    ----------
    candidates : sequence of str, estimators or (name, estimator), optional
        Methods as on the command line, such as ``"pcc(C=1)"``, or estimators of P(y|x), or
        pipelines that end in one. Dense features are standardised for all of them. By default
        `labelweave.models.best_joint.PORTFOLIO`: a chain, two forests, on bootstrap samples and
        on all rows, a chain over a forest's predictions, with the features if these are sparse,
        a chain on kernel features, and a mixture of trees, unless its components would have more
        than a million coefficients each.
    scoring : str, default="log_likelihood"
        The mean held-out log-likelihood of a row, or the name of a metric such as "exact_match" or
        "f1_micro"; labels are then predicted for `decision`, and rows count alike whatever their
        weight.
    pool : bool, default=False
        If True, mix the candidates instead of choosing one; `scoring` must be "log_likelihood".
        Candidates with a weight below 0.02 are left out, except the best one. The `inference` of
        candidates is then ignored.
    cv : int, splitter or list of (train, test), default=3
        As in `CalibratedJointCV`.
    time_budget : float, optional
        Seconds after which no further candidate is tried; the first one always is. The choice then
        depends on the speed of the machine. The final fit takes additional time.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`
        `n_jobs` is the number of folds at a time.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted to all rows. It decides label by label if this model has tuned
        `decision` on held-out rows.
    best_name_ : str
    members_ : dict
        The candidates of the mixture by name, fitted to all rows; the best one only, unless they
        are pooled.
    weights_ : (K,) array
        The weights of the members.
    trials_ : list of Trial

    References
    ----------
    Y. Yao, A. Vehtari, D. Simpson, A. Gelman (2018). Using stacking to average Bayesian predictive
    distributions. Bayesian Analysis 13.

    Examples
    --------
    >>> from labelweave import BestJoint, load
    >>> data = load("emotions")
    >>> model = BestJoint(["br(C=0.01)", "auto(C=0.01,label_penalty=0.03)"])
    >>> model.fit(data.X[:300], data.Y[:300]).best_name_
    'auto(C=0.01,label_penalty=0.03)'
    """

    candidates: Sequence[Any] | None = field(default=None, kw_only=False)
    scoring: str = "log_likelihood"
    pool: bool = False
    cv: Any = 3
    time_budget: float | None = None

    def table(self) -> pd.DataFrame:
        """Return the comparison: the best first, candidates that were given up or failed last."""
        import pandas as pd

        check_is_fitted(self, "members_")
        ranked = sorted(self.trials_, key=lambda trial: (bool(trial.problem), -trial.score))
        weight = dict(zip(self.members_, self.weights_, strict=True))
        names = ["candidate", "score", "standard_error", "weight", "seconds", "problem"]
        rows = [
            (t.name, t.score, t.standard_error, weight.get(t.name, 0.0), t.seconds, t.problem)
            for t in ranked
        ]
        return pd.DataFrame(rows, columns=names)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.time_budget is not None:
            check_number(self.time_budget, "time_budget", minimum=0, otherwise="None")
        metric, rule = self._metric(), self._untuned()
        check_flag(self.pool, "pool")
        if self.pool and metric is not None:
            raise ValueError(
                f"pool=True weighs candidates by scoring='log_likelihood'; got {self.scoring!r}"
            )
        if self.pool and rule is not None and "joint" in rule.needs:
            raise ValueError(
                f"decision {self.decision!r} is tuned on the votes of one model: choose one that "
                "is tuned on marginals, such as 'macro_f1', or pool=False"
            )
        check_folds(self.cv)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        candidates = make_candidates(self.candidates, self.decision, X, seed)
        race = Race(
            TrainingData(X, labels, sample_weight, self._encoding.named),
            deal(self.cv, X, labels, sample_weight, seed),
            metric=self._metric(),
            rule=self._untuned() if self._metric() is None else None,
            pooled=self.pool,
            n_jobs=self.n_jobs,
        )
        self._run(race, candidates)
        self.trials_ = race.trials
        best = race.best()
        if best is None:
            reasons = "; ".join(f"{trial.name}: {trial.problem}" for trial in self.trials_)
            raise ValueError(f"none of the candidates can be fitted: {reasons}") from race.error
        chosen, self.weights_ = self._weighed(race, best)
        self._held_out = self._scores(race, chosen)
        self.members_ = {
            candidates[k][0]: self._fitted_member(candidates[k][1], race.data) for k in chosen
        }
        self.best_name_ = candidates[best][0]
        self.best_estimator_ = self.members_[self.best_name_]
        self._tell(f"chose {', '.join(self.members_)}\n{self.table().to_string(index=False)}")

    def _scores(self, race: Race, members: list[int]) -> LabelledScores | None:
        """Return the held-out rows on which the decision is to be tuned, or None."""
        if race.rule is None or not race.folds:
            return None
        rows = race.rows()
        return LabelledScores.of(race.evidence(members, self.weights_), rows.labels, rows.weight)

    def _run(self, race: Race, candidates: list[tuple[str, Any]]) -> None:
        begin = time.monotonic()
        with stage("trying candidates", len(candidates)) as advance:
            for name, estimator in candidates:
                spent = time.monotonic() - begin
                if reason := self._reason_to_skip(name, race, spent):
                    race.trials.append(Trial(name, (), problem=reason))
                else:
                    race.run(name, estimator)
                advance()

    def _reason_to_skip(self, name: str, race: Race, spent: float) -> str:
        size = race.data.X.shape[1] * race.data.labels.shape[1]
        if self.candidates is None and name == "mc" and size > _LARGEST_COMPONENT:
            return f"{size:,} coefficients in each component: name it among candidates to try it"
        has_time = self.time_budget is None or spent < self.time_budget
        return "" if has_time or not race.judged else "no time left"

    def _weighed(self, race: Race, best: int) -> tuple[list[int], Floats]:
        """Return the members of the mixture (the best one alone, unless pooled) and weights."""
        if not self.pool or not race.folds:
            return [best], np.ones(1)
        members, weight = sorted(race.judged), race.rows().weight
        counts = pool_weights(race.log_probs(members), weight) >= LEAST_WEIGHT
        members = [k for k, is_in in zip(members, counts, strict=True) if is_in or k == best]
        return members, pool_weights(race.log_probs(members), weight)

    def _fitted_member(self, estimator: Any, data: TrainingData) -> Any:
        """Return a candidate fitted to all rows that have weight."""
        is_tuned_here = self._metric() is None and self._untuned() is not None
        wanted = without_tuning(estimator) if is_tuned_here else estimator
        return data.fitted(wanted, None if data.weight is None else np.flatnonzero(data.weight))

    def _metric(self) -> Metric | None:
        if self.scoring == "log_likelihood":
            return None
        if not isinstance(self.scoring, str):
            raise ValueError(
                f"scoring must be 'log_likelihood' or the name of a metric; got {self.scoring!r}"
            )
        return next(iter(resolve_metrics([self.scoring]).values()))

    def _tune(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        super()._tune(X, labels, sample_weight)
        del self._held_out

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        del X, labels, sample_weight
        if self._metric() is not None:  # candidates were judged by their own tuned decisions
            tuned: ThresholdRule = last(self.best_estimator_).rule_
            return tuned
        held_out = self._held_out
        return FixedThreshold() if held_out is None else rule.informed(self._rates, held_out)

    def _fold_model(self) -> Any:
        chosen_alone = len(self.members_) == 1
        return copy_for_fold(self.best_estimator_) if chosen_alone else super()._fold_model()

    @property
    def prediction_parameters(self) -> tuple[str, ...]:
        """The decision, unless it is tuned or candidates are judged by their own decisions."""
        is_free = self.scoring == "log_likelihood" and self._untuned() is None
        return ("decision",) if is_free else ()

    def _inference(self) -> Inference:
        if len(getattr(self, "members_", ())) != 1:
            return super()._inference()
        strategy: Inference = last(self.best_estimator_)._inference()
        return strategy

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        joints: list[Any] = [predict_joint(member, X) for member in self.members_.values()]
        if len(joints) > 1:
            return MixtureJoint(self.weights_, joints, **rows)
        return joints[0].with_row_ids(rows["row_ids"])  # type: ignore[no-any-return]

    def _delegate(
        self, X: Any, names: Sequence[str] | None
    ) -> tuple[Any, Any, Sequence[str] | None] | None:
        is_single = len(getattr(self, "members_", ())) == 1
        return (self.best_estimator_, X, names) if is_single else None

    def _unexplained_because(self) -> str | None:
        if len(self.members_) == 1:
            return None
        return (
            "the model is a pool, a mixture of several models, whose log-odds are not a sum: fit "
            f"one of its members alone, {', '.join(self.members_)}"
        )
