"""The reproduction of BOMC: its measurements are the library's, and its plan is sound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from labelweave import BayesianOnlineClassifier
from labelweave.data import load
from labelweave.models.methods import make_method
from labelweave.papers.bomc import CMN, IND_CMN, NAMES, NARROW_CMN, NO_HEURISTIC, SAMPLE
from labelweave.papers.bomc_claims import PLAN
from labelweave.papers.measurements import load_data
from labelweave.papers.plan import Task, tasks_of
from labelweave.papers.posteriors import messages, next_factors
from labelweave.papers.reproduction import MEASUREMENTS
from labelweave.papers.results import Record, Results
from labelweave.report.document import Document
from labelweave.report.html import to_html
from labelweave.report.text import to_markdown

# Measurements


def emotions_split(size: int, fold: int = 0) -> tuple[Any, Any, Any, Any]:
    """Split as the measurements do, written out."""
    data = load("emotions")
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
    task = Task(measurement, "emotions", method, fold, 0, settings)
    return MEASUREMENTS[measurement](task, load_data("emotions"))


@pytest.mark.parametrize("method", ["bomc-ind-sample", "pa-online(C=0.01)"])
def test_a_stream_scores_what_the_library_predicts(method: str) -> None:
    values = measure("stream", method, 1, sizes=[100, 300])
    for size in (100, 300):
        X, Y, X_test, Y_test = emotions_split(size, fold=1)
        predicted = make_method(method, seed=0).fit(X, Y).predict(X_test)
        for average in ("macro", "micro"):
            score = f1_score(Y_test, predicted, average=average, zero_division=0)
            assert values[f"f1_{average}@{size}"] == pytest.approx(score)


def test_training_is_timed_for_every_size_within_the_limit() -> None:
    sizes = {"sizes": [100, 300], "at_most": {"pa-online(C=0.01)": 100}}
    assert set(measure("training_time", "bomc-cmn", **sizes)) == {
        "fit_seconds@100",
        "fit_seconds@300",
    }
    assert set(measure("training_time", "pa-online(C=0.01)", **sizes)) == {"fit_seconds@100"}


def test_labels_that_do_not_occur_are_left_out_of_one_macro_f1() -> None:
    data = load("emotions")
    order = np.random.default_rng([0, 0]).permutation(593)
    Y = data.Y.copy()
    Y[order[474:], 2:] = 0
    thinned = type(data)(data.X, Y)
    task = Task("stream", "emotions", "bomc-cmn", 0, 0, {"sizes": [200]})
    values = MEASUREMENTS["stream"](task, thinned)
    assert values["f1_macro_occurring@200"] == pytest.approx(3 * values["f1_macro@200"])


def test_sizes_end_where_the_rows_or_the_patience_with_a_method_ends() -> None:
    settings: dict[str, Any] = {"sizes": [100, 300, 475], "at_most": {"lasvm": 200}}
    for method, sizes in (("bomc-cmn", {"100", "300"}), ("lasvm", {"100"})):
        values = measure("stream", method, **settings)
        assert {name.partition("@")[2] for name in values} == sizes


def test_a_model_cannot_have_more_rows_than_there_are() -> None:
    with pytest.raises(ValueError, match="at most 474"):
        measure("in_parts", "bomc-cmn", size=475, parts=[1])


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
    model = BayesianOnlineClassifier()
    if preset is not None:
        model = BayesianOnlineClassifier.preset(preset)
    model.set_params(settings__scale_rows=False).partial_fit(X[:50], Y[:50])
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
    data = load("emotions")
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


def test_every_method_can_be_made_and_has_a_name() -> None:
    experiments = (*PLAN.experiments, *PLAN.quick)
    for method in {method for experiment in experiments for method in experiment.methods}:
        make_method(method)
        assert method in NAMES
    assert {experiment.measurement for experiment in experiments} <= MEASUREMENTS.keys()


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
        smallest = experiment.settings.get("sizes", [experiment.settings.get("size", 1)])[0]
        for data in experiment.data:
            assert smallest <= int(0.8 * load_data(data).n_rows)


@pytest.mark.parametrize(
    ("method", "published", "changed"),
    [
        (NO_HEURISTIC, CMN, {"skew_margin", "decision"}),
        (NARROW_CMN, IND_CMN, {"bias_variance"}),
    ],
)
def test_all_but_the_named_settings_are_published(
    method: str, published: str, changed: set[str]
) -> None:
    one, other = (parameters(name) for name in (method, published))
    assert {name for name in one if repr(one[name]) != repr(other[name])} == changed


def parameters(method: str) -> dict[str, Any]:
    """Return the parameters of a method, those of its settings one by one."""
    values = make_method(method, seed=0).get_params()
    return {
        name.removeprefix("settings__"): value
        for name, value in values.items()
        if name != "settings" and not name.startswith("decision__")
    }


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
            MEASUREMENTS[measurement](task, load_data("emotions")),
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
