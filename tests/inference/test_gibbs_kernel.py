"""The binding of the Gibbs kernel: a wrong size ends in an exception, never in foreign memory."""

import numpy as np
import pytest

from labelweave._core import native


def arguments(**changes):
    usual = {
        "scores": np.zeros((2, 3)),
        "coupling": np.zeros((3, 3)),
        "order": np.arange(3),
        "known": np.full((2, 3), -1, dtype=np.int8),
        "rows": np.arange(2),
        "seed": 0,
        "first_draw": 0,
        "labels": np.zeros((2, 3), dtype=np.int8),
        "best": np.zeros((2, 3), dtype=np.int8),
        "best_gain": np.zeros((2, 4)),
        "samples": np.zeros((2, 4, 3), dtype=np.int8),
    }
    return usual | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coupling": np.zeros((3, 2))}, "coupling"),
        ({"order": np.arange(2)}, "order"),
        ({"order": np.array([0, 1, 1])}, "order"),
        ({"order": np.array([0, 1, 3])}, "order"),
        ({"order": np.array([0, 1, -1])}, "order"),
        ({"known": np.zeros((1, 3), dtype=np.int8)}, "known"),
        ({"labels": np.zeros((2, 2), dtype=np.int8)}, "labels"),
        ({"best": np.zeros((3, 3), dtype=np.int8)}, "best"),
        ({"rows": np.arange(3)}, "rows"),
        ({"best_gain": np.zeros((1, 4))}, "best_gain"),
        ({"samples": np.zeros((2, 5, 3), dtype=np.int8)}, "samples"),
        ({"samples": np.zeros((2, 4, 2), dtype=np.int8)}, "samples"),
        ({"samples": np.zeros((1, 4, 3), dtype=np.int8)}, "samples"),
    ],
)
def test_sizes(changes, message):
    native.chain_gibbs(**arguments())
    with pytest.raises(ValueError, match=message):
        native.chain_gibbs(**arguments(**changes))


@pytest.mark.parametrize("name", ["labels", "best", "samples"])
def test_outputs_that_would_be_copied(name):
    with pytest.raises(TypeError):
        native.chain_gibbs(**arguments(**{name: arguments()[name].astype(np.int64)}))


def test_labels_other_than_zero_and_one_are_read_as_one():
    values = np.full((2, 3), 7, dtype=np.int8)
    given = arguments(scores=np.full((2, 3), 50.0), labels=values, known=values.copy())
    native.chain_gibbs(**given)
    assert (given["labels"] == 1).all()
    assert (given["samples"] == 1).all()
