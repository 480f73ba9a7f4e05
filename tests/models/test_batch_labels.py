"""Labels of later batches: the same as before, or more where they may grow."""

import numpy as np
import pandas as pd
import pytest

from labelweave._common.labels import read_batch_labels

Y = np.array([[0, 1, 1], [1, 0, 1]])
NAMED = pd.DataFrame(Y, columns=list("abc"))


def first(y, classes=None):
    return read_batch_labels(y, 2, None, classes)[1]


@pytest.mark.parametrize("may_grow", [False, True])
def test_the_same_labels_go_on(may_grow):
    for known, batch, names in (
        (Y, Y, None),
        (NAMED, NAMED, ("a", "b", "c")),
        (NAMED, Y, ("a", "b", "c")),  # an array has no names to contradict
        (Y, NAMED, None),
    ):
        labels, encoding = read_batch_labels(batch, 2, first(known), may_grow=may_grow)
        np.testing.assert_array_equal(labels, Y)
        assert encoding.names == names
        assert encoding.classes.shape == (3, 2)


def test_labels_are_appended_only_where_they_may_grow():
    labels, encoding = read_batch_labels(NAMED, 2, first(NAMED[["a", "b"]]), may_grow=True)
    assert encoding.names == ("a", "b", "c")
    assert labels.shape == (2, 3)
    with pytest.raises(ValueError, match=r"y has 3 labels, but the model has learned 2: .* same"):
        read_batch_labels(NAMED, 2, first(NAMED[["a", "b"]]))


@pytest.mark.parametrize(
    ("known", "batch", "message"),
    [
        (Y, Y[:, :2], "y has 2 labels, but the model has learned 3"),
        (Y, Y[:, 0], "y has 1 labels, but the model has learned 3"),
        (Y[:, 0], Y, "y has 3 labels, but the model has learned 1"),
        (NAMED, NAMED[["b", "a", "c"]], "label names of y do not begin with"),
        (NAMED[["a", "b"]], Y, "label names of y do not begin with"),
        (Y[:, 0], np.array([0, 2]), "y must contain only the classes 0 and 1"),
    ],
)
def test_what_does_not_go_on(known, batch, message):
    with pytest.raises(ValueError, match=message):
        read_batch_labels(batch, 2, first(known), may_grow=True)


def test_both_classes_are_known_from_the_start():
    known = first(["no", "no"], classes=["no", "yes"])
    labels, encoding = read_batch_labels(["yes", "no"], 2, known)
    np.testing.assert_array_equal(labels, [[1], [0]])
    np.testing.assert_array_equal(encoding.classes, ["no", "yes"])
    with pytest.raises(ValueError, match="only one class in y: name both in classes="):
        first(["no", "no"])
    with pytest.raises(ValueError, match="classes must be the two values of y"):
        first(["no", "no"], classes=["no"])
