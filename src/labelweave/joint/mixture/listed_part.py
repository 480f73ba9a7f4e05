"""Mixtures some of whose components list every vector they allow.

Let S be the vectors that these components list for a row. Elsewhere the mixture is w R(y), where R
mixes the other components and w is their total weight. That makes three answers exact that
otherwise take an enumeration (docs/design/math.md, section 3):

- the mode is in S, or it is the mode m of R: any y outside S has P(y) = w R(y) ≤ w R(m) ≤ P(m);
- in the same way, the k best vectors are among S and the k best of R;
- the entropy is w (H(R) − log w) + Σ_S (q log q − P log P), where q = w R.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.base import JointDistribution
from labelweave.joint.capabilities import ListsItsSupport
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.mixture.form import MixtureForm
from labelweave.joint.mode import Ranked


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

        Returns
        -------
        places : (n, m) array
            Places in ``vectors``, at most ``most``, by decreasing weight; -1 after the last.
        left_out : (n,) array
            Bound on log P of contenders beyond ``most``; -inf where there are none.
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
