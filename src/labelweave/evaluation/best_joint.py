"""Choose a model by what it makes of held-out rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.checks import check_number
from labelweave._common.pipelines import last_step
from labelweave._common.progress import stage
from labelweave._common.row_keys import assign_folds, row_keys
from labelweave.decision import Decision, ThresholdRule
from labelweave.evaluation.comparison.fold_runs import score_model
from labelweave.evaluation.methods.preprocessing import with_preprocessing
from labelweave.evaluation.methods.registry import make_method
from labelweave.evaluation.metrics.registry import Metric, resolve_metrics
from labelweave.evaluation.predictions import predict_joint
from labelweave.inference import Inference
from labelweave.joint import JointDistribution
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import seeded_clone

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PORTFOLIO", "BestJoint", "Trial"]

#: The methods that `BestJoint` tries by default, in this order: linear, then forests, then kernels.
#: With the features besides, a chain over a forest's predictions is better on text: CLL-loss of
#: 2,000 rows of imdb and of delicious' ten most frequent labels 5.33 and 4.79, without them 5.35
#: and 4.97, of a linear chain 5.34 and 4.83 (of tmc2007-500 3.40, 3.49 and 3.53).
PORTFOLIO = (
    "auto",
    "mc",
    "forest",
    "weave",
    "weave(passthrough=True)",
    "auto(features=KernelFeatures())",
)


@dataclass(frozen=True)
class Trial:
    """What became of a candidate.

    Attributes
    ----------
    name : str
    scores : tuple of float
        The score of each fold, the higher the better; empty if the candidate was not tried.
    seconds : float
    problem : str
        Why there are no scores; empty if there are.

    Examples
    --------
    >>> Trial("pcc", (-2.0, -2.5)).score
    -2.25
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


