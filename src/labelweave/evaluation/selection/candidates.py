"""The models that `BestJoint` tries: methods by name, estimators, pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count
from typing import Any

from sklearn.base import clone

from labelweave._common.pipelines import last_step
from labelweave.decision.losses import Decision
from labelweave.evaluation.methods.preprocessing import with_preprocessing
from labelweave.evaluation.methods.registry import make_method
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import seeded_clone

__all__ = ["PORTFOLIO"]

#: The methods that `BestJoint` tries by default, in this order: a chain, forests, kernels, and
#: a mixture of trees, which takes longest with many labels and may be given up after one fold.
#: Trees that see all rows are better on some data, those that see bootstrap samples on other:
#: exact match and CLL-loss of 2,250 rows of eisen's 14 classes .186 / 5.21 and .186 / 5.25, of
#: ImCLEF's .742 / .77 and .703 / .84, of delicious' ten most frequent labels .093 / 5.39 and
#: .102 / 5.11. Trees that tell whole label vectors apart were alike and are not tried.
#: A chain over a forest's predictions sees the features besides if they are sparse: on text that is
#: better, CLL-loss of 2,000 rows of imdb and of delicious' ten most frequent labels 5.33 and 4.79,
#: without them 5.35 and 4.97, of a linear chain 5.34 and 4.83.
PORTFOLIO = (
    "auto",
    "forest",
    "forest(bootstrap=False)",
    "weave(passthrough='auto')",
    "auto(features=KernelFeatures())",
    "mc",
)
# A mixture is left out of the portfolio if a component has more coefficients than this: with 47,000
# features and 101 labels it takes five CPU-minutes for 2,000 rows; a chain, 16 seconds for 5,400.
_LARGEST_COMPONENT = 2**20


def unaffordable(name: str, n_features: int, n_labels: int) -> str:
    """Return why a method of the portfolio is not tried; empty if it is.

    Examples
    --------
    >>> unaffordable("mc", n_features=47_236, n_labels=101)
    '4,770,836 coefficients in each component: name it among candidates to try it'
    >>> unaffordable("auto", n_features=47_236, n_labels=101)
    ''
    """
    size = n_features * n_labels
    if name != "mc" or size <= _LARGEST_COMPONENT:
        return ""
    return f"{size:,} coefficients in each component: name it among candidates to try it"


def make_candidates(
    given: Sequence[Any] | None, decision: str | Decision, X: Any, seed: int
) -> list[tuple[str, Any]]:
    """Return estimators with distinct names, a decision, and what X needs in front of them.

    Parameters
    ----------
    given : sequence of str, estimators or (name, estimator), or None
        None stands for `PORTFOLIO`. What is given is not changed.
    decision : str or Decision
    X : (n, D) array or CSR matrix
        Dense features are standardised.
    seed : int
        Seeds every unset `random_state`.

    Examples
    --------
    >>> import numpy as np
    >>> [name for name, _ in make_candidates(["br", "br", "cc"], "subset", np.eye(2), seed=0)]
    ['br', 'br 2', 'cc']
    """
    given = PORTFOLIO if given is None else given
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ValueError(
            f"candidates must be a list of methods or estimators, not empty; got {given!r}"
        )
    candidates: dict[str, Any] = {}
    for name, estimator in map(_named, given):
        if not isinstance(last_step(estimator), MultiLabelClassifier):
            raise ValueError(
                f"candidates must be estimators of P(y|x), such as ClassifierChain(); {name} "
                "is none. JointClassifierCV makes one of any classifier"
            )
        last_step(estimator).set_params(decision=decision)
        prepared = with_preprocessing(seeded_clone(estimator, seed), X)
        candidates[_distinct(name, candidates)] = prepared
    return list(candidates.items())


def _distinct(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken yet."""
    numbered = (f"{name} {k}" for k in count(2))
    return name if name not in taken else next(each for each in numbered if each not in taken)


def _named(candidate: Any) -> tuple[str, Any]:
    """Return the name of a candidate and an estimator of our own."""
    if isinstance(candidate, str):
        return candidate, make_method(candidate)
    pair = candidate if isinstance(candidate, tuple) else (str(candidate), candidate)
    is_named = len(pair) == 2 and isinstance(pair[0], str)
    if not is_named or isinstance(pair[1], type) or not hasattr(pair[1], "get_params"):
        raise ValueError(
            "candidates must be names of methods, estimators such as ClassifierChain(), or pairs "
            f"(name, estimator); got {candidate!r}"
        )
    return pair[0], clone(pair[1])
