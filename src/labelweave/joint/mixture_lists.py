"""ListMerger: the most probable vectors of a mixture from its components' own lists.

Every component lists its vectors by decreasing probability. A vector that none of the lists has
shown has at most Σ_k weight_k P_k(last vector of list k): once the best vectors seen reach that
bound, they are the best of all (a threshold algorithm in the sense of Fagin). Trees are walked
vector by vector in compiled code; other forms give longer and longer lists.

Components may list *every* vector they allow (`ListedJoint`). Let S be the vectors that these
components list for a row. Elsewhere the mixture is w R(y), where R mixes the other components and w
is their total weight: so the mode, the k best vectors and the entropy follow from S and R without
an enumeration (docs/design/math.md, section 3.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.joint.distribution import JointDistribution
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.listed import ListedJoint
from labelweave.joint.results import ROUNDING, Ranked, Rows, assembled

if TYPE_CHECKING:
    from labelweave.joint.mixture import MixtureJoint

# The first lists of components that are not trees, and how much longer each next one is.
FIRST_LENGTH, GROWTH = 16, 4


@dataclass(frozen=True)
class ListMerger:
    """The lists of a mixture's components."""

    joint: MixtureJoint

    def merged(self, k: int, depth: int) -> tuple[Ranked, Indices]:
        """Return the best ``k`` vectors of each row, and how many were taken from all lists.

        At most ``depth`` vectors are taken from the list of each component.
        """
        trees = self.joint.as_trees()
        if trees is not None:
            return trees.top(k, depth, self.joint.n_threads)
        part = self.listed_part()
        if part is not None:
            return self._with_listed_part(part, k, depth)
        return self._growing(k, depth)

    # ------------------------------------------------------------------ listed components

    def hold_listed_part(self) -> bool:
        """Return whether a component, also one of a mixture within it, lists its vectors."""
        return any(isinstance(part, ListedJoint) for _, part in self.joint.leaves())

    def listed_part(self) -> ListedPart | None:
        """Return the listed part of the mixture, or None if no component lists its vectors."""
        leaves = self.joint.leaves()
        listed = [(weight, part) for weight, part in leaves if isinstance(part, ListedJoint)]
        others = [(weight, part) for weight, part in leaves if not isinstance(part, ListedJoint)]
        if not listed:
            return None
        vectors = listed[0][1].vectors
        log_weights = listed[0][0][:, None] + listed[0][1].log_weights
        for weight, part in listed[1:]:
            vectors, (here, there) = _united(vectors, part.vectors)
            wide = np.full((2, self.joint.n_rows, len(vectors)), -np.inf)
            wide[0][:, here], wide[1][:, there] = log_weights, weight[:, None] + part.log_weights
            log_weights = np.logaddexp(*wide)
        return ListedPart(vectors, log_weights, *self._mixture_of(others))

    def _mixture_of(
        self, parts: list[tuple[Floats, JointDistribution]]
    ) -> tuple[JointDistribution | None, Floats]:
        """Return the normalised mixture of components and the logarithm of their total weight."""
        if not parts:
            return None, np.full(self.joint.n_rows, -np.inf)
        if len(parts) == 1:
            return parts[0][1], parts[0][0]
        log_weights = np.stack([weight for weight, _ in parts], axis=1)
        total = np.asarray(logsumexp(log_weights, axis=1))
        # Where no component has weight, what their mixture is does not matter.
        weights = np.exp(log_weights - np.where(np.isfinite(total), total, 0.0)[:, None])
        weights[np.isneginf(total)] = 1 / len(parts)
        mixture = self.joint.with_components(part for _, part in parts)
        mixture.weights = weights / weights.sum(axis=1, keepdims=True)
        return mixture, total

    def has_exact_entropy(self) -> Mask:
        """Return the rows in which the entropy of all but the listed components is exact."""
        part = self.listed_part()
        if part is None:
            return np.zeros(self.joint.n_rows, dtype=np.bool_)
        if part.rest is None:
            return np.ones(self.joint.n_rows, dtype=np.bool_)
        return part.rest._is_exact("entropy")

    def entropy(self) -> Floats:
        """Return the entropy of rows for which `has_exact_entropy` holds, (n,)."""
        joint, out = self.joint, np.empty(self.joint.n_rows)
        listed = [part for _, part in joint.leaves() if isinstance(part, ListedJoint)]
        n_vectors = sum(len(part.vectors) for part in listed)
        for block in row_blocks(joint.n_rows, n_vectors * joint.n_labels):
            part = ListMerger(joint[block]).listed_part()
            assert part is not None
            out[block] = part.entropy()
        return out

    def _with_listed_part(self, part: ListedPart, k: int, depth: int) -> tuple[Ranked, Indices]:
        """Return the best of the listed vectors and of the ``k`` best of all other components."""
        joint, rest = self.joint, part.best_of_rest(k)
        log_rest = np.maximum(rest.log_prob[:, 0], rest.upper_bound)
        places, left_out = part.contenders(k, max(k, depth), log_rest)
        unseen = np.maximum(rest.upper_bound, left_out)
        parts: list[tuple[Rows, Ranked]] = [(slice(None), rest)]
        for block in row_blocks(joint.n_rows, (places.shape[1] + k) * joint.n_labels):
            at = places[block]
            listed = np.where(at[:, :, None] >= 0, part.vectors[at], np.int8(-1))
            both = np.concatenate([listed, rest.labels[block]], axis=1)
            parts.append((block, _best(joint[block], k, both, unseen[block])))
        return assembled(joint.n_rows, parts), (places >= 0).sum(axis=1) + k

    # ------------------------------------------------------------------ growing lists

    def _growing(self, k: int, depth: int) -> tuple[Ranked, Indices]:
        """Return the best of lists that grow until they prove them."""
        joint = self.joint
        parts: list[tuple[Rows, Ranked]] = []
        listed = np.zeros(joint.n_rows, dtype=np.int64)
        length = min(max(k, FIRST_LENGTH), max(k, depth))
        rows = np.arange(joint.n_rows)
        while len(rows):
            still_open = []
            for block in row_blocks(len(rows), len(joint.components) * length * joint.n_labels):
                at = rows[block]
                part = _merged(joint[at], k, length)
                parts.append((at, part))
                listed[at] += length * len(joint.components)
                still_open.append(at[~part.exact])
            rows = np.concatenate(still_open)
            if length >= depth:
                break
            length = min(GROWTH * length, depth)
        if not parts:  # no rows: only the shape matters
            parts.append((rows, _merged(joint, k, length)))
        return assembled(joint.n_rows, parts), listed


