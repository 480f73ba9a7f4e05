"""What is measured for the P2CG paper, and the figures it published."""

from __future__ import annotations

from collections.abc import Sequence

from labelweave.reproduce.plan import Experiment

__all__ = [
    "CHAIN",
    "EXPERIMENTS",
    "HAMMING_LOSS",
    "OUR_METHODS",
    "PUBLISHED_METHODS",
    "QUICK",
    "SUBSET_LOSS",
    "TEST_SECONDS",
]

# One penalty for features and labels: the paper's logistic regression has no other.
_FIXED = "C=1,label_penalty=1"
PUBLISHED_METHODS = {
    "BR": "br(C=1)",
    "CC": f"cc({_FIXED})",
    "PCC": f"bestfirst({_FIXED})",
    "P2CG": f"p2cg({_FIXED})",
}
OUR_METHODS = {"BR": "br", "CC": "cc", "PCC": "auto", "P2CG": "p2cg"}
CHAIN = PUBLISHED_METHODS["P2CG"]

SUBSET_LOSS = {
    "scene": {
        "BR": ".485 ± .012",
        "CC": ".441 ± .013",
        "PCC": ".386 ± .021",
        "P2CG": ".386 ± .021",
    },
    "slashdot": {
        "BR": ".789 ± .015",
        "CC": ".628 ± .027",
        "PCC": ".557 ± .028",
        "P2CG": ".557 ± .028",
    },
    "enron": {"BR": ".854 ± .029", "CC": ".847 ± .027", "P2CG": ".833 ± .023"},
    "corel5k": {"BR": ".997 ± .002", "CC": ".996 ± .003", "P2CG": ".986 ± .003"},
}
HAMMING_LOSS = {
    "scene": {
        "BR": ".107 ± .005",
        "CC": ".105 ± .006",
        "PCC": ".096 ± .007",
        "P2CG": ".096 ± .007",
    },
    "slashdot": {
        "BR": ".056 ± .002",
        "CC": ".047 ± .027",
        "PCC": ".041 ± .002",
        "P2CG": ".041 ± .002",
    },
    "enron": {"BR": ".045 ± .002", "CC": ".048 ± .002", "P2CG": ".048 ± .002"},
    "corel5k": {"BR": ".014 ± .000", "CC": ".013 ± .000", "P2CG": ".010 ± .000"},
}
TEST_SECONDS = {
    "slashdot": {"PCC": "2.8 h", "P2CG": "9.2 s"},
    "enron": {"PCC": "over a week", "P2CG": "40.3 s"},
    "corel5k": {"PCC": "over a week", "P2CG": "150.4 s"},
}

_DATA = ("scene", "slashdot", "enron", "corel5k")
_SETTINGS = {"n_folds": 10, "metrics": ["subset_loss", "hamming_loss"]}
_ALL = (*PUBLISHED_METHODS.values(), *OUR_METHODS.values())
_TIMED = {"n_folds": 10, "rows": 20, "max_labels": 22}


def _experiments(
    data: Sequence[str], traced: Sequence[str], n_folds: int
) -> tuple[Experiment, ...]:
    return (
        Experiment("tables", "fold", tuple(data), _ALL, n_folds, _SETTINGS),
        Experiment(*("table-4", "enumeration", tuple(data), (CHAIN,), 1, _TIMED), repeated=False),
        Experiment(
            *("figures", "convergence", tuple(traced), (CHAIN, "p2cg"), min(n_folds, 3)),
            {"n_folds": 10, "sweeps": 100},
            repeated=False,
        ),
    )


EXPERIMENTS = _experiments(_DATA, ("scene", "corel5k"), 10)
QUICK = _experiments(("emotions", "yeast"), ("emotions", "yeast"), 5)
