"""Synthetic data with a known joint distribution.

Features are standard normal. Labels are drawn from a chain, a tree or a mixture of trees, in which
the log-odds of a label are linear in the features and in the labels before it. Since P(y|x) is
known, so is the Bayes optimum, and `SyntheticData.regret` measures how far a prediction falls short
of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice, check_number, check_whole_number
from labelweave.decision import SubsetLoss
from labelweave.decision.losses import Loss
from labelweave.joint import ChainJoint, JointDistribution, MixtureJoint


@dataclass(frozen=True)
class SyntheticData:
    """Features, labels and the distribution from which the labels were drawn."""

    X: Floats
    Y: Labels
    joint: JointDistribution
    joint_of: Callable[[npt.ArrayLike], JointDistribution]

    def regret(
        self, labels: npt.ArrayLike, loss: Loss | None = None, X: npt.ArrayLike | None = None
    ) -> float:
        """Return the expected loss of ``labels`` in excess of the Bayes optimum."""
        loss = SubsetLoss() if loss is None else loss
        joint = self.joint if X is None else self.joint_of(X)
        return float(np.mean(loss.risk(joint, labels) - loss.risk(joint, loss(joint))))


@dataclass(frozen=True)
class _LinearChain:
    """Conditionals whose log-odds are linear in the features and the earlier labels."""

    weights: Floats
    bias: Floats
    coupling: Floats
    order: Indices

    def __call__(self, X: npt.ArrayLike) -> ChainJoint:
        features = np.asarray(X, dtype=np.float64)
        if features.ndim != 2 or features.shape[1] != self.weights.shape[1]:
            raise ValueError(
                f"X must have {self.weights.shape[1]} columns, one per feature; "
                f"its shape is {features.shape}"
            )
        return ChainJoint(features @ self.weights.T + self.bias, self.coupling, self.order)


@dataclass(frozen=True)
class _Mixture:
    weights: Floats
    components: tuple[_LinearChain, ...]

    def __call__(self, X: npt.ArrayLike) -> MixtureJoint:
        return MixtureJoint(self.weights, [component(X) for component in self.components])


def make_synthetic(
    kind: str = "chain",
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    n_components: int = 3,
    signal: float = 1.5,
    coupling: float | None = None,
    density: float = 1.0,
    random_state: int | None = None,
) -> SyntheticData:
    """Draw features and labels from a known joint distribution.

    Parameters
    ----------
    kind : {"chain", "tree", "mixture"}
        A classifier chain over a random order of the labels; a random tree, in which every label
        but the root has one parent; or a mixture of random trees with random weights.
    n_samples, n_features, n_labels : int
        Numbers of rows n, features D and labels L.
    n_components : int, default=3
        Number of trees in a mixture.
    signal : float, default=1.5
        Standard deviation of the part of a log-odds that the features of a row contribute.
    coupling : float, optional
        Standard deviation of the change in a log-odds if another label is present, by default 2 in
        a chain and 3 in trees.
    density : float, default=1
        Probability that a label of a chain depends on each earlier one.
    random_state : int, optional
        Seed.

    Returns
    -------
    SyntheticData
        ``X`` and ``Y``; ``joint``, the true P(y|x) of the rows; ``joint_of(X)``, the true P(y|x)
        for any features; and ``regret(labels, loss)``, the expected loss of predictions in excess
        of the Bayes optimum.

    Examples
    --------
    >>> data = make_synthetic("tree", 100, n_labels=4, random_state=0)
    >>> data.X.shape, data.Y.shape
    ((100, 10), (100, 4))
    >>> data.regret(data.joint.mode().labels)
    0.0
    """
    check_choice(kind, "kind", ("chain", "tree", "mixture"))
    check_number(density, "density", minimum=0, maximum=1)
    sizes = {"n_samples": n_samples, "n_features": n_features, "n_labels": n_labels}
    for name, size in (sizes | {"n_components": n_components}).items():
        check_whole_number(size, name)
    if coupling is None:
        coupling = 2.0 if kind == "chain" else 3.0
    rng = np.random.default_rng(0 if random_state is None else random_state)
    joint_of: Callable[[npt.ArrayLike], JointDistribution]
    if kind == "chain":
        joint_of = _random_chain(rng, n_features, n_labels, signal, coupling, density)
    elif kind == "tree":
        joint_of = _random_tree(rng, n_features, n_labels, signal, coupling)
    else:
        joint_of = _random_mixture(rng, n_components, n_features, n_labels, signal, coupling)
    X = rng.normal(size=(n_samples, n_features))
    joint = joint_of(X)
    return SyntheticData(X, joint.sample(1, rng)[:, 0], joint, joint_of)


def _random_chain(
    rng: np.random.Generator,
    n_features: int,
    n_labels: int,
    signal: float,
    coupling: float,
    density: float,
) -> _LinearChain:
    order = rng.permutation(n_labels)
    along = np.tril(rng.normal(scale=coupling, size=(n_labels, n_labels)), -1)
    along *= rng.random((n_labels, n_labels)) < density
    effects = np.zeros((n_labels, n_labels))
    effects[np.ix_(order, order)] = along
    return _linear_chain(rng, n_features, signal, effects, order)


def _random_tree(
    rng: np.random.Generator, n_features: int, n_labels: int, signal: float, coupling: float
) -> _LinearChain:
    order = rng.permutation(n_labels)
    effects = np.zeros((n_labels, n_labels))
    for position in range(1, n_labels):
        parent = order[rng.integers(position)]
        effects[order[position], parent] = rng.normal(scale=coupling)
    return _linear_chain(rng, n_features, signal, effects, order)


def _random_mixture(rng: np.random.Generator, n_components: int, *tree: Any) -> _Mixture:
    weights = rng.dirichlet(np.full(n_components, 5.0))
    return _Mixture(weights, tuple(_random_tree(rng, *tree) for _ in range(n_components)))


def _linear_chain(
    rng: np.random.Generator, n_features: int, signal: float, effects: Floats, order: Indices
) -> _LinearChain:
    n_labels = len(order)
    weights = rng.normal(scale=signal / np.sqrt(n_features), size=(n_labels, n_features))
    # The log-odds of a label are around zero if its parents are positive half of the time.
    bias = rng.normal(scale=0.5, size=n_labels) - effects.sum(axis=1) / 2
    return _LinearChain(weights, bias, effects, order)
