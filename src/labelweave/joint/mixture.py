"""Mixtures of joint distributions of any form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import check_whole_number
from labelweave._common.seeds import derive_seed
from labelweave.joint import _threshold
from labelweave.joint.base import JointDistribution
from labelweave.joint.enumeration import MAX_ENUMERATED, MAX_SEARCHED
from labelweave.joint.estimate import Estimate, Quantity
from labelweave.joint.mode import Mode, Ranked, certified
from labelweave.joint.tree import TreeJoint

# Vectors of each component's list after which `mode` and `top` give the proof up.
LIST_DEPTH = 1000
# How far the weights of a row may be from summing to one.
SUM_TOLERANCE = 1e-6


class MixtureJoint(JointDistribution):
    """P(y) = Σ_k weight_k P_k(y).

    Marginals, pairwise and cardinality are averages of the components' and exact when theirs are;
    entropy goes by enumeration. `mode` and `top` walk the components' own lists of likely vectors
    until no vector that none of them showed can win, or go by enumeration where labels are few.
    Conditioning weighs the components by how well they predicted the evidence.

    Parameters
    ----------
    weights : (K,) or (n, K) array
        Non-negative, summing to one; per row if two-dimensional.
    components : sequence of JointDistribution
        K distributions over the same rows and labels.
    label_names, row_ids, n_threads
        As in `JointDistribution`; label names and row ids are by default those of the first
        component, and row ids hold for all components.

    Examples
    --------
    Two clear-cut opinions make labels that agree:

    >>> import numpy as np
    >>> from labelweave.joint import IndependentJoint
    >>> yes, no = (IndependentJoint(np.array([[z, z]])) for z in (6.0, -6.0))
    >>> joint = MixtureJoint([0.5, 0.5], [yes, no])
    >>> joint.marginals()
    array([[0.5, 0.5]])
    >>> joint.condition({0: 1}).marginals().round(3)
    array([[1. , 0.995]])
    """

    def __init__(
        self,
        weights: npt.ArrayLike,
        components: Sequence[JointDistribution],
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        if len(components) == 0:
            raise ValueError("components must hold at least one joint distribution")
        first = components[0]
        for component in components:
            if (component.n_rows, component.n_labels) != (first.n_rows, first.n_labels):
                raise ValueError("components must have the same numbers of rows and labels")
        super().__init__(
            first.n_rows,
            first.n_labels,
            label_names=first.label_names if label_names is None else label_names,
            row_ids=first.row_ids if row_ids is None else row_ids,
            n_threads=n_threads,
        )
        self.weights = _check_weights(weights, self.n_rows, len(components))
        self.components = tuple(component._renumbered(self.row_ids) for component in components)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.weights = self.weights[index]
        part.components = tuple(component[index] for component in self.components)
        return part

    def _renumbered(self, row_ids: Indices) -> Self:
        joint = super()._renumbered(row_ids)
        joint.components = tuple(component._renumbered(row_ids) for component in self.components)
        return joint

    @property
    def known(self) -> Labels:
        """Labels that every component is certain about in the same way."""
        known = self.components[0].known
        for component in self.components[1:]:
            known = np.where(component.known == known, known, -1)
        return known

    def _log_weights(self) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(self.weights)

    def _mixed(self, log_probs: Sequence[Floats]) -> Floats:
        """Return log Σ_k weight_k exp(log_probs[k]), each (n, ...)."""
        stacked = np.stack(log_probs)
        shape = (len(self.components), self.n_rows) + (1,) * (stacked.ndim - 2)
        stacked += self._log_weights().T.reshape(shape)
        top = stacked.max(axis=0)
        total = np.zeros_like(top)
        # One after the other: NumPy's own sums round differently for different numbers of rows.
        for part in stacked:
            total += np.exp(part - np.where(np.isneginf(top), 0.0, top))
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(total))

    def _log_prob(self, Y: Labels) -> Floats:
        return self._mixed([component._log_prob(Y) for component in self.components])

    def _log_prob_of_draws(self, labels: Labels) -> Floats:
        return self._mixed([component._log_prob_of_draws(labels) for component in self.components])

    def _log_table(self, free: Indices) -> Floats:
        return self._mixed([component._log_table(free) for component in self.components])

    def _sample(self, k: int, seed: int) -> Labels:
        cumulative = np.cumsum(self.weights, axis=1)
        uniform = self._uniform(seed, k, 0) * cumulative[:, -1:]
        choice = (uniform[:, :, None] >= cumulative[:, None, :-1]).sum(axis=2)
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for i, component in enumerate(self.components):
            # Streams of their own keep the draws independent of the choice of the component.
            drawn = component._sample(k, derive_seed(seed, i))
            labels[choice == i] = drawn[choice == i]
        return labels

    def _marginals_from_draws(self, k: int, seed: int) -> tuple[Floats, Floats]:
        """Average what each component says from draws of its own."""
        parts = [
            component._marginals_from_draws(k, derive_seed(seed, i))
            for i, component in enumerate(self.components)
        ]
        share = self.weights.T[:, :, None]
        value = (share * np.stack([value for value, _ in parts])).sum(axis=0)
        error = np.sqrt(((share * np.stack([error for _, error in parts])) ** 2).sum(axis=0))
        return np.where(self.known >= 0, self.known, np.minimum(value, 1.0)), error

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        parts = [component._evidence_log_prob(known) for component in self.components]
        value = self._mixed([part.value for part in parts])
        share = np.exp(self._log_shares([part.value for part in parts]))
        error = np.stack([part.standard_error for part in parts], axis=1)
        exact = np.asarray(np.stack([part.exact for part in parts]).all(axis=0))
        return Estimate(value, np.sqrt(((share * error) ** 2).sum(axis=1)), exact)

    def _log_shares(self, log_probs: Sequence[Floats]) -> Floats:
        """Posterior log-weights (n, K) after evidence of these log-probabilities."""
        log_joint = self._log_weights() + np.stack(log_probs, axis=1)
        total = logsumexp(log_joint, axis=1, keepdims=True)
        return np.where(np.isfinite(total), log_joint - np.where(np.isfinite(total), total, 0.0), 0)

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        parts = [component._evidence_log_prob(known) for component in self.components]
        posterior = self[:]
        weights = np.exp(self._log_shares([part.value for part in parts]))
        posterior.weights = weights / weights.sum(axis=1, keepdims=True)
        posterior.components = tuple(
            component._condition(known, part)
            for component, part in zip(self.components, parts, strict=True)
        )
        return posterior

    def _normaliser_error(self) -> Floats:
        errors = np.stack([component._normaliser_error() for component in self.components], axis=1)
        return np.asarray(errors.max(axis=1))

    def _is_exact(self, quantity: Quantity) -> Mask:
        if quantity == "entropy":
            return super()._is_exact(quantity)
        exact = [component._is_exact(quantity) for component in self.components]
        return np.asarray(np.stack(exact).all(axis=0))

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity == "entropy":
            return super()._exact(quantity)
        parts = np.stack([component._exact(quantity) for component in self.components], axis=1)
        # Weights that sum to one up to rounding must not make probabilities above one, nor certain
        # labels uncertain.
        mixed = np.asarray(np.minimum(np.einsum("nk,nk...->n...", self.weights, parts), 1.0))
        if quantity == "marginals":
            return np.where(self.known >= 0, self.known, mixed)
        return mixed

    def _greedy_mode(self) -> Mode:
        """Return the best of the components' greedy vectors under the mixture.

        No vector can have more than the components' bounds allow together.
        """
        modes = [component._greedy_mode() for component in self.components]
        labels = np.stack([mode.labels for mode in modes], axis=1)
        log_prob = self._log_prob_of_draws(labels)
        best = log_prob.argmax(axis=1)[:, None]
        bound = self._mixed([mode.upper_bound for mode in modes])
        exact = self._normaliser_error() == 0
        return certified(
            np.take_along_axis(labels, best[:, :, None], axis=1)[:, 0],
            np.take_along_axis(log_prob, best, axis=1)[:, 0],
            bound,
            exact,
        )

    def greedy_path(self) -> MixtureJoint:
        """Return the mixture of the components' greedy paths."""
        mixture = self[:]
        mixture.components = tuple(component.greedy_path() for component in self.components)
        return mixture

    def _tree_parts(self) -> list[tuple[Floats, TreeJoint]] | None:
        parts: list[tuple[Floats, TreeJoint]] = []
        for log_weight, component in zip(self._log_weights().T, self.components, strict=True):
            inner = component._tree_parts()
            if inner is None:
                return None
            parts += [(log_weight + log_share, tree) for log_share, tree in inner]
        return parts

    def _mode(self) -> Mode:
        """Return the mode, proven unless that takes too long, and a bound where it is not."""
        few = (self.known < 0).sum(axis=1) <= MAX_SEARCHED
        if few.all() and self._tree_parts() is None:
            return self._exhaustive_mode(MAX_SEARCHED)
        found: Mode = _threshold.mode(self, LIST_DEPTH)
        settled = ~found.optimal & few
        return found.replaced(settled, self[settled]._exhaustive_mode(MAX_SEARCHED))

    def top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing.

        The components' own lists are walked until they prove the answer. Where they do not, rows
        with at most 16 unknown labels are enumerated; others get the best vectors seen, with a
        bound on those that may have been missed.
        """
        if self._tree_parts() is None:
            return super().top(k)
        k = min(check_whole_number(k, "k"), 2**self.n_labels)
        found = self._top_by_search(k)
        few = (self.known < 0).sum(axis=1) <= MAX_ENUMERATED
        rest = ~found.exact & few
        enumerated = super(MixtureJoint, self[rest]).top(k)
        found.labels[rest], found.log_prob[rest] = enumerated.labels, enumerated.log_prob
        found.upper_bound[rest] = enumerated.upper_bound
        return found

    def _top_by_search(self, k: int) -> Ranked:
        return _threshold.top(self, k, max(k, LIST_DEPTH))[0]


def _check_weights(weights: npt.ArrayLike, n_rows: int, n_components: int) -> Floats:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape not in ((n_components,), (n_rows, n_components)):
        raise ValueError(
            f"weights must have shape ({n_components},) or ({n_rows}, {n_components}), one per "
            f"component; got {values.shape}"
        )
    total = values.sum(axis=-1, keepdims=True)
    if not (values >= 0).all() or not (np.abs(total - 1) <= SUM_TOLERANCE).all():
        raise ValueError("weights must be non-negative and sum to one: divide them by their sum")
    return np.array(np.broadcast_to(values / total, (n_rows, n_components)))
