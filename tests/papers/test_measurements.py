"""Measurements: the values they give, and what must hold of them."""

from __future__ import annotations

from typing import Any

import pytest

from labelweave.papers.measurements import load_data
from labelweave.papers.plan import Task
from labelweave.papers.reproduction import MEASUREMENTS

CHAIN = "cc(C=1,label_penalty=1)"
MIXTURE = "mc(preset='published')"


def measure(measurement: str, data: str, method: str, **settings: Any) -> dict[str, Any]:
    task = Task(measurement, data, method, 0, 0, settings)
    return MEASUREMENTS[measurement](task, load_data(data))


def test_a_fold_has_scores_seconds_and_choices() -> None:
    values = measure("fold", "emotions", "br(C=1)", n_folds=10, metrics=["exact_match"])
    assert sorted(values) == ["C", "exact_match", "fit_seconds", "predict_seconds"]
    assert values["C"] == 1


def test_the_best_vector_so_far_gets_no_worse() -> None:
    values = measure("convergence", "emotions", CHAIN, n_folds=10, sweeps=5)
    trace = values["mean_probability"]
    assert len(trace) == 6
    assert trace == sorted(trace)
    assert trace[-1] <= values["mode_probability"] + 1e-12
    assert values["proven"] == 1


@pytest.mark.parametrize(("max_labels", "is_enumerated"), [(20, True), (5, False)])
def test_enumeration_is_timed_up_to_a_number_of_labels(
    max_labels: int, is_enumerated: bool
) -> None:
    settings = {"n_folds": 10, "rows": 5, "max_labels": max_labels}
    values = measure("enumeration", "emotions", CHAIN, **settings)
    assert (values["n_labels"], values["n_rows"]) == (6, 60)
    assert values["sampling_seconds_per_row"] > 0
    assert (values.get("seconds_per_row", 0) > 0) == is_enumerated


def test_mixtures_grow_and_agree_with_their_trees() -> None:
    published = {"n_folds": 10, "scale": "minmax"}
    grown = measure("tree_counts", "emotions top:3", MIXTURE, counts=[1, 2], C=0.3, **published)
    assert {name: len(values) for name, values in grown.items()} == {
        "exact_match": 2,
        "cll_loss": 2,
    }
    values = measure("map_agreement", "emotions top:3", MIXTURE, count=2, **published)
    assert 0 <= values["agreement"] <= 1
    assert values["proven"] == 1


def test_messages_settle() -> None:
    settings = {"learned": [100], "rows": 20, "iterations": 4}
    changes = measure("message_changes", "emotions", "bomc-cmn", **settings)["variance@100"]
    assert len(changes) == 3
    assert changes[0] > changes[1] > changes[2]


def test_biases_are_learned() -> None:
    for method in ("bomc-cmn", "bomc-ind-cmn"):
        assert 0 < measure("bias_variance", "emotions", method, size=400)["variance"] < 1


def test_rules_for_test_sets_gain_from_large_ones() -> None:
    values = measure("in_parts", "emotions", "bomc-cmn", size=400, parts=[1, 8])
    assert (values["rows/1"], values["rows/8"]) == (119, 15)
    assert values["f1_macro/1"] > values["f1_macro/8"]
