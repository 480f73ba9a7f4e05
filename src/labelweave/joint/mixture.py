"""MixtureJoint: weights, quantities, draws, evidence.

Mixtures: P(y) = Σ_k λ_k P_k(y) of components of any form.

Formulas: docs/design/math.md, section 3. Evidence e turns the weights into responsibilities,
λ_k P_k(e) / Σ_l λ_l P_l(e), and every component into its own posterior.

==============  ==================================================================================
`form`          weights, probabilities, quantities and draws
`evidence`      conditioning: responsibilities, and the components' posteriors
`search`        `MixtureJoint`: greedy, merged lists, and how `mode` and `top` combine them
`list_merging`  the threshold algorithm over the components' lists of vectors
`listed_part`   what components that list all their vectors make exact
==============  ==================================================================================

Weights, probabilities, quantities and draws of mixtures of joint distributions of any form.

Mixtures with evidence: components are weighed by how well they predicted it.

Mixtures some of whose components list every vector they allow.

Let S be the vectors that these components list for a row. Elsewhere the mixture is w R(y), where R
mixes the other components and w is their total weight. That makes three answers exact that
otherwise take an enumeration (docs/design/math.md, section 3):

- the mode is in S, or it is the mode m of R: any y outside S has P(y) = w R(y) ≤ w R(m) ≤ P(m);
- in the same way, the k best vectors are among S and the k best of R;
- the entropy is w (H(R) − log w) + Σ_S (q log q − P log P), where q = w R.

The most probable vectors of a mixture, from the components' own lists.

Every component lists its vectors by decreasing probability. A vector that none of the lists has
shown has at most Σ_k weight_k P_k(last vector of list k): once the best vectors seen reach that
bound, they are the best of all (a threshold algorithm in the sense of Fagin). Trees are walked
vector by vector in compiled code; other forms give longer and longer lists. Components that list
every vector they allow leave only the best vectors of the others to look for (`listed_part`).

Mixtures of joint distributions of any form, and the searches for their modes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.seeds import derive_seed
from labelweave.joint import quantities
from labelweave.joint.capabilities import (
    HasClosedMode,
    ListsItsSupport,
    near_power,
    tree_mixture_of,
)
from labelweave.joint.distribution import SUM_TOLERANCE, JointDistribution
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks
from labelweave.joint.estimate import Estimate, Quantity
from labelweave.joint.results import Mode, Ranked, SearchedMode, certified
from labelweave.joint.tree import TreeJoint, TreeMixture


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


class ConditionedMixture(MixtureForm):
    """A mixture that can be conditioned."""

    def _evidence_log_prob(self, known: Labels) -> Estimate:
        parts = [component._evidence_log_prob(known) for component in self.components]
        value = self._mixed([part.value for part in parts])
        responsibility = np.exp(self._log_responsibilities([part.value for part in parts]))
        error = np.stack([part.standard_error for part in parts], axis=1)
        exact = np.asarray(np.stack([part.exact for part in parts]).all(axis=0))
        return Estimate(value, np.sqrt(((responsibility * error) ** 2).sum(axis=1)), exact)

    def _log_responsibilities(self, log_probs: Sequence[Floats]) -> Floats:
        """Posterior log-weights (n, K) after evidence of these log-probabilities."""
        log_joint = self._log_weights() + np.stack(log_probs, axis=1)
        total = logsumexp(log_joint, axis=1, keepdims=True)
        return np.where(np.isfinite(total), log_joint - np.where(np.isfinite(total), total, 0.0), 0)

    def near_power(self, exponent: float) -> Self:
        """Return the mixture of the components' powers, each with its part of Σ_k Σ_y (λ_k P_k)^e.

        It differs from P(y)^e, for K components, by a factor of at most K^|1−e|: for e < 1,
        K^(e−1) Σ_k a_k^e ≤ (Σ_k a_k)^e ≤ Σ_k a_k^e, and the other way round for e > 1.
        """
        mixture = self[:]
        mixture.components = tuple(near_power(part, exponent) for part in self.components)
        parts = zip(self.components, mixture.components, strict=True)
        log_parts = [_log_power_sum(part, power, exponent) for part, power in parts]
        log_weights = exponent * self._log_weights() + np.stack(log_parts, axis=1)
        mixture.weights = np.exp(log_weights - logsumexp(log_weights, axis=1, keepdims=True))
        mixture._log_weight_error = np.zeros_like(mixture.weights)
        return mixture

    def _condition(self, known: Labels, log_prob: Estimate) -> JointDistribution:
        parts = [component._evidence_log_prob(known) for component in self.components]
        posterior = self[:]
        weights = np.exp(self._log_responsibilities([part.value for part in parts]))
        posterior.weights = weights / weights.sum(axis=1, keepdims=True)
        errors = np.stack([part.standard_error for part in parts], axis=1)
        posterior._log_weight_error = np.hypot(self._log_weight_error, errors)
        posterior.components = tuple(
            component._condition(known, part)
            for component, part in zip(self.components, parts, strict=True)
        )
        return posterior


def _log_power_sum(part: JointDistribution, power: JointDistribution, exponent: float) -> Floats:
    """Return log Σ_y P(y)^e by a probable vector: exact if ``power`` is P^e, else about right."""
    mode = part.closed_mode() if isinstance(part, HasClosedMode) else part.greedy_mode()
    return exponent * part._log_prob(mode.labels) - power._log_prob(mode.labels)


@dataclass(frozen=True)
class ListedPart:
    """A mixture as its listed vectors and the mixture of its other components.

    Attributes
    ----------
    vectors : (V, L) int8 array
        The vectors of all components that list them, each once.
    log_weights : (n, V) array
        What these components contribute to log P(vector); -inf for a vector that is not in S.
    rest : JointDistribution or None
        R, the mixture of the other components; None if there are none.
    log_weight : (n,) array
        log w, the weight of R.
    """

    vectors: Labels
    log_weights: Floats
    rest: JointDistribution | None
    log_weight: Floats

    def best_of_rest(self, k: int) -> Ranked:
        """Return the ``k`` vectors for which w R is largest, and a bound on w R of all others."""
        if self.rest is None:
            n = len(self.log_weight)
            none = np.full((n, k, self.vectors.shape[1]), -1, dtype=np.int8)
            return Ranked(none, np.full((n, k), -np.inf), np.full(n, -np.inf))
        if k == 1:  # most forms find their mode faster than a list
            mode = self.rest.mode()
            ranked = Ranked(mode.labels[:, None], mode.log_prob[:, None], mode.upper_bound)
        else:
            ranked = self.rest.top(k)
        return Ranked(
            ranked.labels,
            ranked.log_prob + self.log_weight[:, None],
            ranked.upper_bound + self.log_weight,
        )

    def contenders(self, k: int, most: int, log_rest: Floats) -> tuple[Indices, Floats]:
        """Return where the listed vectors are that may be among the ``k`` best of the mixture.

        A vector gains at most ``log_rest``, the largest w R. If it then still has less than k other
        vectors have by their listed weights alone, it can not be one of the k best.
        """
        order = np.argsort(-self.log_weights, axis=1, kind="stable")
        ranked = np.take_along_axis(self.log_weights, order, axis=1)
        enough = ranked[:, k - 1 : k] if k <= ranked.shape[1] else -np.inf
        highest = np.logaddexp(ranked, log_rest[:, None])
        may_win = np.isfinite(ranked) & (highest >= enough)
        left_out = np.where(may_win, highest, -np.inf)[:, most:].max(axis=1, initial=-np.inf)
        width = min(most, int(may_win.any(axis=0).sum()))
        return np.where(may_win, order, -1)[:, :width].astype(np.int64), left_out


def listed_part(joint: MixtureForm) -> ListedPart | None:
    """Return the listed part of a mixture, or None if no component lists its vectors."""
    parts = list(_components(joint, np.zeros(joint.n_rows)))
    listed = [(weight, part) for weight, part in parts if isinstance(part, ListsItsSupport)]
    if not listed:
        return None
    vectors = listed[0][1].vectors
    log_weights = listed[0][0][:, None] + listed[0][1].log_weights
    for weight, part in listed[1:]:
        vectors, (here, there) = _united(vectors, part.vectors)
        wide = np.full((2, joint.n_rows, len(vectors)), -np.inf)
        wide[0][:, here], wide[1][:, there] = log_weights, weight[:, None] + part.log_weights
        log_weights = np.logaddexp(*wide)
    others = [(weight, part) for weight, part in parts if not isinstance(part, ListsItsSupport)]
    return ListedPart(vectors, log_weights, *_mixture_of(others, joint))


def lists_vectors(joint: MixtureForm) -> bool:
    """Whether a component, also of a mixture within the mixture, lists its vectors."""
    return any(isinstance(part, ListsItsSupport) for part in _leaves(joint))


def has_exact_entropy(joint: MixtureForm) -> Mask:
    """Rows in which the entropy of all but the listed components is known exactly."""
    part = listed_part(joint)
    if part is None:
        return np.zeros(joint.n_rows, dtype=np.bool_)
    if part.rest is None:
        return np.ones(joint.n_rows, dtype=np.bool_)
    return part.rest._is_exact("entropy")


def entropy(joint: MixtureForm) -> Floats:
    """Return the entropy of rows for which `has_exact_entropy` holds, (n,)."""
    out = np.empty(joint.n_rows)
    n_vectors = sum(len(p.vectors) for p in _leaves(joint) if isinstance(p, ListsItsSupport))
    for block in row_blocks(joint.n_rows, n_vectors * joint.n_labels):
        part = listed_part(joint[block])
        assert part is not None
        out[block] = _entropy(part)
    return out


def _entropy(part: ListedPart) -> Floats:
    terms = part.log_weights
    if part.rest is None:
        return np.asarray(-_weighted_logs(terms).sum(axis=1))
    every = np.broadcast_to(part.vectors, (len(terms), *part.vectors.shape))
    of_rest = part.rest._log_prob_of_draws(every) + part.log_weight[:, None]
    gained = _weighted_logs(of_rest) - _weighted_logs(np.logaddexp(terms, of_rest))
    total = np.where(np.isfinite(terms), gained, 0.0).sum(axis=1)
    weight = np.exp(part.log_weight)
    return np.asarray(
        weight * part.rest._exact("entropy") - _weighted_logs(part.log_weight) + total
    )


def _weighted_logs(log_prob: Floats) -> Floats:
    """Return p log p, which is 0 for p = 0."""
    return np.exp(log_prob) * np.where(np.isfinite(log_prob), log_prob, 0.0)


def _leaves(joint: JointDistribution) -> Iterator[JointDistribution]:
    """Iterate over the components of mixtures of mixtures."""
    if isinstance(joint, MixtureForm):
        for component in joint.components:
            yield from _leaves(component)
    else:
        yield joint


def _components(
    joint: JointDistribution, log_weight: Floats
) -> Iterator[tuple[Floats, JointDistribution]]:
    """Iterate over the components of mixtures of mixtures, with their log-weights (n,)."""
    if isinstance(joint, MixtureForm):
        for part, component in zip(joint._log_weights().T, joint.components, strict=True):
            yield from _components(component, log_weight + part)
    else:
        yield log_weight, joint


def _united(one: Labels, other: Labels) -> tuple[Labels, tuple[Indices, Indices]]:
    """Return the vectors of two lists, each once, and where those of either list are."""
    vectors, place = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    places = place.ravel().astype(np.int64)
    return vectors, (places[: len(one)], places[len(one) :])


def _mixture_of(
    parts: list[tuple[Floats, JointDistribution]], joint: MixtureForm
) -> tuple[JointDistribution | None, Floats]:
    """Return the normalised mixture of components and the logarithm of their total weight."""
    if not parts:
        return None, np.full(joint.n_rows, -np.inf)
    if len(parts) == 1:
        return parts[0][1], parts[0][0]
    log_weights = np.stack([weight for weight, _ in parts], axis=1)
    total = np.asarray(logsumexp(log_weights, axis=1))
    # Where no component has weight, what their mixture is does not matter.
    weights = np.exp(log_weights - np.where(np.isfinite(total), total, 0.0)[:, None])
    weights[np.isneginf(total)] = 1 / len(parts)
    mixture = joint[:]
    mixture.weights = weights / weights.sum(axis=1, keepdims=True)
    mixture.components = tuple(part for _, part in parts)
    return mixture, total


# The first lists of components that are not trees, and how much longer each next one is.
FIRST_LENGTH, GROWTH = 16, 4
# Bounds and log-probabilities are the same sums in another order: what differs by less is equal.
ROUNDING = 1e-12


def merge(joint: ConditionedMixture, k: int, depth: int) -> tuple[Ranked, Indices]:
    """Return the best ``k`` vectors of each row, and how many were taken from all lists.

    At most ``depth`` vectors are taken from the list of each component.
    """
    trees = tree_mixture_of(joint)
    if trees is not None:
        return trees.top(k, depth, joint.n_threads)
    part = listed_part(joint)
    if part is not None:
        return _merge_listed_part(joint, part, k, depth)
    return _merge_growing_lists(joint, k, depth)


def _merge_listed_part(
    joint: ConditionedMixture, part: ListedPart, k: int, depth: int
) -> tuple[Ranked, Indices]:
    """Return the best of the listed vectors and of the ``k`` best of all other components."""
    rest = part.best_of_rest(k)
    log_rest = np.maximum(rest.log_prob[:, 0], rest.upper_bound)
    places, left_out = part.contenders(k, max(k, depth), log_rest)
    unseen = np.maximum(rest.upper_bound, left_out)
    labels, log_prob = np.empty_like(rest.labels), np.empty_like(rest.log_prob)
    bound = np.empty(joint.n_rows)
    for block in row_blocks(joint.n_rows, (places.shape[1] + k) * joint.n_labels):
        at = places[block]
        listed = np.where(at[:, :, None] >= 0, part.vectors[at], np.int8(-1))
        both = np.concatenate([listed, rest.labels[block]], axis=1)
        found = _best(joint[block], k, both, unseen[block])
        labels[block], log_prob[block] = found.labels, found.log_prob
        bound[block] = found.upper_bound
    return Ranked(labels, log_prob, bound), (places >= 0).sum(axis=1) + k


def _merge_growing_lists(joint: ConditionedMixture, k: int, depth: int) -> tuple[Ranked, Indices]:
    labels = np.empty((joint.n_rows, k, joint.n_labels), dtype=np.int8)
    log_prob, bound = np.empty((joint.n_rows, k)), np.empty(joint.n_rows)
    listed = np.zeros(joint.n_rows, dtype=np.int64)
    length = min(max(k, FIRST_LENGTH), max(k, depth))
    rows = np.arange(joint.n_rows)
    while len(rows):
        for block in row_blocks(len(rows), len(joint.components) * length * joint.n_labels):
            at = rows[block]
            part = _merged(joint[at], k, length)
            labels[at], log_prob[at], bound[at] = part.labels, part.log_prob, part.upper_bound
            listed[at] += length * len(joint.components)
        rows = rows[bound[rows] > log_prob[rows, -1]]
        if length >= depth:
            break
        length = min(GROWTH * length, depth)
    return Ranked(labels, log_prob, bound), listed


def _merged(joint: ConditionedMixture, k: int, length: int) -> Ranked:
    """Return the best of the components' lists under the mixture, and the bound on all others."""
    lists = [component.top(length) for component in joint.components]
    labels = np.concatenate([ranked.labels for ranked in lists], axis=1)
    return _best(joint, k, labels, joint._mixed([ranked.upper_bound for ranked in lists]))


