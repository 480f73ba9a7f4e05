"""Arguments are checked in one place, with one wording for each kind."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from labelweave._common.checks import (
    check_choice,
    check_flag,
    check_label,
    check_number,
    check_whole_number,
)


@pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(7), 10**30])
def test_whole_numbers(value):
    checked = check_whole_number(value, "k")
    assert checked == value
    assert type(checked) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, np.float64(2), True, np.True_, None, "2", [2], 2j])
def test_no_whole_numbers(value):
    message = f"k must be a whole number of at least 1; got {value!r}"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_whole_number(value, "k")


def test_whole_numbers_between_bounds():
    assert check_whole_number(0, "k", 0, 3) == 0
    assert check_whole_number(3, "k", 0, 3) == 3
    with pytest.raises(ValueError, match="k must be 'auto' or a whole number from 0 to 3; got 4"):
        check_whole_number(4, "k", 0, 3, otherwise="'auto'")


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_numbers(value):
    checked = check_number(value, "x", above=0, maximum=1)
    assert checked == float(value)
    assert type(checked) is float


@pytest.mark.parametrize("value", [True, None, "1", 1j, [1.0], np.nan, np.inf, -np.inf])
def test_no_numbers(value):
    with pytest.raises(ValueError, match="x must be a finite number; got"):
        check_number(value, "x")


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "words"),
    [
        ({"minimum": 0}, [0, 1e300], [-1e-300, np.inf], "a finite number of at least 0"),
        ({"above": 0}, [1e-300], [0, np.inf], "a finite number above 0"),
        ({"above": 0, "finite": False}, [1e-300, np.inf], [0, np.nan], "a number above 0"),
        ({"minimum": 0, "maximum": 2}, [0, 2], [-0.1, 2.1, np.inf], "a number from 0 to 2"),
        ({"above": 0, "maximum": 1}, [1], [0, 1.1], "a number above 0 and at most 1"),
        ({"above": 0, "below": 1}, [0.5], [0, 1], "a number above 0 and below 1"),
        ({"finite": False}, [-np.inf, 0, np.inf], [np.nan], "a number"),
    ],
)
def test_numbers_within_bounds(bounds, inside, outside, words):
    for value in inside:
        assert check_number(value, "x", **bounds) == value
    for value in outside:
        with pytest.raises(ValueError, match=f"x must be {words}; got"):
            check_number(value, "x", **bounds)


def test_choices():
    assert check_choice("a", "x", ("a", "b")) == "a"
    for value in ("c", None, 1, ["a"], np.array(["a", "b"])):
        with pytest.raises(ValueError, match="x must be 'a' or 'b'; got"):
            check_choice(value, "x", ("a", "b"))
    with pytest.raises(ValueError, match="x must be 'a', 'b' or 'c'; got 'd'"):
        check_choice("d", "x", ("a", "b", "c"))


def test_flags():
    assert check_flag(np.True_, "x") is True
    for value in (0, 1, None, "True"):
        with pytest.raises(ValueError, match="x must be True or False; got"):
            check_flag(value, "x")


def test_labels_by_number_or_name():
    assert check_label(np.int64(1), "order", 2, None) == 1
    assert check_label("b", "order", 2, ("a", "b")) == 1
    for value in (2, -1, 1.0, True, None, "c"):
        with pytest.raises(
            ValueError, match=r"order names the unknown label .*: labels are 0 to 1"
        ):
            check_label(value, "order", 2, ("a", "b"))
    with pytest.raises(ValueError, match="unknown label 'a': labels are 0 to 1, without names"):
        check_label("a", "order", 2, None)