@dataclass(frozen=True)
class ListedPart:
    """A mixture as its listed vectors and the mixture of its other components.

    In the notation above, ``rest`` is R and ``log_weight`` (n,) is log w. The listed components
    contribute ``log_weights`` (n, V) to log P of their ``vectors`` (V, L), each of which is there
    once; -inf stands for a vector that is not in S.
    """

    vectors: Labels
    log_weights: Floats
    rest: JointDistribution | None
    log_weight: Floats

    def best_of_rest(self, k: int) -> Ranked:
        """Return the ``k`` vectors for which w R is largest, and a bound on w R of all others."""
        if self.rest is None:
            none = np.empty((len(self.log_weight), 0, self.vectors.shape[1]), dtype=np.int8)
            return Ranked.padded(none, np.empty(none.shape[:2]), k, -np.inf)
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

    def entropy(self) -> Floats:
        """Return the entropy of the mixture, if that of the rest is exact, (n,)."""
        terms = self.log_weights
        if self.rest is None:
            return np.asarray(-_weighted_logs(terms).sum(axis=1))
        every = np.broadcast_to(self.vectors, (len(terms), *self.vectors.shape))
        of_rest = self.rest._log_prob(every) + self.log_weight[:, None]
        gained = _weighted_logs(of_rest) - _weighted_logs(np.logaddexp(terms, of_rest))
        total = np.where(np.isfinite(terms), gained, 0.0).sum(axis=1)
        entropy = np.exp(self.log_weight) * self.rest._exact("entropy")
        return np.asarray(entropy - _weighted_logs(self.log_weight) + total)


def _weighted_logs(log_prob: Floats) -> Floats:
    """Return p log p, which is 0 for p = 0."""
    return np.exp(log_prob) * np.where(np.isfinite(log_prob), log_prob, 0.0)


def _united(one: Labels, other: Labels) -> tuple[Labels, tuple[Indices, Indices]]:
    """Return the vectors of two lists, each once, and where those of either list are."""
    vectors, place = np.unique(np.concatenate([one, other]), axis=0, return_inverse=True)
    places = place.ravel().astype(np.int64)
    return vectors, (places[: len(one)], places[len(one) :])


def _merged(joint: MixtureJoint, k: int, length: int) -> Ranked:
    """Return the best of the components' lists under the mixture, and the bound on all others."""
    lists = [component.top(length) for component in joint.components]
    labels = np.concatenate([ranked.labels for ranked in lists], axis=1)
    return _best(joint, k, labels, joint._mixed([ranked.upper_bound for ranked in lists]))


def _best(joint: MixtureJoint, k: int, labels: Labels, unseen: Floats) -> Ranked:
    """Return the best ``k`` of (n, m, L) vectors; no other vector is above the bound ``unseen``."""
    log_prob = joint._log_prob(np.maximum(labels, 0))
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


def _rest(joint: MixtureJoint, log_prob: Floats) -> Floats:
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
