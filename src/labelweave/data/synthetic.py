"""Synthetic data with a known joint distribution.

Features are standard normal; labels are drawn from chains, trees or mixtures of trees with linear
conditionals. Since P(y | x) is known, so is the Bayes optimum: `SyntheticData.regret` measures how
far a prediction falls short of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_number, check_whole_number
from labelweave.decision import SubsetLoss
from labelweave.decision.losses import Loss
from labelweave.joint import ChainJoint, JointDistribution, MixtureJoint


@dataclass(frozen=True)
class SyntheticData:
    """Features, labels and the distribution from which the labels were drawn.

    Attributes
    ----------
    X : (n, D) array
    Y : (n, L) int8 array
    joint : JointDistribution
        The true P(y | x) for the rows of X.
    joint_of : callable
        ``joint_of(X)`` is the true P(y | x) for any features.
    """

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


def make_chain(
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    signal: float = 1.5,
    coupling: float = 2.0,
    density: float = 1.0,
    random_state: int | None = None,
) -> SyntheticData:
    """Draw data from a classifier chain over a random order of the labels."""
    check_number(density, "density", minimum=0, maximum=1)
    rng = _generator(n_samples, n_features, n_labels, random_state)
    order = rng.permutation(n_labels)
    along = np.tril(rng.normal(scale=coupling, size=(n_labels, n_labels)), -1)
    along *= rng.random((n_labels, n_labels)) < density
    effects = np.zeros((n_labels, n_labels))
    effects[np.ix_(order, order)] = along
    conditionals = _linear_chain(rng, n_features, signal, effects, order)
    return _draw(rng, n_samples, n_features, conditionals)


def make_tree(
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    signal: float = 1.5,
    coupling: float = 3.0,
    random_state: int | None = None,
) -> SyntheticData:
    """Draw data from a random tree: every label but the root has one parent label."""
    rng = _generator(n_samples, n_features, n_labels, random_state)
    return _draw(
        rng, n_samples, n_features, _linear_tree(rng, n_features, n_labels, signal, coupling)
    )


def make_mixture(
    n_samples: int = 200,
    n_features: int = 10,
    n_labels: int = 5,
    *,
    n_components: int = 3,
    signal: float = 1.5,
    coupling: float = 3.0,
    random_state: int | None = None,
) -> SyntheticData:
    """Draw data from a mixture of random trees with random weights."""
    check_whole_number(n_components, "n_components")
    rng = _generator(n_samples, n_features, n_labels, random_state)
    weights = rng.dirichlet(np.full(n_components, 5.0))
    trees = tuple(
        _linear_tree(rng, n_features, n_labels, signal, coupling) for _ in range(n_components)
    )
    return _draw(rng, n_samples, n_features, _Mixture(weights, trees))


def _generator(
    n_samples: int, n_features: int, n_labels: int, random_state: int | None
) -> np.random.Generator:
    sizes = {"n_samples": n_samples, "n_features": n_features, "n_labels": n_labels}
    for name, size in sizes.items():
        check_whole_number(size, name)
    return np.random.default_rng(0 if random_state is None else random_state)


def _linear_tree(
    rng: np.random.Generator, n_features: int, n_labels: int, signal: float, coupling: float
) -> _LinearChain:
    order = rng.permutation(n_labels)
    effects = np.zeros((n_labels, n_labels))
    for position in range(1, n_labels):
        parent = order[rng.integers(position)]
        effects[order[position], parent] = rng.normal(scale=coupling)
    return _linear_chain(rng, n_features, signal, effects, order)


def _linear_chain(
    rng: np.random.Generator,
    n_features: int,
    signal: float,
    effects: Floats,
    order: Indices,
) -> _LinearChain:
    n_labels = len(order)
    weights = rng.normal(scale=signal / np.sqrt(n_features), size=(n_labels, n_features))
    # Centred: a label whose parents are positive half of the time has log-odds around zero.
    bias = rng.normal(scale=0.5, size=n_labels) - effects.sum(axis=1) / 2
    return _LinearChain(weights, bias, effects, order)


def _draw(
    rng: np.random.Generator,
    n_samples: int,
    n_features: int,
    joint_of: Callable[[npt.ArrayLike], JointDistribution],
) -> SyntheticData:
    X = rng.normal(size=(n_samples, n_features))
    joint = joint_of(X)
    return SyntheticData(X, joint.sample(1, rng)[:, 0], joint, joint_of)
