"""Every measure by the decision that is right for it."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from labelweave import BestJoint, ClassifierChain, compare
from labelweave.data import make_synthetic
from labelweave.evaluation.comparison import variants_of
from labelweave.inference import Exhaustive, Greedy
from labelweave.metrics import METRICS, resolve_metrics
from labelweave.models.methods import with_decisions

DATA = make_synthetic("chain", 90, 4, 4, random_state=0)
CHAIN = ClassifierChain(C=1.0, label_penalty=0.1)
METHODS = {"chain": CHAIN, "neighbours": KNeighborsClassifier()}
NAMES = ["exact_match", "hamming_loss", "f1_micro", "f1_macro", "f1_example", "jaccard"]


def judged(methods, metrics, **options):
    return compare(methods, DATA.X, DATA.Y, cv=3, metrics=metrics, **options)


@pytest.fixture(scope="module")
def matched():
    return judged(METHODS, [*NAMES, "recall_macro", "cll_loss"], decisions="matching")


@pytest.mark.parametrize("metric", NAMES)
def test_scores_are_those_of_the_matching_decision(matched, metric):
    decision = METRICS[metric].decision
    alone = judged(with_decisions({"chain": CHAIN}, {str(decision): decision}), [metric])
    np.testing.assert_array_equal(
        matched.scores("chain", metric), alone.scores(f"chain: {decision}", metric)
    )


def test_other_measures_and_methods_are_judged_as_ever(matched):
    plain = judged(METHODS, [*NAMES, "recall_macro", "cll_loss"])
    assert matched.method_names == plain.method_names
    assert matched.methods == plain.methods
    for metric in NAMES:
        np.testing.assert_array_equal(
            matched.scores("neighbours", metric), plain.scores("neighbours", metric)
        )
    for metric in ("recall_macro", "cll_loss"):
        np.testing.assert_array_equal(
            matched.scores("chain", metric), plain.scores("chain", metric)
        )


@pytest.mark.parametrize(
    "given",
    [
        ClassifierChain(C=1.0, decision="f1"),
        ClassifierChain(C=1.0, decision="micro_f1"),
        ClassifierChain(C=1.0, inference=Greedy()),
        BestJoint(candidates=["br(C=1)"], scoring="exact_match"),
    ],
)
def test_methods_that_were_given_a_decision_keep_it(given):
    metrics = tuple(resolve_metrics(NAMES).values())
    assert variants_of(given, metrics) == [(given, metrics)]
    for free in (CHAIN, ClassifierChain(C=1.0, inference=Exhaustive())):
        assert len(variants_of(free, metrics)) == len(NAMES)  # exact match by its own


def test_finished_folds_are_kept_and_progress_is_by_method_and_fold(tmp_path):
    file, seen = tmp_path / "kept.jsonl", []
    options = {"decisions": "matching", "results": file, "progress": seen.append}
    first = judged({"chain": CHAIN}, NAMES, **options)
    assert [(run.method, run.fold) for run in seen] == [("chain", fold) for fold in range(3)]
    again = judged({"chain": CHAIN}, NAMES, **options)
    assert again.results == first.results
    with pytest.raises(ValueError, match="decisions must be 'own' or 'matching'"):
        judged({"chain": CHAIN}, NAMES, decisions="best")


def test_a_failure_with_one_decision_is_a_failure():
    class NoHamming(ClassifierChain):
        def predict(self, X):
            if self.decision == "hamming":
                raise ValueError("not today")
            return super().predict(X)

    with pytest.warns(match="not today"):
        found = judged(
            {"chain": NoHamming(C=1.0)}, ["hamming_loss", "jaccard"], decisions="matching"
        )
    assert {run.error for run in found.results} == {"ValueError: not today"}
    assert np.isnan(found.scores("chain", "hamming_loss")).all()
    assert not np.isnan(found.scores("chain", "jaccard")).any()
