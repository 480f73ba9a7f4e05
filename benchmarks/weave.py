"""Classifiers alone and under a joint model: what `JointClassifierCV` adds, and what it costs.

Run as ``python -m benchmarks.weave [DATA ...] [--bases forest,MLP]``. Alone, a classifier's labels
are independent, with the probabilities it predicts; woven, its held-out log-odds are the features
of a chain. Every data set is one comparison, kept under ``build/weave``, so that a run that was
stopped goes on where it was; the tables go to README.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from benchmarks.measure import machine
from benchmarks.table import README, markdown, replace_between
from labelweave._common.arrays import Floats, Labels
from labelweave._common.row_keys import row_keys
from labelweave.baselines import MLkNN
from labelweave.datasets import load
from labelweave.evaluation import Comparison, compare, judge, paired_t_test
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.models import JointClassifierCV, MultiLabelClassifier
from labelweave.models.stacking.base_learner import (
    BaseLearner,
    apparent_votes,
    handles_all_labels,
    smoothed_log_odds,
)

MARK = "<!-- written by python -m benchmarks.weave {}: {} -->"
DATA = ("emotions", "scene", "yeast", "image")
BASES = {
    "forest": ExtraTreesClassifier(n_estimators=300, bootstrap=True),
    "boosting": HistGradientBoostingClassifier(max_iter=30),
    "ML-kNN": MLkNN(),
    "naive Bayes": GaussianNB(),
    "MLP": MLPClassifier(early_stopping=True),
}
METRICS = {"exact_match": "exact match", "cll_loss_row": "CLL-loss"}
KEPT = Path("build/weave")


class Alone(MultiLabelClassifier):
    """Independent labels with the probabilities of a classifier, fitted to all rows.

    Parameters
    ----------
    estimator : scikit-learn classifier
    """

    n_jobs, verbose = None, 0

    def __init__(
        self, *, estimator: Any, random_state: Any = None, decision: str = "subset"
    ) -> None:
        self.estimator = estimator
        self.random_state = random_state
        self.decision = decision

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        all_labels = np.arange(self.n_labels_)
        at_once = handles_all_labels(self.estimator)
        self.bases_ = [
            BaseLearner(self.estimator, columns, self._seed(), False).fit(X, labels, None)
            for columns in ([all_labels] if at_once else all_labels[:, None])
        ]
        self._votes = apparent_votes(self._probabilities(X), float(len(labels)))

    def _joint(self, X: Any) -> JointDistribution:
        scores = smoothed_log_odds(self._probabilities(X), self._votes)
        return IndependentJoint(scores, row_ids=row_keys(X))

    def _probabilities(self, X: Any) -> Floats:
        return np.hstack([base.probabilities(X) for base in self.bases_])


def run(name: str, bases: list[str]) -> Comparison:
    """Compare classifiers, alone and woven, on one data set."""
    data = load(name)
    methods: dict[str, Any] = {}
    for base in bases:
        methods[base] = Alone(estimator=BASES[base], random_state=0)
        methods[f"{base}, woven"] = JointClassifierCV(estimator=BASES[base], random_state=0)
    KEPT.mkdir(parents=True, exist_ok=True)
    return compare(
        methods,
        data.X,
        data.Y,
        folds=KFold(10, shuffle=True, random_state=0),
        metrics=METRICS,
        results=KEPT / f"{name}.jsonl",
        progress=lambda result: print(result.method, result.fold, flush=True),
        name=name,
    )


def table(comparison: Comparison, bases: list[str]) -> str:
    """Return the means of a data set, bold where the paired t-test sees an improvement."""
    titles = (*METRICS.values(), "seconds to fit")
    head = [part for title in titles for part in (f"{title}: alone", "woven")]
    return markdown([[comparison.data.name, *head], *(_row(comparison, base) for base in bases)])


def _row(comparison: Comparison, base: str) -> list[str]:
    both, row = (base, f"{base}, woven"), [base]
    for metric in METRICS:
        alone, woven = (comparison.scores(method, metric) for method in both)
        verdict = judge(paired_t_test(woven, alone), higher_is_better=metric == "exact_match")
        mark = "**" if verdict == "better" else ""
        row += [f"{alone.mean():.3f}", f"{mark}{woven.mean():.3f}{mark}"]
    return row + [f"{np.median(comparison.seconds(method, 'fit')):.2g}" for method in both]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA, help="data sets")
    parser.add_argument("--bases", default=",".join(BASES), help="classifiers, by commas")
    options = parser.parse_args()
    bases = options.bases.split(",")
    for name in options.data:
        parts = (f"Measured on {machine()}; ten folds.", table(run(name, bases), bases))
        replace_between(README, MARK.format(name, "begin"), MARK.format(name, "end"), parts)


if __name__ == "__main__":
    main()