class BestJoint(MultiLabelClassifier):
    """The best of several models, by cross-validation on the training rows.

    Every candidate is fitted to all folds but one and scored on that one; the best is fitted to all
    rows. `table` shows what was compared.

    Parameters
    ----------
    candidates : sequence of str, estimators or (name, estimator), optional
        Methods as on the command line, such as ``"pcc(C=1)"``, or estimators of P(y|x), or
        pipelines that end in one. Dense features are standardised for all of them. By default
        `labelweave.evaluation.PORTFOLIO`: a chain, a mixture of trees, a forest, a chain over a
        forest's predictions, without and with the features, and a chain on kernel features.
    scoring : str, default="log_likelihood"
        The mean held-out log-likelihood of a row, or the name of a metric such as "exact_match" or
        "f1_micro"; labels are then predicted for `decision`, and rows count alike whatever their
        weight.
    n_folds : int, default=3
    time_budget : float, optional
        Seconds after which no further candidate is tried; the first one always is. What is chosen
        then depends on how fast the machine is. The last fit comes on top.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of folds at a time; -1 uses all cores.
    random_state : int, RandomState or None, default=None
        Seeds the folds and every unset `random_state` of the candidates. None means 0.
    verbose : int, default=0
        If positive, show progress and print the table.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted to all rows.
    best_name_ : str
    trials_ : list of Trial

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
    ['candidate', 'score', 'standard_error', 'seconds', 'problem']
    """

    def __init__(
        self,
        *,
        candidates: Sequence[Any] | None = None,
        scoring: str = "log_likelihood",
        n_folds: int = 3,
        time_budget: float | None = None,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.candidates = candidates
        self.scoring = scoring
        self.n_folds = n_folds
        self.time_budget = time_budget
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def table(self) -> pd.DataFrame:
        """Return what was compared, the best first."""
        import pandas as pd

        ranked = sorted(self.trials_, key=lambda trial: -trial.score)
        errors = [_standard_error(trial.scores) for trial in ranked]
        return pd.DataFrame(
            {
                "candidate": [trial.name for trial in ranked],
                "score": [trial.score for trial in ranked],
                "standard_error": errors,
                "seconds": [trial.seconds for trial in ranked],
                "problem": [trial.problem for trial in ranked],
            }
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.time_budget is not None:
            check_number(self.time_budget, "time_budget", minimum=0, otherwise="None")
        self._metric()
        self._count("n_folds")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        seed = self._seed()
        total = np.ones(len(labels)) if sample_weight is None else sample_weight
        fold, n_folds = assign_folds(X, total, max(2, self._count("n_folds")), seed)
        candidates = self._candidates(X, seed)
        # If all rows are equal, none can be held out: the first candidate is as good as any.
        held_out = [fold == k for k in range(n_folds)] if n_folds > 1 else []
        self.trials_ = self._try_all(candidates, held_out, X, labels, sample_weight)
        best = max(range(len(candidates)), key=lambda k: self.trials_[k].score)
        if held_out and not self.trials_[best].scores:
            reasons = "; ".join(f"{trial.name}: {trial.problem}" for trial in self.trials_)
            raise ValueError(f"none of the candidates can be fitted: {reasons}")
        self.best_name_, estimator = candidates[best]
        self.best_estimator_ = _fitted(estimator, X, self._encoding.named(labels), sample_weight)
        self._tell(f"chose {self.best_name_}\n{self.table().to_string(index=False)}")

    def _try_all(
        self,
        candidates: list[tuple[str, Any]],
        held_out: list[Mask],
        X: Any,
        labels: Labels,
        weight: Floats | None,
    ) -> list[Trial]:
        begin = time.monotonic()
        trials: list[Trial] = []
        with stage("trying candidates", len(candidates)) as advance:
            for name, estimator in candidates:
                spent = time.monotonic() - begin
                if trials and self.time_budget is not None and spent >= self.time_budget:
                    trials.append(Trial(name, (), problem="no time left"))
                else:
                    trials.append(self._try(name, estimator, held_out, X, labels, weight))
                advance()
        return trials

    def _try(
        self,
        name: str,
        estimator: Any,
        held_out: list[Mask],
        X: Any,
        labels: Labels,
        weight: Floats | None,
    ) -> Trial:
        begin = time.monotonic()
        try:
            scores = Parallel(n_jobs=self.n_jobs)(
                delayed(_held_out_score)(estimator, self._metric(), outside, X, labels, weight)
                for outside in held_out
            )
        except ValueError as error:  # a method that has too many labels, say
            return Trial(name, (), time.monotonic() - begin, str(error))
        return Trial(name, tuple(scores), time.monotonic() - begin)

    def _metric(self) -> Metric | None:
        if self.scoring == "log_likelihood":
            return None
        if not isinstance(self.scoring, str):
            raise ValueError(
                f"scoring must be 'log_likelihood' or the name of a metric; got {self.scoring!r}"
            )
        return resolve_metrics([self.scoring])[0]

    def _candidates(self, X: Any, seed: int) -> list[tuple[str, Any]]:
        given = PORTFOLIO if self.candidates is None else self.candidates
        if isinstance(given, str) or not len(given):
            raise ValueError(
                f"candidates must be a list of methods or estimators, not empty; got {given!r}"
            )
        named = [_named(candidate) for candidate in given]
        for name, estimator in named:
            if not isinstance(last_step(estimator), MultiLabelClassifier):
                raise ValueError(
                    f"candidates must be estimators of P(y|x), such as ClassifierChain(); {name} "
                    "is none. JointClassifierCV makes one of any classifier"
                )
            last_step(estimator).set_params(decision=self.decision)
        return [(name, with_preprocessing(seeded_clone(each, seed), X)) for name, each in named]

    def _tuned(
        self, rule: ThresholdRule, X: Any, labels: Labels, sample_weight: Floats | None
    ) -> ThresholdRule:
        del rule, X, labels, sample_weight
        tuned: ThresholdRule = last_step(self.best_estimator_).rule_  # has tuned the decision too
        return tuned

    @property
    def prediction_parameters(self) -> tuple[str, ...]:
        """The decision, unless candidates are judged by what they decide, or it is tuned."""
        is_free = self.scoring == "log_likelihood" and self._untuned() is None
        return ("decision",) if is_free else ()

    def _inference(self) -> Inference:
        if not hasattr(self, "best_estimator_"):
            return super()._inference()
        strategy: Inference = last_step(self.best_estimator_)._inference()
        return strategy

    def _joint(self, X: Any) -> JointDistribution:
        joint: Any = predict_joint(self.best_estimator_, X)
        return joint.with_row_ids(row_keys(X))  # type: ignore[no-any-return]

    def _delegate(self, X: Any, names: Sequence[str]) -> tuple[Any, Any, Sequence[str]]:
        return self.best_estimator_, X, names


def _named(candidate: Any) -> tuple[str, Any]:
    """Return the name of a candidate and an estimator of our own."""
    if isinstance(candidate, str):
        return candidate, make_method(candidate)
    name, estimator = candidate if isinstance(candidate, tuple) else (str(candidate), candidate)
    return name, clone(estimator)


def _fitted(estimator: Any, X: Any, labels: Any, weight: Floats | None) -> Any:
    """Return a fitted clone; weights go to the steps of a pipeline that take them."""
    model = clone(estimator)
    if weight is None:
        return model.fit(X, labels)
    steps = getattr(model, "steps", [("", model)])
    weights = {
        f"{name}__sample_weight" if name else "sample_weight": weight
        for name, step in steps
        if has_fit_parameter(step, "sample_weight")
    }
    return model.fit(X, labels, **weights)


def _held_out_score(
    estimator: Any, metric: Metric | None, outside: Mask, X: Any, labels: Labels, weight: Any
) -> float:
    inside = ~outside
    if metric is None:  # no labels are predicted, so no decision has to be tuned
        estimator = clone(estimator)
        last_step(estimator).set_params(decision="hamming")
    model = _fitted(
        estimator, X[inside], labels[inside], None if weight is None else weight[inside]
    )
    truth, rows = labels[outside], X[outside]
    if metric is not None:
        value = score_model(model, rows, truth, [metric])[0][metric.name]
        return value if metric.higher_is_better else -value
    joint: Any = predict_joint(model, rows)
    return float(
        np.average(joint.log_prob(truth), weights=None if weight is None else weight[outside])
    )


def _standard_error(scores: tuple[float, ...]) -> float:
    return float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else np.nan
