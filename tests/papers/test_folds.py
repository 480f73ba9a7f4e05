"""One fold of a method: what it shares with other methods, and what it does not."""

from __future__ import annotations

import pytest

from labelweave.evaluation.tasks import SharedFit
from labelweave.models.base import Estimator
from labelweave.papers.measurements import fold, load_data, shared_key
from labelweave.papers.plan import Task

SETTINGS = {"n_folds": 10, "metrics": ["exact_match", "hamming_loss", "cll_loss"]}
CHAINS = (
    ("cc(C=1)", "pcc(C=1)", "p2cg(C=1)"),
    (
        "ecc(C=1,n_estimators=3)",
        "epcc(C=1,n_estimators=3)",
    ),
)


def task(method: str, data: str = "emotions", fold: int = 0) -> Task:
    return Task("fold", data, method, fold, 0, SETTINGS)


def scores(method: str, fit: SharedFit | None = None) -> dict[str, float]:
    values = fold(task(method), load_data("emotions"), fit)
    return {name: values[name] for name in SETTINGS["metrics"]}


def test_a_common_fit_changes_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = []
    fit = Estimator.fit
    monkeypatch.setattr(
        Estimator, "fit", lambda self, *args: fitted.append(self) or fit(self, *args)
    )
    in_turn = {}
    for group in CHAINS:
        shared = SharedFit()
        in_turn |= {method: scores(method, shared) for method in group}
    assert len(fitted) == 2  # a chain and an ensemble
    for method, expected in in_turn.items():
        assert scores(method) == expected
    assert in_turn[CHAINS[0][0]] != in_turn[CHAINS[0][1]]
    assert in_turn[CHAINS[1][0]] != in_turn[CHAINS[1][1]]


def test_fits_are_shared_by_methods_that_differ_in_prediction() -> None:
    for group in CHAINS:
        assert len({shared_key(task(method)) for method in group}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task("cc"), task("cc(C=1)")),
        (task("cc"), task("ecc")),
        (task("cc"), task("cc", fold=1)),
        (task("cc"), task("cc", data="yeast")),
        (task("mc"), task("mc(preset='published')")),
        (task("svm"), task("svm(decision='fixed')")),  # whose fit tunes thresholds
    ],
)
def test_other_fits_are_not_shared(one: Task, other: Task) -> None:
    key = shared_key(one)
    assert key == shared_key(one)
    assert key is None or key != shared_key(other)  # None: it has a fit of its own


def test_only_folds_of_methods_that_exist_share_anything() -> None:
    assert shared_key(task("nosuch")) is None
    assert shared_key(Task("convergence", "emotions", "cc", 0, 0, SETTINGS)) is None
