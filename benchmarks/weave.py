"""Classifiers alone and under a joint model: what `JointClassifierCV` adds, and what it costs.

Run as ``python -m benchmarks.weave [DATA ...] [--bases "forest;MLP"] [--folds 10]``. Alone, a
classifier's labels are independent, with the probabilities it predicts; woven, its held-out
log-odds are the features of a chain. Every fold is kept in ``results/weave.jsonl``: a run measures
the missing ones and writes the pages anew. Boosting on sparse features takes LightGBM
(``pip install lightgbm``).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from benchmarks.data import available
from benchmarks.folds import N_FOLDS, Fold, fold_of
from benchmarks.tables import RESULTS, Rows, rounded, write_pages
from labelweave import JointClassifierCV, MLkNN, MultiLabelClassifier, load
from labelweave._common.arrays import Floats, Labels
from labelweave._common.keyed_lines import KeyedLines
from labelweave.evaluation import paired_t_test
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.joint.distribution import RowOptions
from labelweave.metrics import METRICS
from labelweave.models.forest import ProjectedExtraTrees
from labelweave.models.stacking import (
    BaseLearner,
    apparent_votes,
    handles_all_labels,
    smoothed_log_odds,
)
from labelweave.versions import code_version

DATA = ("emotions", "scene", "yeast", "image", "slashdot", "enron")
BASES = ("forest", "boosting", "ML-kNN", "naive Bayes", "MLP")
MEASURES = {"exact_match": "exact match", "cll_loss": "CLL-loss"}
KEPT = RESULTS / "weave.jsonl"
Record = dict[str, Any]


def make_base(name: str, *, is_sparse: bool) -> Any:
    """Return a classifier that suits dense features, or sparse ones."""
    if name == "ML-kNN":
        return MLkNN()
    if name == "MLP":
        return MLPClassifier(early_stopping=True)
    if name == "naive Bayes":
        return BernoulliNB() if is_sparse else GaussianNB()
    if name == "forest":
        dense = ExtraTreesClassifier(n_estimators=300, bootstrap=True)
        return ProjectedExtraTrees() if is_sparse else dense
    if not is_sparse:
        return HistGradientBoostingClassifier(max_iter=30)
    from lightgbm import LGBMClassifier  # HistGradientBoosting does not take sparse features

    return LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1)


class Alone(MultiLabelClassifier):
    """Independent labels with the probabilities of a classifier, fitted to all rows.

    Parameters
    ----------
    estimator : scikit-learn classifier
    votes : int, optional
        What the probabilities are shares of: 300 for as many fully grown trees. By default as many
        as they look like on the training rows, but trees without bootstrap know those by heart.
    """

    n_jobs, verbose = None, 0

    def __init__(
        self,
        *,
        estimator: Any,
        votes: int | None = None,
        random_state: Any = None,
        decision: str = "subset",
    ) -> None:
        self.estimator = estimator
        self.votes = votes
        self.random_state = random_state
        self.decision = decision

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        all_labels = np.arange(self.n_labels_)
        at_once = handles_all_labels(self.estimator)
        self.bases_ = [
            BaseLearner(self.estimator, columns, self._seed(), False).fit(X, labels, None)
            for columns in ([all_labels] if at_once else all_labels[:, None])
        ]
        if self.votes is None:
            self.votes_ = apparent_votes(self._probabilities(X), float(len(labels)))
        else:
            self.votes_ = np.full(self.n_labels_, float(self.votes))

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        scores = smoothed_log_odds(self._probabilities(X), self.votes_)
        return IndependentJoint(scores, row_ids=rows["row_ids"])

    def _probabilities(self, X: Any) -> Floats:
        return np.hstack([base.probabilities(X) for base in self.bases_])


def measured(model: Any, fold: Fold) -> Record:
    """Return the scores of a model on a fold, and the CPU seconds that its fit took."""
    with threadpool_limits(limits=1):
        begin = time.process_time()
        model.fit(fold.X, fold.Y)
        seconds = time.process_time() - begin
        joint = model.predict_joint(fold.X_test)
        scores = {
            "exact_match": METRICS["exact_match"](fold.Y_test, model.predict(fold.X_test)),
            "cll_loss": METRICS["cll_loss"](fold.Y_test, joint),
        }
    return {"scores": scores, "seconds": round(seconds, 3), "code": code_version()}


def run(name: str, bases: Sequence[str], n_folds: int) -> None:
    """Measure what has not been measured yet."""
    data = load(name)
    store: KeyedLines[Record] = KeyedLines(KEPT, dict, dict)
    with store.writing() as append:
        found = store.read()
        for number, base in product(range(n_folds), bases):
            for way, make in (("alone", Alone), ("woven", JointClassifierCV)):
                if key(name, base, way, number) in found:
                    continue
                print(name, base, way, number, flush=True)
                classifier = make_base(base, is_sparse=data.is_sparse)
                model = make(estimator=classifier, random_state=0)
                append(key(name, base, way, number), measured(model, fold_of(data, number)))


@cache
def kept_records() -> dict[str, Record]:
    """Return everything that has been measured."""
    return KeyedLines[Record](KEPT, dict, dict).read()


def key(data: str, base: str, way: str, fold: int) -> str:
    """Return the key of a result."""
    return f"{data} / {base} / {way} / {fold}"


def pairs_of(data: str, base: str) -> list[list[Record]]:
    """Return the records alone and woven of all folds that have both."""
    records = kept_records()
    both = [
        [records.get(key(data, base, way, number)) for way in ("alone", "woven")]
        for number in range(N_FOLDS)
    ]
    return [[alone, woven] for alone, woven in both if alone is not None and woven is not None]


def table(data: str) -> Rows:
    """Return the means of a data set, bold where the paired t-test sees an improvement."""
    head = [part for title in MEASURES.values() for part in (f"{title}: alone", "woven")]
    rows = [[data, *head, "CPU seconds to fit: alone", "woven", "folds"]]
    for base in BASES:
        pairs = pairs_of(data, base)
        if len(pairs) > 2:
            rows.append([base, *_cells(pairs), str(len(pairs))])
    return rows


def _cells(pairs: list[Any]) -> list[str]:
    cells = []
    for metric in MEASURES:
        alone, woven = np.array([[part["scores"][metric] for part in pair] for pair in pairs]).T
        verdict = paired_t_test(woven, alone).standing(higher_is_better=metric == "exact_match")
        mark = "**" if verdict == "better" else ""
        cells += [f"{alone.mean():.3f}", f"{mark}{woven.mean():.3f}{mark}"]
    seconds = np.median([[part["seconds"] for part in pair] for pair in pairs], axis=0)
    return cells + [rounded(value, 2) for value in seconds]


def main() -> None:
    """Measure what is missing, and write the pages anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=DATA, help="data sets")
    parser.add_argument("--bases", help="classifiers, by semicolons; all unless given")
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="how many of the ten")
    options = parser.parse_args()
    bases = options.bases.split(";") if options.bases else BASES
    if unknown := set(bases) - set(BASES):
        parser.error(f"--bases: {', '.join(sorted(unknown))}; choose among {'; '.join(BASES)}")
    for name in available(options.data):
        run(name, bases, options.folds)
    write_pages()


if __name__ == "__main__":
    main()
