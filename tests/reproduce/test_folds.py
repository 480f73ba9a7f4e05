"""One fold of a method: what it shares with other methods, and what it does not."""

from __future__ import annotations

import pytest

from labelweave.models.base import Estimator
from labelweave.reproduce import Task
from labelweave.reproduce.measurements import SHARED
from labelweave.reproduce.measurements.folds import fit_key, fold

SETTINGS = {"n_folds": 10, "metrics": ["exact_match", "hamming_loss", "cll_loss_row"]}
CHAINS = ("cc(C=1)", "pcc(C=1)", "p2cg(C=1)", "ecc(C=1,n_estimators=3)", "epcc(C=1,n_estimators=3)")


def task(method: str, data: str = "emotions", fold: int = 0) -> Task:
    return Task("fold", data, method, fold, 0, SETTINGS)


def scores(method: str) -> dict[str, float]:
    values = fold(task(method))
    return {name: values[name] for name in SETTINGS["metrics"]}


def test_a_common_fit_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    fold(task("br(C=1)"))  # nothing is shared with an earlier test
    fitted = []
    fit = Estimator.fit
    monkeypatch.setattr(
        Estimator, "fit", lambda self, *args: fitted.append(self) or fit(self, *args)
    )
    in_turn = {}
    for method in CHAINS:
        in_turn[method] = scores(method)
    assert len(fitted) == 2  # a chain and an ensemble
    for method in CHAINS:
        fold(task("br(C=1)"))  # another fit in between
        assert scores(method) == in_turn[method]
    assert in_turn[CHAINS[0]] != in_turn[CHAINS[1]]
    assert in_turn[CHAINS[3]] != in_turn[CHAINS[4]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task("cc"), task("cc(C=1)")),
        (task("cc"), task("cc", fold=1)),
        (task("cc"), task("cc", data="yeast")),
        (task("mc"), task("mc(preset='published')")),
        (task("svm"), task("svm(decision='fixed')")),  # whose fit tunes thresholds
    ],
)
def test_other_fits_are_not_shared(one: Task, other: Task) -> None:
    assert fit_key(one) == fit_key(one)
    assert fit_key(one) != fit_key(other)
    assert SHARED[one.measurement] is fit_key
