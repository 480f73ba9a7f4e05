"""Every measure by the decision that is right for it."""

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from labelweave.datasets import make_chain
from labelweave.evaluation import METRICS, compare, compare_matching, with_decisions
from labelweave.models import ClassifierChain

DATA = make_chain(90, 4, 4, random_state=0)
CHAIN = ClassifierChain(C=1.0, label_penalty=0.1)
METHODS = {"chain": CHAIN, "neighbours": KNeighborsClassifier()}
NAMES = ["exact_match", "hamming_loss", "f1_micro", "f1_macro", "f1_example", "jaccard"]


def judged(function, methods, metrics):
    return function(methods, DATA.X, DATA.Y, folds=3, metrics=metrics)


@pytest.fixture(scope="module")
def matched():
    return judged(compare_matching, METHODS, [*NAMES, "recall_macro", "cll_loss_row"])


@pytest.mark.parametrize("metric", NAMES)
def test_scores_are_those_of_the_matching_decision(matched, metric):
    decision = METRICS[metric].decision
    alone = judged(compare, with_decisions({"chain": CHAIN}, [decision]), [metric])
    np.testing.assert_array_equal(
        matched.scores("chain", metric), alone.scores(f"chain: {decision}", metric)
    )


def test_other_measures_and_methods_are_judged_as_ever(matched):
    plain = judged(compare, METHODS, [*NAMES, "recall_macro", "cll_loss_row"])
    assert matched.method_names == plain.method_names
    assert matched.methods == plain.methods
    for metric in NAMES:
        np.testing.assert_array_equal(
            matched.scores("neighbours", metric), plain.scores("neighbours", metric)
        )
    for metric in ("recall_macro", "cll_loss_row"):
        np.testing.assert_array_equal(
            matched.scores("chain", metric), plain.scores("chain", metric)
        )


def test_a_failure_with_one_decision_is_a_failure():
    class NoHamming(ClassifierChain):
        def predict(self, X):
            if self.decision == "hamming":
                raise ValueError("not today")
            return super().predict(X)

    with pytest.warns(match="not today"):
        found = judged(compare_matching, {"chain": NoHamming(C=1.0)}, ["hamming_loss", "jaccard"])
    assert {run.error for run in found.results} == {"ValueError: not today"}
    assert np.isnan(found.scores("chain", "hamming_loss")).all()
    assert not np.isnan(found.scores("chain", "jaccard")).any()
