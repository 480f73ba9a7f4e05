"""MixtureJoint: P(y) = Σ_k λ_k P_k(y) of components of any form.

Given evidence e, the weights become responsibilities, λ_k P_k(e) / Σ_l λ_l P_l(e), and every
component becomes its own posterior. Formulas: docs/design/math.md, section 3.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import ClassVar, Self, Unpack

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import derive_seed
from labelweave.joint import quantities
from labelweave.joint.capabilities import Limits, greedy_mode, near_power, trees_of
from labelweave.joint.distribution import SUM_TOLERANCE, JointDistribution, RowOptions
from labelweave.joint.mixture_lists import ListMerger
from labelweave.joint.quantities import Estimate, Quantity
from labelweave.joint.results import Mode, Ranked, certified
from labelweave.joint.tree import MixtureOfTrees, TreeJoint

# The most vectors taken from each component's list in a search for the best ones.
LIST_DEPTH = 1000
# A vector taken from each list counts as this many partial vectors of a search.
VECTOR_COST = 10


class MixtureJoint(JointDistribution):
    """P(y) = Σ_k weight_k P_k(y).

    Marginals, pairwise and cardinality are averages over the components, and exact if theirs are;
    the entropy needs enumeration. `mode` and `top` walk the components' own lists of likely
    vectors, or enumerate where labels are few. In a mixture of a `ListedJoint` and one other
    component, mode and entropy are exact whenever those of the other component are.

    Parameters
    ----------
    weights : (K,) or (n, K) array
        Non-negative, summing to one; per row if two-dimensional.
    components : sequence of JointDistribution
        K distributions over the same rows and labels.
    **rows
        ``label_names``, ``row_ids`` and ``n_threads``, as in `JointDistribution`; names and ids
        default to those of the first component, and row ids apply to all components.

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

    exact_powers: ClassVar[bool] = False

    def __init__(
        self,
        weights: npt.ArrayLike,
        components: Sequence[JointDistribution],
        **rows: Unpack[RowOptions],
    ) -> None:
        if len(components) == 0:
            raise ValueError("components must hold at least one joint distribution")
        first = components[0]
        for component in components:
            if (component.n_rows, component.n_labels) != (first.n_rows, first.n_labels):
                raise ValueError("components must have the same numbers of rows and labels")
        if rows.get("label_names") is None:
            rows["label_names"] = first.label_names
        if rows.get("row_ids") is None:
            rows["row_ids"] = first.row_ids
        super().__init__(first.n_rows, first.n_labels, **rows)
        self.weights = _check_weights(weights, self.n_rows, len(components))
        self.components = tuple(component.with_row_ids(self.row_ids) for component in components)
        # Standard errors of the log-weights, if the probability of evidence was estimated.
        self._log_weight_error = np.zeros_like(self.weights)

    def _take(self, index: Indices) -> Self:
        part = super()._take(index)
        part.weights = self.weights[index]
        part._log_weight_error = self._log_weight_error[index]
        part.components = tuple(component[index] for component in self.components)
        return part

    def with_row_ids(self, row_ids: npt.ArrayLike | None) -> Self:
        """Return the same mixtures with other row ids, also in their components."""
        joint = super().with_row_ids(row_ids)
        joint.components = tuple(component.with_row_ids(row_ids) for component in self.components)
        return joint

    @property
    def known(self) -> Labels:
        """Labels that have the same known value in every component, (n, L) int8; else -1."""
        known = self.components[0].known
        for component in self.components[1:]:
            known = np.where(component.known == known, known, -1)
        return known

    def with_components(self, components: Iterable[JointDistribution]) -> Self:
        """Return the mixture of other components with the same weights."""
        mixture = copy.copy(self)
        mixture.components = tuple(components)
        return mixture

    def leaves(self, log_weight: Floats | float = 0.0) -> list[tuple[Floats, JointDistribution]]:
        """Return the components, with nested mixtures taken apart, and their log-weights."""
        found: list[tuple[Floats, JointDistribution]] = []
        for own, part in zip(self._log_weights().T, self.components, strict=True):
            within = log_weight + own
            found += part.leaves(within) if isinstance(part, MixtureJoint) else [(within, part)]
        return found

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
        # One after the other, since NumPy's sums round differently for other numbers of rows.
        for part in stacked:
            total += np.exp(part - np.where(np.isneginf(top), 0.0, top))
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(total))

    # ------------------------------------------------------------------ probabilities

    def _log_prob(self, vectors: Labels) -> Floats:
        return self._mixed([component._log_prob(vectors) for component in self.components])

    def _table(self, free: Indices) -> Floats:
        return self._mixed([component._table(free) for component in self.components])

    def _sample(self, k: int, seed: int) -> Labels:
        cumulative = np.cumsum(self.weights, axis=1)
        uniform = self._uniform(seed, k, 0) * cumulative[:, -1:]
        choice = (uniform[:, :, None] >= cumulative[:, None, :-1]).sum(axis=2)
        labels = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for i, component in enumerate(self.components):
            # Separate streams keep the draws independent of the choice of the component.
            drawn = component._sample(k, derive_seed(seed, i))
            labels[choice == i] = drawn[choice == i]
        return labels

    def _drawn(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        """Average the components' values or estimates; entropy needs draws of the mixture."""
        if quantity == "entropy":
            return super()._drawn(quantity, k, seed)
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
        # Components draw in their own blocks; the estimates of all are held at the same time.
        return 3 * len(self.components) * math.prod(quantities.shape(self, quantity)[1:])

    def _of_component(self, i: int, quantity: Quantity, k: int, seed: int) -> Estimate:
        """Return a component's quantity; draws were requested where all are exact."""
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
            return super()._is_exact(quantity) | self._lists.has_exact_entropy()
        exact = [component._is_exact(quantity) for component in self.components]
        return np.asarray(np.stack(exact).all(axis=0))

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity == "entropy":
            out, listed = np.empty(self.n_rows), self._lists.has_exact_entropy()
            out[listed] = self[listed]._lists.entropy()
            out[~listed] = quantities.by_enumeration(self[~listed], quantity)
            return out
        parts = np.stack([component._exact(quantity) for component in self.components], axis=1)
        # Weights sum to one only up to rounding: this must not make probabilities above one, or
        # certain labels uncertain.
        mixed = np.asarray(np.minimum(np.einsum("nk,nk...->n...", self.weights, parts), 1.0))
        if quantity == "marginals":
            return np.where(self.known >= 0, self.known, mixed)
        return mixed

    def _marginal_log_odds(self) -> Floats:
        parts = [component.marginal_log_odds() for component in self.components]
        one, zero = (self._mixed([log_expit(sign * z) for z in parts]) for sign in (1, -1))
        return one - zero

    # ------------------------------------------------------------------ Bayes' rule and powers

    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        """Turn weights into responsibilities, λ_k P_k(e) / Σ_l λ_l P_l(e); clamp the components."""
        clamped = [component._clamp(known) for component in self.components]
        parts = [log_prob for _, log_prob in clamped]
        responsibility = np.exp(self._log_responsibilities([part.value for part in parts]))
        errors = np.stack([part.standard_error for part in parts], axis=1)
        log_prob = Estimate(
            self._mixed([part.value for part in parts]),
            np.sqrt(((responsibility * errors) ** 2).sum(axis=1)),
            np.asarray(np.stack([part.exact for part in parts]).all(axis=0)),
        )
        posterior = self.with_components(component for component, _ in clamped)
        posterior.weights = responsibility / responsibility.sum(axis=1, keepdims=True)
        posterior._log_weight_error = np.hypot(self._log_weight_error, errors)
        return posterior, log_prob

    def _log_responsibilities(self, log_probs: Sequence[Floats]) -> Floats:
        """Return posterior log-weights (n, K) after evidence of these log-probabilities."""
        log_joint = self._log_weights() + np.stack(log_probs, axis=1)
        total = logsumexp(log_joint, axis=1, keepdims=True)
        return np.where(np.isfinite(total), log_joint - np.where(np.isfinite(total), total, 0.0), 0)

    def power(self, exponent: float) -> Self:
        """Return the mixture of the components' powers, weighted by their Σ_y (λ_k P_k)^e.

        For K components it differs from P(y)^e by a factor of at most K^|1−e|: for e < 1,
        K^(e−1) Σ_k a_k^e ≤ (Σ_k a_k)^e ≤ Σ_k a_k^e, and vice versa for e > 1.
        """
        mixture = self.with_components([near_power(part, exponent) for part in self.components])
        parts = zip(self.components, mixture.components, strict=True)
        log_parts = [_log_power_sum(part, power, exponent) for part, power in parts]
        log_weights = exponent * self._log_weights() + np.stack(log_parts, axis=1)
        mixture.weights = np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))
        mixture._log_weight_error = np.zeros_like(mixture.weights)
        return mixture

    # ------------------------------------------------------------------ search

    @property
    def _lists(self) -> ListMerger:
        return ListMerger(self)

    @property
    def lists_first(self) -> bool:
        """Whether walking lists is faster than enumerating the vectors of few labels."""
        return self._lists.hold_listed_part() or self.as_trees() is not None

    @property
    def search_first(self) -> bool:
        """As `lists_first`, because the search walks the same lists."""
        return self.lists_first

    def as_trees(self) -> MixtureOfTrees | None:
        """Return the trees of all components in one mixture; None if a component has others."""
        log_weights: list[Floats] = []
        trees: list[TreeJoint] = []
        for log_weight, component in zip(self._log_weights().T, self.components, strict=True):
            inner = trees_of(component)
            if inner is None:
                return None
            log_weights.append(log_weight[:, None] + inner.log_weights)
            trees += inner.trees
        return MixtureOfTrees(np.concatenate(log_weights, axis=1), tuple(trees))

    def search(self, limits: Limits, start: Mode | None = None) -> Mode:
        """Return the best vector of the components' lists, and a bound on all others.

        A tenth of the budget is the number of vectors taken from each list; ``nodes`` counts them.
        """
        if limits.budget == 0:
            return self._greedy()
        ranked, listed = self._lists.merged(1, max(1, limits.budget // VECTOR_COST))
        labels = ranked.labels[:, 0]
        log_prob = self._log_prob_of(labels)
        bound = np.where(ranked.exact, log_prob, np.maximum(ranked.upper_bound, log_prob))
        return Mode(labels, log_prob, bound, listed)

    def _greedy(self) -> Mode:
        """Return the best of the components' greedy vectors under the mixture.

        The weighted sum of the components' bounds holds for every vector.
        """
        modes = [greedy_mode(component) for component in self.components]
        labels = np.stack([mode.labels for mode in modes], axis=1)
        log_prob = self._log_prob(labels)
        best = log_prob.argmax(axis=1)[:, None]
        bound = self._mixed([mode.upper_bound for mode in modes])
        exact = self.log_prob_error() == 0
        return certified(
            np.take_along_axis(labels, best[:, :, None], axis=1)[:, 0],
            np.take_along_axis(log_prob, best, axis=1)[:, 0],
            bound,
            exact,
        )

    def best_vectors(self, k: int, width: int | None = None) -> Ranked:
        """Return the ``k`` best vectors of the components' lists, and a bound on all others."""
        return self._lists.merged(k, max(k, width or LIST_DEPTH))[0]


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


def _log_power_sum(part: JointDistribution, power: JointDistribution, exponent: float) -> Floats:
    """Return log Σ_y P(y)^e from one probable vector: exact if ``power`` is P^e, else estimated."""
    labels = greedy_mode(part).labels
    return exponent * part._log_prob_of(labels) - power._log_prob_of(labels)
