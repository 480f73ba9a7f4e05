"""Mixtures of joint distributions of any form, and the searches for their modes."""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats, Mask
from labelweave.joint.capabilities import tree_mixture_of
from labelweave.joint.enumeration import MAX_ENUMERATED
from labelweave.joint.estimate import Quantity
from labelweave.joint.mixture import list_merging, listed_part
from labelweave.joint.mixture.evidence import ConditionedMixture
from labelweave.joint.mode import Mode, Ranked, SearchedMode, certified
from labelweave.joint.tree import TreeJoint, TreeMixture

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
        ranked, listed = list_merging.merge(self, 1, depth)
        labels = ranked.labels[:, 0]
        log_prob = self._log_prob(labels)
        bound = np.where(ranked.exact, log_prob, np.maximum(ranked.upper_bound, log_prob))
        return SearchedMode(labels, log_prob, bound, listed)

    def walks_lists(self) -> bool:
        """Return whether walking lists is faster than looking at all vectors of few labels."""
        return listed_part.lists_vectors(self) or self.tree_mixture() is not None

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
        return list_merging.merge(self, k, max(k, LIST_DEPTH))[0]

    def _is_exact(self, quantity: Quantity) -> Mask:
        exact = super()._is_exact(quantity)
        return exact | listed_part.has_exact_entropy(self) if quantity == "entropy" else exact

    def _exact(self, quantity: Quantity) -> Floats:
        if quantity != "entropy":
            return super()._exact(quantity)
        out, listed = np.empty(self.n_rows), listed_part.has_exact_entropy(self)
        out[listed] = listed_part.entropy(self[listed])
        out[~listed] = super(MixtureJoint, self[~listed])._exact(quantity)
        return out