def _best(joint: ConditionedMixture, k: int, labels: Labels, unseen: Floats) -> Ranked:
    """Return the best ``k`` of (n, m, L) vectors; no other vector is above the bound ``unseen``."""
    log_prob = joint._log_prob_of_draws(np.maximum(labels, 0))
    log_prob[(labels < 0).any(axis=2) | _repeated(labels)] = -np.inf
    unseen = np.minimum(unseen, _rest(joint, log_prob))
    best = np.argsort(-log_prob, axis=1, kind="stable")[:, :k]
    log_prob = np.take_along_axis(log_prob, best, axis=1)
    labels = np.take_along_axis(labels, best[:, :, None], axis=1)
    labels[np.isneginf(log_prob)] = -1
    last = log_prob[:, -1]
    with np.errstate(invalid="ignore"):
        settled = unseen <= last + ROUNDING * (1 + np.abs(last))
    return Ranked(labels, log_prob, np.where(settled, last, np.maximum(unseen, last)))


def _rest(joint: ConditionedMixture, log_prob: Floats) -> Floats:
    """Return what probability is left for vectors not seen, where it is known exactly."""
    rest = np.maximum(1 - np.exp(log_prob).sum(axis=1), 0.0) + ROUNDING
    return np.where(joint.log_prob_error() == 0, np.log(rest), np.inf)


