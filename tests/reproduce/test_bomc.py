"""The reproduction of BOMC: its measurements are the library's, and its claims can fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from labelweave.datasets import load_emotions
from labelweave.evaluation import make_method
from labelweave.online import BayesianOnlineClassifier
from labelweave.report import Document, to_html, to_markdown
from labelweave.reproduce.bomc import PLAN
from labelweave.reproduce.bomc.experiments import (
    CMN,
    DATA,
    HEURISTICS,
    IND_CMN,
    LASVM,
    LASVM_ALONE,
    NAMES,
    NO_HEURISTIC,
    PA_ALONE,
    PA_BATCH,
    PA_ONLINE,
    SAMPLE,
    SAMPLES,
    SIZES,
    SVM,
    SVM_ALONE,
)
from labelweave.reproduce.measurements import MEASUREMENTS
from labelweave.reproduce.measurements.posteriors import messages, next_factors
from labelweave.reproduce.plan import tasks_of
from labelweave.reproduce.results import Results
from labelweave.reproduce.store import Record
from labelweave.reproduce.task import Task, load_data

CLAIMS = {claim.number: claim for claim in PLAN.claims}


# Measurements


def emotions_split(size: int, fold: int = 0) -> tuple[Any, Any, Any, Any]:
    """Split as the measurements do, written out."""
    data = load_emotions()
    order = np.random.default_rng([0, fold]).permutation(593)
    train, test = order[:474][:size], order[474:]
    scaler = StandardScaler().fit(data.X[train])
    return (
        scaler.transform(data.X[train]),
        data.Y[train],
        scaler.transform(data.X[test]),
        data.Y[test],
    )


def measure(measurement: str, method: str, fold: int = 0, **settings: Any) -> dict[str, Any]:
    return MEASUREMENTS[measurement](Task(measurement, "emotions", method, fold, 0, settings))


@pytest.mark.parametrize("method", ["bomc-ind-sample", "pa-online(C=0.01)"])
def test_a_stream_scores_what_the_library_predicts(method: str) -> None:
    values = measure("stream", method, 1, sizes=[100, 300])
    for size in (100, 300):
        X, Y, X_test, Y_test = emotions_split(size, fold=1)
        predicted = make_method(method, seed=0).fit(X, Y).predict(X_test)
        for average in ("macro", "micro"):
            score = f1_score(Y_test, predicted, average=average, zero_division=0)
            assert values[f"f1_{average}@{size}"] == pytest.approx(score)
        assert values[f"fit_seconds@{size}"] >= 0
        assert values[f"predict_seconds@{size}"] >= 0


def test_labels_that_do_not_occur_are_left_out_of_one_macro_f1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = load_emotions()
    order = np.random.default_rng([0, 0]).permutation(593)
    Y = data.Y.copy()
    Y[order[474:], 2:] = 0
    thinned = type(data)(data.X, Y)
    monkeypatch.setattr("labelweave.reproduce.measurements.streams.load_data", lambda _: thinned)
    values = measure("stream", "bomc-cmn", sizes=[200])
    assert values["f1_macro_occurring@200"] == pytest.approx(3 * values["f1_macro@200"])


def test_more_training_rows_than_there_are_is_an_error() -> None:
    with pytest.raises(ValueError, match="at most 474"):
        measure("stream", "bomc-cmn", sizes=[475])


def test_parts_are_test_sets_of_their_own() -> None:
    values = measure("in_parts", "bomc-cmn", size=200, parts=[1, 2])
    X, Y, X_test, Y_test = emotions_split(200)
    model = BayesianOnlineClassifier(random_state=0).fit(X, Y)
    halves = np.vstack([model.predict(X_test[:60]), model.predict(X_test[60:])])
    for parts, labels in ((1, model.predict(X_test)), (2, halves)):
        score = f1_score(Y_test, labels, average="macro", zero_division=0)
        assert values[f"f1_macro/{parts}"] == pytest.approx(score)
    assert (values["rows/1"], values["rows/2"]) == (119, 60)


@pytest.mark.parametrize("method", ["bomc-sample", "bomc-sample(preset='published')"])
def test_chosen_thresholds_are_those_of_the_decision_rule(method: str) -> None:
    values = measure("expected_f1", method, size=300, samples=5)
    X, Y, X_test, Y_test = emotions_split(300)
    labels = make_method(method, seed=0).fit(X, Y).predict(X_test)
    assert values["chosen"] == pytest.approx(f1_score(Y_test, labels, average=None).sum())
    assert values["chosen"] <= values["best"] <= values["best_of_all"] <= values["n_labels"] == 6
    rows = [values[f"rows/{k}"] for k in range(4)]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == Y_test.sum(axis=0).max()
    assert rows[-1] == Y_test.sum(axis=0).min()


@pytest.mark.parametrize("preset", ["published", None])
def test_messages_lead_to_the_bias_that_the_kernel_learns(preset: str | None) -> None:
    X, Y, *_ = emotions_split(200)
    make = BayesianOnlineClassifier if preset is None else BayesianOnlineClassifier.preset(preset)
    options: dict[str, Any] = {"shuffle": False, "scale_rows": False}
    model = (make(**options) if preset is None else make.set_params(**options)).fit(X[:50], Y[:50])
    state = model.state_
    bias, variance = float(np.ravel(state.bias_mean)[0]), float(np.ravel(state.bias_variance)[0])
    factors = next_factors(state, X[50:51], Y[50:51])[0]
    precisions, weighted_means = messages(factors, bias, variance, iterations=10)
    state.update(X[50:51], Y[50:51])
    precision = 1 / variance + precisions[-1].sum()
    mean = (bias / variance + weighted_means[-1].sum()) / precision
    learned = float(np.ravel(state.bias_variance)[0])
    assert 1 / precision == pytest.approx(learned, rel=1e-3)
    assert mean == pytest.approx(float(np.ravel(state.bias_mean)[0]), abs=2e-3 * learned**0.5)


def test_changes_are_relative_and_between_iterations() -> None:
    values = measure("message_changes", CMN, learned=[50], rows=1, iterations=3)
    scaled_by_50 = emotions_split(50)
    data = load_emotions()
    order = np.random.default_rng([0, 0]).permutation(593)
    scaler = StandardScaler().fit(data.X[order[:50]])
    state = make_method(CMN, seed=0).fit(scaled_by_50[0], scaled_by_50[1]).state_
    row = scaler.transform(data.X[order[50:51]])
    factors = next_factors(state, row, data.Y[order[50:51]])[0]
    precision, weighted = messages(
        factors, float(np.ravel(state.bias_mean)[0]), float(np.ravel(state.bias_variance)[0]), 3
    )
    variance, mean = 1 / precision, weighted / precision
    for name, moment in (("mean", mean), ("variance", variance)):
        expected = [
            np.mean(np.abs(moment[k + 1] - moment[k]) / np.abs(moment[k + 1])) for k in (0, 1)
        ]
        assert values[f"{name}@50"] == pytest.approx(expected, rel=1e-6)


# The plan


def test_every_claim_is_there_once() -> None:
    assert [claim.number for claim in PLAN.claims] == list(range(29, 41))


def test_every_method_can_be_made_and_has_a_name() -> None:
    experiments = (*PLAN.experiments, *PLAN.quick)
    for method in {method for experiment in experiments for method in experiment.methods}:
        make_method(method)
        assert method in NAMES
    assert {experiment.measurement for experiment in experiments} <= MEASUREMENTS.keys()


def test_without_heuristics_the_settings_are_the_published_ones() -> None:
    published, bare = (make_method(method).get_params(deep=False) for method in (CMN, NO_HEURISTIC))
    differing = {name for name in published if published[name] != bare[name]}
    assert differing == {"skew_margin", "decision"}


def test_a_method_is_streamed_with_the_same_settings_everywhere() -> None:
    """Else the splits of two experiments would be averaged as if they were one."""
    for experiments in (PLAN.experiments, PLAN.quick):
        settings: dict[tuple[str, ...], Any] = {}
        for task in tasks_of(experiments):
            kind = (task.measurement, task.data, task.method)
            assert settings.setdefault(kind, task.settings) == task.settings


def test_quick_experiments_fit_the_bundled_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABELWEAVE_DATA", raising=False)
    for experiment in PLAN.quick:
        sizes = experiment.settings.get("sizes", [experiment.settings.get("size", 1)])
        for data in experiment.data:
            assert max(sizes) <= int(0.8 * load_data(data).n_rows)


# The claims


def streams(
    curves: Mapping[str, Sequence[float] | float], name: str = "f1_macro"
) -> tuple[Record, ...]:
    """Make two splits of learning curves up; LaSVM's end where the plan's do."""
    records = []
    for method, curve in curves.items():
        values = [curve] * len(SIZES) if isinstance(curve, float) else curve
        named = {f"{name}@{size}": value for size, value in zip(SIZES, values, strict=False)}
        settings = {"sizes": list(SIZES)}
        records += [
            Record(Task("stream", DATA, method, split, 0, settings), named, 1.0) for split in (0, 1)
        ]
    return tuple(records)


def others(method: str, measurement: str, values: dict[str, Any]) -> tuple[Record, ...]:
    settings = {"learned": [1, 100]}
    return (Record(Task(measurement, DATA, method, 0, 0, settings), values, 1.0),)


def f1(**changed: Any) -> tuple[Record, ...]:
    """Make up learning curves; those not given are flat at 0.5."""
    short = {"cmn": CMN, "sample": SAMPLE, "ind": IND_CMN, "svm": SVM, "lasvm": LASVM}
    short |= {"pa": PA_ONLINE, "pa_batch": PA_BATCH}
    curves = dict.fromkeys(short.values(), 0.5) | {short[k]: v for k, v in changed.items()}
    curves[LASVM] = [curves[LASVM]] * 4 if isinstance(curves[LASVM], float) else curves[LASVM]
    return streams(curves)


def bare(share: Sequence[float] | float, svm: float = 0.5) -> tuple[Record, ...]:
    """Make up macro F1 without heuristics, a share of 0.5; with them, it is 0.5."""
    values = np.full(len(SIZES), 0.5) * share
    without = {method: values.tolist() for method in HEURISTICS.values()}
    without[LASVM_ALONE] = without[LASVM_ALONE][:4]
    return f1(svm=svm) + streams(without)


def times(cmn: float = 1.0, ind: float = 1.1, pa: float = 0.4, svm: float = 0.4, **power: float):
    """Make up training times that grow with a power of the documents."""
    sizes = np.array(SIZES) / SIZES[-1]
    base = {CMN: cmn, IND_CMN: ind, PA_ALONE: pa, SVM_ALONE: svm, LASVM_ALONE: 9.0}
    powers = {LASVM_ALONE: power.get("lasvm", 1.8), SVM_ALONE: power.get("svm_power", 1.1)}
    curves = {m: (s * sizes ** powers.get(m, 1.0)).tolist() for m, s in base.items()}
    curves[LASVM_ALONE] = curves[LASVM_ALONE][:4]
    return streams(curves, "fit_seconds")


def thresholds(chosen: float) -> tuple[Record, ...]:
    sums = {"chosen": chosen, "best": 60.0, "best_of_all": 61.0, "n_labels": 100}
    return others(SAMPLE, "expected_f1", sums)


def parts(whole: float, sixteenths: float) -> tuple[Record, ...]:
    values = {"f1_macro/1": whole, "f1_macro/16": sixteenths, "rows/16": 345}
    return others(CMN, "in_parts", values)


def settling(mean: float, variance: float, first: float = 0.1) -> tuple[Record, ...]:
    """Make up changes in the third iteration after 100 documents; after one, they are large."""
    values = {
        "mean@1": [1.0, first, 0.01],
        "variance@1": [1.0, first, 0.01],
        "mean@100": [0.1, mean, 1e-9],
        "variance@100": [0.1, variance, 1e-9],
    }
    return others(CMN, "message_changes", values)


def samples(*curves: float) -> tuple[Record, ...]:
    return streams(
        {m: [c, np.nan, c, np.nan, c] for m, c in zip(SAMPLES.values(), curves, strict=True)}
    )


AT_TWO = [0.6, 0.6, 0.4, 0.4, 0.4]
AT_FOUR = [0.6, 0.6, 0.6, 0.6, 0.4]
CASES = {
    "29 best everywhere": (29, f1(cmn=0.6), "reproduced"),
    "29 best at four": (29, f1(cmn=AT_FOUR), "reproduced"),
    "29 best at two": (29, f1(cmn=AT_TWO), "partly"),
    "29 equal": (29, f1(), "not reproduced"),
    "29 one rival better": (29, f1(cmn=0.6, pa=0.7), "not reproduced"),
    "29 LaSVM counts": (29, f1(cmn=0.6, lasvm=0.7), "partly"),  # it does not go to the end
    "29 SVM does not": (29, f1(cmn=0.6, svm=0.7), "reproduced"),
    "30 a little lower": (30, f1(sample=0.49), "reproduced"),
    "30 much lower": (30, f1(sample=0.4), "partly"),
    "30 higher": (30, f1(sample=0.6), "partly"),
    "30 neither": (30, f1(sample=0.55, pa=0.7), "not reproduced"),
    "31 usually": (31, f1(svm=AT_FOUR), "reproduced"),
    "31 sometimes": (31, f1(svm=AT_TWO), "partly"),
    "31 never": (31, f1(svm=0.6, sample=0.61), "not reproduced"),
    "32 gain": (32, parts(0.6, 0.52), "reproduced"),
    "32 no gain": (32, parts(0.6, 0.595), "not reproduced"),
    "33 topics": (33, f1(ind=0.51), "partly"),  # the other half is not testable
    "33 coupled better": (33, f1(ind=0.49), "not reproduced"),
    "34 close": (34, thresholds(57.0), "reproduced"),
    "34 roughly": (34, thresholds(55.0), "partly"),
    "34 far": (34, thresholds(50.0), "not reproduced"),
    "35 no better": (35, samples(0.5, 0.504, 0.49), "reproduced"),
    "35 ten better": (35, samples(0.5, 0.51, 0.5), "not reproduced"),
    "35 twenty better": (35, samples(0.5, 0.5, 0.51), "not reproduced"),
    "36 poor": (36, bare(0.5), "reproduced"),
    "36 poor at first": (36, bare([0.5, 0.5, 0.9, 0.9, 0.9]), "partly"),
    "36 not so poor": (36, bare(0.8), "not reproduced"),
    "36 all must be": (36, bare(0.5, svm=0.26), "not reproduced"),
    "37 linear": (37, times(), "reproduced"),
    "37 LaSVM too": (37, times(lasvm=1.0), "partly"),
    "37 SVM is not": (37, times(svm_power=1.5), "partly"),
    "37 wrong way round": (37, times(svm_power=1.5, lasvm=1.0), "not reproduced"),
    "38 slower": (38, times(), "reproduced"),
    "38 faster": (38, times(ind=0.9), "not reproduced"),
    "39 both": (39, times(), "reproduced"),
    "39 one": (39, times(svm=10.0), "partly"),
    "39 much faster": (39, times(pa=0.1, svm=0.1), "not reproduced"),
    "39 none": (39, times(pa=0.9, svm=10.0), "not reproduced"),
    "40 settled": (40, settling(1e-5, 9e-4, first=0.01), "reproduced"),
    "40 variance is not": (40, settling(1e-5, 2e-3), "not reproduced"),
    "40 mean is not": (40, settling(2e-3, 1e-5), "not reproduced"),
}


@pytest.mark.parametrize("case", CASES)
def test_claims_hold_and_fail_where_they_must(case: str) -> None:
    number, records, outcome = CASES[case]
    judgement = CLAIMS[number].judge(Results(records))
    assert judgement.outcome == outcome, judgement
    assert judgement.measured
    assert "nan" not in f"{judgement.measured} {judgement.reason}"


def test_every_claim_can_hold_and_fail() -> None:
    for number in CLAIMS:
        outcomes = {outcome for n, _, outcome in CASES.values() if n == number}
        # Half of claim 33 is about data that were not to be had.
        assert outcomes >= {"partly" if number == 33 else "reproduced", "not reproduced"}


@pytest.mark.parametrize("number", CLAIMS)
def test_what_was_not_measured_is_not_testable(number: int) -> None:
    elsewhere = tuple(
        Record(Task(task.measurement, "yeast", task.method, 0, 0, task.settings), {"f": 0.5}, 1.0)
        for task in tasks_of(PLAN.experiments)
    )
    failed = tuple(Record(task, {}, 1.0, "ValueError: no") for task in tasks_of(PLAN.experiments))
    for records in ((), elsewhere, failed):
        judgement = CLAIMS[number].judge(Results(records))
        assert judgement.outcome == "not testable"
        assert judgement.reason


# The report


def test_without_results_there_is_nothing_to_show() -> None:
    assert PLAN.show(Results(())) == []


def test_the_report_shows_what_was_measured() -> None:
    settings = {"size": 300, "samples": 5, "parts": [1, 4], "sizes": [100, 300]}
    settings |= {"learned": [10, 100], "rows": 5, "iterations": 4}
    chosen = {(e.measurement, m) for e in PLAN.quick for m in e.methods if "svm" not in m}
    records = [
        Record(
            task := Task(measurement, "emotions", method, split, 0, settings),
            MEASUREMENTS[measurement](task),
            1.0,
        )
        for split in range(2)
        for measurement, method in sorted(chosen)
    ]
    results = Results(tuple(records))
    sections = PLAN.show(results)
    assert len(sections) == 7
    text = to_markdown(Document("BOMC", "emotions", tuple(sections)))
    mean = results.mean("stream", "emotions", CMN, "f1_macro@300")
    assert f"{mean:.3f} ± " in text
    assert f"{results.mean('expected_f1', 'emotions', SAMPLE, 'chosen'):.2f}" in text
    assert "60.97" in text
    assert "nan" not in text
    assert to_html(Document("BOMC", "emotions", tuple(sections)))
