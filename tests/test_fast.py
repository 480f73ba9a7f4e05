"""`make test` runs the fast suite, and the fast suite is fast."""

from __future__ import annotations

from hypothesis import settings

from tests.conftest import PROJECT, is_slow
from tests.contract.conftest import cases_of


def test_make_test_runs_the_fast_suite():
    recipe = PROJECT.joinpath("Makefile").read_text("utf-8").partition("\ntest:")[2]
    assert recipe.splitlines()[1].endswith("$(PYTEST) --fast")


def test_the_fast_suite_draws_fewer_examples(request):
    fast = request.config.getoption("fast")
    assert settings.default.max_examples == (20 if fast else 100)


def test_the_fast_suite_has_no_slow_test(request):
    found = any(is_slow(item) for item in request.session.items)
    assert not (found and request.config.getoption("fast"))


def test_the_fast_suite_makes_no_slow_case_of_the_contract():
    fast = cases_of("answers", of_classes=False, fast=True)
    whole = cases_of("answers", of_classes=False, fast=False)
    assert len(fast) < len(whole)
    assert [case for case in fast if case.marks] == []
    assert [case for case in whole if not case.marks] == fast
