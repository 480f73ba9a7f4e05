"""Decisions as users write them, and comparisons that fit once for several of them."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import BestJoint, BinaryRelevance, ClassifierChain, compare
from labelweave.decision import FLoss, PartialAbstention, PrecisionAtK
from labelweave.evaluation.tasks import SharedFit, fit_key
from labelweave.inference import Greedy
from labelweave.models.methods import make_decision, make_decisions, with_decisions
from labelweave.models.predictions import predict_decided

X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=0)
DECISIONS = ("subset", "hamming", "f1", "jaccard")


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("f1", "f1"),
        (" cmn ", "cmn"),
        ("PrecisionAtK(3)", PrecisionAtK(3)),
        ("PrecisionAtK(k=3)", PrecisionAtK(3)),
        ("FLoss", FLoss()),
        ("FLoss(beta=2)", FLoss(beta=2)),
        ("PartialAbstention(0.2)", PartialAbstention(price=0.2)),
    ],
)
def test_texts_and_the_decisions_they_stand_for(text, decision):
    assert make_decision(text) == decision


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hammng", "unknown decision 'hammng': did you mean hamming"),
        ("floss", "unknown decision"),
        ("PrecisionAtk(3)", "did you mean PrecisionAtK"),
        ("f1(beta=2)", "unknown decision"),
        ("PrecisionAtK", "PrecisionAtK needs the option 'k': PrecisionAtK\\(k=...\\)"),
        ("PrecisionAtK(0)", "k must be"),
        ("PrecisionAtK(3, 4)", "4 needs the name of an option"),
        ("PrecisionAtK(3, k=4)", "k is given twice"),
        ("FLoss(alpha=2)", "FLoss has no option 'alpha'"),
        ("Greedy()", "unknown decision"),
        ("Decided(1, 2)", "decision must be"),
        ("", "cannot parse"),
    ],
)
def test_bad_decisions_are_named(text, message):
    with pytest.raises(ValueError, match=message):
        make_decision(text)


def test_lists_of_decisions():
    assert list(make_decisions("subset, PrecisionAtK(3), FLoss(beta=2)")) == [
        *("subset", "PrecisionAtK(3)", "FLoss(beta=2)")
    ]
    with pytest.raises(ValueError, match="no decisions given"):
        make_decisions(" , ")


def test_deciding_anew_is_deciding_so_from_the_start():
    for make in (
        lambda **kw: ClassifierChain(C=1.0, **kw),
        lambda **kw: BinaryRelevance(C=1.0, **kw),
    ):
        model = make_pipeline(StandardScaler(), make()).fit(X, Y)
        before = model.predict(X)
        for decision in (*DECISIONS, "cmn"):
            labels, score = predict_decided(model, X, decision)
            expected = make_pipeline(StandardScaler(), make(decision=decision)).fit(X, Y)
            np.testing.assert_array_equal(labels, expected.predict(X))
            assert (score is None) == (decision == "cmn")
        np.testing.assert_array_equal(model.predict(X), before)
    assert predict_decided(DummyClassifier().fit(X, Y), X, "f1") is None


def test_every_probabilistic_method_takes_every_decision():
    methods = {"br": BinaryRelevance(), "prior": DummyClassifier()}
    expanded = with_decisions(methods, make_decisions("subset,FLoss(beta=2)"))
    assert list(expanded) == ["br: subset", "br: FLoss(beta=2)", "prior"]
    assert expanded["br: FLoss(beta=2)"].decision == FLoss(beta=2)
    assert methods["br"].decision == BinaryRelevance().decision
    inside = with_decisions({"p": make_pipeline(StandardScaler(), BinaryRelevance())}, {"f1": "f1"})
    assert inside["p: f1"][-1].decision == "f1"


def test_methods_that_differ_in_prediction_share_a_fit():
    key = fit_key(ClassifierChain(C=1.0))
    assert key == fit_key(ClassifierChain(C=1.0, decision="f1", inference=Greedy()))
    assert key != fit_key(ClassifierChain(C=2.0))
    assert key != fit_key(ClassifierChain(C=1.0, decision="macro_f1"))
    assert fit_key(ClassifierChain(decision="no such thing")) is None
    assert key != fit_key(make_pipeline(StandardScaler(), ClassifierChain(C=1.0)))
    assert fit_key(DummyClassifier()) is None
    assert fit_key(BestJoint()) == fit_key(BestJoint(decision="f1"))
    assert fit_key(BestJoint(scoring="f1_example")) is None
    # No digest, no common fit.
    assert fit_key(ClassifierChain(estimator=DummyClassifier(strategy=lambda: 0))) is None


class Counting(BinaryRelevance):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)


def test_a_comparison_of_decisions_fits_once_and_scores_as_if_it_had_not():
    Counting.fits = 0
    methods = with_decisions({"br": Counting(C=1.0)}, {name: name for name in DECISIONS})
    together = compare(methods, X, Y, cv=3, n_jobs=1)
    assert Counting.fits == 3
    for name, estimator in methods.items():
        alone = compare({name: estimator}, X, Y, cv=3, n_jobs=1)
        for metric in alone.metrics:
            np.testing.assert_array_equal(together.scores(name, metric), alone.scores(name, metric))


def test_a_failure_stays_with_its_method():
    methods = with_decisions(
        {"br": BinaryRelevance(C=1.0)}, {"bad": "none", "f1": "f1", "worse": 3}
    )
    with pytest.warns(Warning, match="decision must be"):
        result = compare(methods, X, Y, cv=2, n_jobs=1)
    assert {run.method for run in result.failures()} == {"br: bad", "br: worse"}
    assert len(result.scores("br: f1", "exact_match")) == 2


def test_a_model_can_predict_as_another():
    fit = SharedFit()
    fit.model(ClassifierChain(C=1.0), X, Y)
    other = ClassifierChain(C=1.0, decision="hamming", inference=Greedy())
    expected = ClassifierChain(C=1.0, decision="hamming", inference=Greedy()).fit(X, Y)
    np.testing.assert_array_equal(fit.model(other, X, Y).predict(X), expected.predict(X))


def test_tuned_and_other_decisions_side_by_side():
    names = ("hamming", "macro_f1", "micro_f1")
    methods = {name: BinaryRelevance(C=0.1, decision=name) for name in names}
    compared = compare(methods, X, Y, cv=2, metrics=["f1_macro"])
    assert [run.error for run in compared.results] == [None] * 6
