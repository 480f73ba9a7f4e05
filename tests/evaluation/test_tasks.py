"""Tasks: grouped by what they share, kept as they finish, lost by name."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from labelweave import compare
from labelweave._common.engine import Call, JoblibEngine
from labelweave._common.keyed_lines import KeyedLines
from labelweave.evaluation.tasks import content_key, keeping, run_tasks


@dataclass(frozen=True)
class Square:
    of: int
    value: int = 0
    error: str | None = None


def squares(numbers):
    if 13 in numbers:
        raise ValueError("unlucky")
    return [Square(number, number**2) for number in numbers]


def run(tasks, lines=None):
    """Square numbers, odd and even ones together and those above ten alone."""
    groups = []

    def call(numbers):
        groups.append(list(numbers))
        return Call(f"group of {numbers[0]}", squares, (numbers,))

    with keeping(lines) as kept:
        found = run_tasks(
            tasks,
            kept,
            JoblibEngine(1),
            shared=lambda number: None if number > 10 else ("odd", "even")[number % 2 == 0],
            call=call,
            lost=lambda number, lost: Square(number, error=f"{lost.name}: {lost.reason}"),
        )
        return list(found), groups


def test_tasks_that_share_something_run_together():
    found, groups = run({"a": 1, "b": 2, "c": 3, "d": 11, "e": 12})
    assert groups == [[1, 3], [2], [11], [12]]
    assert {key: square.value for key, square in found} == {
        "a": 1,
        "b": 4,
        "c": 9,
        "d": 121,
        "e": 144,
    }


def test_results_are_kept_and_failures_are_tried_again(tmp_path):
    lines = KeyedLines(tmp_path / "squares.jsonl", asdict, lambda content: Square(**content))
    tasks = {"a": 1, "m": 13}
    for groups in ([[1], [13]], [[13]]):
        found, called = run(tasks, lines)
        assert dict(found)["a"] == Square(1, 1)
        assert dict(found)["m"].error == "group of 13: ValueError: unlucky"
        assert called == groups


def test_keys_depend_on_all_parts():
    assert content_key({"b": 1, "a": 2}, "x") == content_key({"a": 2, "b": 1}, "x")
    assert len({content_key(*parts) for parts in (("x",), ("x", "x"), (["x"],), ("y",))}) == 4


@pytest.mark.parametrize("is_kept", [True, False])
def test_equal_methods_have_equal_results_under_their_own_names(tmp_path, is_kept):
    X, Y = np.eye(6), np.eye(6)[:, :2].astype(int)
    methods = {"one": DummyClassifier(), "other": DummyClassifier()}
    file = tmp_path / "folds.jsonl" if is_kept else None
    result = compare(methods, X, Y, cv=2, metrics=["jaccard"], results=file)
    assert [(r.method, r.fold) for r in result.results] == [
        (method, fold) for method in methods for fold in (0, 1)
    ]
    np.testing.assert_array_equal(*(result.scores(name, "jaccard") for name in methods))
    if is_kept:
        assert file.read_bytes().count(b"\n") == 2
