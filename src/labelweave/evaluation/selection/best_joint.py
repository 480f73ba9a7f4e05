"""Choose a model, or the weights of several, by what they make of held-out rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_flag, check_number, check_whole_number
from labelweave._common.pipelines import last_step
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds, row_keys
from labelweave.decision import FixedThreshold
from labelweave.decision.losses import Decision
from labelweave.decision.rules import ThresholdRule
from labelweave.decision.tuned import LabelledScores
from labelweave.evaluation.predictions import predict_joint
from labelweave.evaluation.selection.candidates import make_candidates, unaffordable
from labelweave.evaluation.selection.pooling import pool_weights
from labelweave.evaluation.selection.race import LEAST_WEIGHT, Race
from labelweave.evaluation.selection.trials import TrainingData, fitted, without_tuning
from labelweave.inference import Inference
from labelweave.joint import JointDistribution, MixtureJoint
from labelweave.metrics import Metric, resolve_metrics
from labelweave.models import MultiLabelClassifier

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BestJoint"]


class BestJoint(MultiLabelClassifier):
    """The best of several models, or a mixture of them, by cross-validation on the training rows.

    Every candidate is fitted to all folds but one and scored on that one; the best is fitted to all
    rows. Candidates that the first fold shows to be far behind are not tried on the others. With
    ``pool=True`` the model is a mixture of the candidates, with the weights under which the
    held-out rows are most probable: it takes all of their fits, and is better than the best of them
    where each is right about other rows. `table` shows what was compared.

    Parameters
    ----------
    candidates : sequence of str, estimators or (name, estimator), optional
        Methods as on the command line, such as ``"pcc(C=1)"``, or estimators of P(y|x), or
        pipelines that end in one. Dense features are standardised for all of them. By default
        `labelweave.evaluation.PORTFOLIO`: a chain, two forests, on bootstrap samples and on all
        rows, a chain over a forest's predictions, with the features if these are sparse, a chain on
        kernel features, and a mixture of trees, unless its components would have more than a
        million coefficients each.
    scoring : str, default="log_likelihood"
        The mean held-out log-likelihood of a row, or the name of a metric such as "exact_match" or
        "f1_micro"; labels are then predicted for `decision`, and rows count alike whatever their
        weight.
    pool : bool, default=False
        If True, mix the candidates instead of choosing one; `scoring` must be "log_likelihood".
        Candidates of less weight than 0.02 are left out, those with so little beside the ones tried
        before them after the first fold, but the best is always a member. The `inference` of
        candidates does not matter then.
    n_folds : int, default=3
    time_budget : float, optional
        Seconds after which no further candidate is tried; the first one always is. What is chosen
        then depends on how fast the machine is. The last fit comes on top.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of folds at a time, beside the first; -1 uses all cores.
    random_state : int, RandomState or None, default=None
        Seeds the folds and every unset `random_state` of the candidates. None means 0.
    verbose : int, default=0
        If positive, show progress and print the table.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted to all rows. If `decision` is tuned on held-out rows, this one
        decides label by label: the rule is the model's own.
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
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.evaluation import BestJoint
    >>> data = load_emotions()
    >>> model = BestJoint(candidates=["br(C=0.01)", "auto(C=0.01,label_penalty=0.03)"])
    >>> model = model.fit(data.X[:300], data.Y[:300])
    >>> model.best_name_
    'auto(C=0.01,label_penalty=0.03)'
    >>> list(model.table().columns)
    ['candidate', 'score', 'standard_error', 'weight', 'seconds', 'problem']
    """

    def __init__(
        self,
        *,
        candidates: Sequence[Any] | None = None,
        scoring: str = "log_likelihood",
        pool: bool = False,
        n_folds: int = 3,
        time_budget: float | None = None,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.pool = pool
        self.n_folds = n_folds
        self.time_budget = time_budget
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def table(self) -> pd.DataFrame:
        """Return what was compared: the best first, what was given up or failed last."""
        import pandas as pd

        check_is_fitted(self, "members_")
        ranked = sorted(self.trials_, key=lambda trial: (bool(trial.problem), -trial.score))
        weight = dict(zip(self.members_, self.weights_, strict=True))
        return pd.DataFrame(
            {
                "candidate": [trial.name for trial in ranked],
                "score": [trial.score for trial in ranked],
                "standard_error": [trial.standard_error for trial in ranked],
                "weight": [weight.get(trial.name, 0.0) for trial in ranked],
                "seconds": [trial.seconds for trial in ranked],
                "problem": [trial.problem for trial in ranked],
            }
        )

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
        check_whole_number(self.n_folds, "n_folds", 2)

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        total = np.ones(len(labels)) if sample_weight is None else sample_weight
        fold, n_folds = assign_folds(X, total, int(self.n_folds), seed)
        # If all rows are equal, none can be held out: the first candidate is as good as any.
        held_out = [fold == k for k in range(n_folds)] if n_folds > 1 else []
        candidates = make_candidates(self.candidates, self.decision, X, seed)
        race = Race(
            TrainingData(X, labels, sample_weight),
            held_out,
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
        self._evidence = race.evidence(chosen, self.weights_) if race.rule and held_out else None
        data = TrainingData(X, self._encoding.named(labels), sample_weight)
        self.members_ = {
            candidates[k][0]: fitted(self._member(candidates[k][1]), data) for k in chosen
        }
        self.best_name_ = candidates[best][0]
        self.best_estimator_ = self.members_[self.best_name_]
        self._tell(f"chose {', '.join(self.members_)}\n{self.table().to_string(index=False)}")

    def _run(self, race: Race, candidates: list[tuple[str, Any]]) -> None:
        begin = time.monotonic()
        with stage("trying candidates", len(candidates)) as advance:
            for name, estimator in candidates:
                spent = time.monotonic() - begin
                if reason := self._reason_to_skip(name, race, spent):
                    race.skip(name, reason)
                else:
                    race.run(name, estimator)
                advance()

    def _reason_to_skip(self, name: str, race: Race, spent: float) -> str:
        """Return why a candidate is not tried; empty if it is."""
        X, labels, _ = race.data
        if self.candidates is None and (reason := unaffordable(name, X.shape[1], labels.shape[1])):
            return reason
        has_time = self.time_budget is None or spent < self.time_budget
        return "" if has_time or not race.folds else "no time left"

    def _weighed(self, race: Race, best: int) -> tuple[list[int], Floats]:
        """Return the members of the mixture and their weights: of the pool, or the best alone."""
        if not self.pool or not race.held_out:
            return [best], np.ones(1)
        members, weight = sorted(race.folds), race.data.weight
        counts = pool_weights(race.log_probs(members), weight) >= LEAST_WEIGHT
        members = [k for k, is_in in zip(members, counts, strict=True) if is_in or k == best]
        return members, pool_weights(race.log_probs(members), weight)

    def _member(self, estimator: Any) -> Any:
        """Return a candidate as it is fitted to all rows."""
        is_tuned_here = self._metric() is None and self._untuned() is not None
        return without_tuning(estimator) if is_tuned_here else estimator

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
        del self._evidence

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        del X
        if self._metric() is not None:  # candidates were judged by their own tuned decisions
            tuned: ThresholdRule = last_step(self.best_estimator_).rule_
            return tuned
        if self._evidence is None:
            return FixedThreshold()
        held_out = LabelledScores.of(self._evidence, labels, sample_weight)
        return rule.informed(self._rates, held_out)

    @property
    def prediction_parameters(self) -> tuple[str, ...]:
        """The decision, unless candidates are judged by what they decide, or it is tuned."""
        is_free = self.scoring == "log_likelihood" and self._untuned() is None
        return ("decision",) if is_free else ()

    def _inference(self) -> Inference:
        if len(getattr(self, "members_", ())) != 1:
            return super()._inference()
        strategy: Inference = last_step(self.best_estimator_)._inference()
        return strategy

    def _joint(self, X: Any) -> JointDistribution:
        joints: list[Any] = [predict_joint(member, X) for member in self.members_.values()]
        if len(joints) > 1:
            return MixtureJoint(
                self.weights_,
                joints,
                label_names=self._names(),
                row_ids=row_keys(X),
                n_threads=self._n_threads(),
            )
        return joints[0].with_row_ids(row_keys(X))  # type: ignore[no-any-return]

    def _delegate(self, X: Any, names: Sequence[str]) -> tuple[Any, Any, Sequence[str]] | None:
        return (self.best_estimator_, X, names) if len(self.members_) == 1 else None

    def _unexplained_because(self) -> str | None:
        if len(self.members_) == 1:
            return None
        return (
            "the model is a pool, a mixture of several models, whose log-odds are not a sum: fit "
            f"one of its members alone, {', '.join(self.members_)}"
        )
