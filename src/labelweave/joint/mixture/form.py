"""Weights, probabilities, quantities and draws of mixtures of joint distributions of any form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.seeds import derive_seed
from labelweave.joint import quantities
from labelweave.joint.base import JointDistribution
from labelweave.joint.checks import SUM_TOLERANCE
from labelweave.joint.estimate import Estimate, Quantity


class MixtureForm(JointDistribution):
    """P(y) = Σ_k weight_k P_k(y), in terms of the components."""

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
        self.components = tuple(component.with_row_ids(self.row_ids) for component in components)
        # Standard errors of the logarithms of the weights, if evidence had to be estimated.
        self._log_weight_error = np.zeros_like(self.weights)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.weights = self.weights[index]
        part._log_weight_error = self._log_weight_error[index]
        part.components = tuple(component[index] for component in self.components)
        return part

    def with_row_ids(self, row_ids: Indices) -> Self:
        """Return the same mixtures with other row ids, also in their components."""
        joint = super().with_row_ids(row_ids)
        joint.components = tuple(component.with_row_ids(row_ids) for component in self.components)
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

    def _from_draws(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        """Average what each component computes or draws; entropy takes draws of the mixture."""
        if quantity == "entropy":
            return super()._from_draws(quantity, k, seed)
        parts = [
            self._of_component(i, quantity, k, derive_seed(seed, i))
            for i in range(len(self.components))
        ]
        shape = (self.n_rows,) + (1,) * (parts[0].value.ndim - 1)
        shares = [weight.reshape(shape) for weight in self.weights.T]
        mean = np.zeros_like(parts[0].value)
        for share, part in zip(shares, parts, strict=True):
            mean += share * part.value
        variance = np.zeros_like(mean)
        for share, part, error in zip(shares, parts, self._log_weight_error.T, strict=True):
            variance += (share * part.standard_error) ** 2
            variance += (share * (part.value - mean) * error.reshape(shape)) ** 2
        mean = np.minimum(mean, 1.0)
        if quantity == "marginals":
            mean = np.where(self.known >= 0, self.known, mean)
        return mean, np.sqrt(variance)

    def _cells_per_row(self, quantity: Quantity, k: int) -> int:
        if quantity == "entropy":
            return super()._cells_per_row(quantity, k)
        # Components draw in blocks of their own; what they estimate is held side by side.
        return 3 * len(self.components) * quantities.result_cells(quantity, self.n_labels)

    def _of_component(self, i: int, quantity: Quantity, k: int, seed: int) -> Estimate:
        """Return a component's share; only where all are exact were draws asked for by number."""
        component, drawn = self.components[i], self._is_exact(quantity)
        found = quantities.from_draws if drawn.all() else quantities.computed_or_drawn
        if drawn.all() or not drawn.any():
            return found(component, quantity, k, seed)
        part = quantities.computed_or_drawn(component, quantity, k, seed)
        again = quantities.from_draws(component[drawn], quantity, k, seed)
        part.value[drawn], part.standard_error[drawn] = again.value, again.standard_error
        return part

    def log_prob_error(self) -> Floats:
        """Return the largest standard error of the components, (n,)."""
        errors = np.stack([component.log_prob_error() for component in self.components], axis=1)
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

    def _marginal_log_odds(self) -> Floats:
        parts = [component.marginal_log_odds() for component in self.components]
        one, zero = (self._mixed([log_expit(sign * z) for z in parts]) for sign in (1, -1))
        return one - zero


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