def _repeated(labels: Labels) -> Mask:
    """Which of the (n, m, L) vectors already stand earlier in their row."""
    n, m, _ = labels.shape
    bits = np.packbits(labels > 0, axis=2)
    row = np.broadcast_to(np.arange(n)[:, None], (n, m))[:, :, None]
    keys = np.concatenate([np.ascontiguousarray(row).view(np.uint8), bits], axis=2)
    keys = np.ascontiguousarray(keys.reshape(n * m, -1))
    _, first = np.unique(keys.view(f"V{keys.shape[1]}").ravel(), return_index=True)
    repeated = np.ones(n * m, dtype=np.bool_)
    repeated[first] = False
    return repeated.reshape(n, m)


# Vectors of each component's list after which `top` gives up the proof.
LIST_DEPTH = 1000


class MixtureJoint(ConditionedMixture):
    """P(y) = Σ_k weight_k P_k(y).

    Marginals, pairwise and cardinality are averages of the components' and exact when theirs are;
    entropy goes by enumeration. `mode` and `top` walk the components' own lists of likely vectors
    until no vector that none of them showed can win, or go by enumeration where labels are few.
    Beside a `ListedJoint`, mode and entropy of a single component are exact whenever its own are.
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

    def greedy_mode(self) -> Mode:
        """Return the best of the components' greedy vectors under the mixture.

        No vector can have more than the components' bounds allow together.
        """
        modes = [component.greedy_mode() for component in self.components]
        labels = np.stack([mode.labels for mode in modes], axis=1)
        log_prob = self._log_prob_of_draws(labels)
        best = log_prob.argmax(axis=1)[:, None]
        bound = self._mixed([mode.upper_bound for mode in modes])
        exact = self.log_prob_error() == 0
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

    def tree_mixture(self) -> TreeMixture | None:
        """Return the trees of all components in one mixture, or None if one is not of trees."""
        log_weights: list[Floats] = []
        trees: list[TreeJoint] = []
        for log_weight, component in zip(self._log_weights().T, self.components, strict=True):
            inner = tree_mixture_of(component)
            if inner is None:
                return None
            log_weights.append(log_weight[:, None] + inner.log_weights)
            trees += inner.trees
        return TreeMixture(np.concatenate(log_weights, axis=1), tuple(trees))

    def merge_lists(self, depth: int) -> SearchedMode:
        """Return the best vector seen in at most ``depth`` vectors of each component's list."""
        ranked, listed = merge(self, 1, depth)
        labels = ranked.labels[:, 0]
        log_prob = self._log_prob(labels)
        bound = np.where(ranked.exact, log_prob, np.maximum(ranked.upper_bound, log_prob))
        return SearchedMode(labels, log_prob, bound, listed)

    def walks_lists(self) -> bool:
        """Return whether walking lists is faster than looking at all vectors of few labels."""
        return lists_vectors(self) or self.tree_mixture() is not None

    def _top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row, decreasing.

        The components' own lists are walked until they prove the result. Where they do not, rows
        with at most 16 unknown labels are enumerated; others get the best vectors seen, with a
        bound on those that may have been missed.
        """
        if not self.walks_lists():
            return super()._top(k)
        found = self.list_vectors(k)
        few = self.n_unknown <= MAX_ENUMERATED
        rest = ~found.exact & few
        enumerated = super(MixtureJoint, self[rest])._top(k)
        found.labels[rest], found.log_prob[rest] = enumerated.labels, enumerated.log_prob
        found.upper_bound[rest] = enumerated.upper_bound
        return found

    def list_vectors(self, k: int) -> Ranked:
        """Return the ``k`` best vectors of the components' lists, and a bound on all others."""
        return merge(self, k, max(k, LIST_DEPTH))[0]

    def _is_exact(self, quantity: Quantity) -> Mask:
        exact = super()._is_exact(quantity)
        return exact | has_exact_entropy(self) if quantity == "entropy" else exact

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity != "entropy":
            return super()._exact(quantity)
        out, listed = np.empty(self.n_rows), has_exact_entropy(self)
        out[listed] = entropy(self[listed])
        out[~listed] = super(MixtureJoint, self[~listed])._exact(quantity)
        return out
