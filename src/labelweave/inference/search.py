"""Greedy, Beam, BestFirst, Exhaustive: searches through partial vectors, with bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from labelweave._common.checks import check_number, check_whole_number
from labelweave.inference.strategy import Inference
from labelweave.joint import IndependentJoint, JointDistribution, MixtureJoint, Mode
from labelweave.joint.capabilities import (
    BoundedSearch,
    ChainRule,
    ClosedMode,
    Limits,
    VectorLists,
    greedy_mode,
)
from labelweave.joint.conditionals import grid_log_odds
from labelweave.joint.enumeration import enumerated_mode
from labelweave.joint.results import certified
from labelweave.joint.tempered import TemperedJoint

# No limit, as an integer that compiled searches accept.
UNLIMITED = 2**63


@dataclass(frozen=True)
class Greedy(Inference):
    """Label by label, the likelier value given the values chosen before.

    Chains go along their order, forms with a closed mode return it, and a mixture takes the best of
    its components' greedy vectors. The bound limits the distance of the result from the mode.

    Examples
    --------
    The first label is likelier positive, but this probability is shared by both second values:

    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Greedy()(joint)
    >>> mode.labels, mode.optimal
    (array([[1, 0]], dtype=int8), array([False]))
    >>> joint.mode().labels
    array([[0, 0]], dtype=int8)
    """

    def _search(self, joint: JointDistribution) -> Mode:
        return greedy_mode(joint)


def greedy_path(joint: JointDistribution) -> JointDistribution:
    """Return the distribution that a plain classifier chain uses in place of P(y).

    Each label has its probability given the greedy values of the earlier labels, and the product of
    these probabilities differs from P(y). The result for a mixture is the mixture of the results
    for its components; a form that is no chain, such as a tree, is returned as it is.
    """
    if isinstance(joint, MixtureJoint):
        return joint.with_components(greedy_path(part) for part in joint.components)
    if isinstance(joint, TemperedJoint):
        return greedy_path(joint.base).tempered(joint.temperature, samples=joint.samples)
    if not isinstance(joint, ChainRule):
        return joint
    conditionals, chosen = joint.conditionals, greedy_mode(joint).labels[:, None, :]
    scores = np.empty((joint.n_rows, joint.n_labels))
    for position, label in enumerate(conditionals.order):
        before = conditionals.order[:position]
        scores[:, label] = grid_log_odds(conditionals.log_odds_of, int(label), chosen, before)[:, 0]
    # A known label is certain, whatever its conditional.
    scores = np.where(joint.known >= 0, np.where(joint.known == 1, np.inf, -np.inf), scores)
    return IndependentJoint(
        scores, label_names=joint.label_names, row_ids=joint.row_ids, n_threads=joint.n_threads
    )


@dataclass(frozen=True)
class Beam(Inference):
    """The best vector found when the most probable prefixes survive each label of a chain.

    A width of one is greedy inference. A missed vector has a dropped prefix, so the best dropped
    prefix bounds the mode, and wide beams often give a proof. The time grows in proportion to the
    width and, unlike the time of `BestFirst`, does not depend on how hard a row is. In a field, the
    partial vectors with the highest bounds survive. In a mixture, each component's list gives
    ``width`` vectors. All other forms get the mode of `Auto`.

    Parameters
    ----------
    width : int, default=16
        Prefixes that survive each label; each takes 8 bytes per label in every thread.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> Beam(width=1)(joint).labels, Beam(width=2)(joint).labels
    (array([[1, 0]], dtype=int8), array([[0, 0]], dtype=int8))
    """

    width: int = 16

    def __post_init__(self) -> None:
        check_whole_number(self.width, "width", 1, 2**20)

    def _search(self, joint: JointDistribution) -> Mode:
        if isinstance(joint, ClosedMode) or not isinstance(joint, VectorLists):
            return joint.mode()
        found = joint.best_vectors(1, int(self.width))
        labels, lost = found.labels[:, 0], np.isneginf(found.log_prob[:, 0])
        if lost.any():  # every prefix that survived turned out to be impossible
            labels = np.where(lost[:, None], greedy_mode(joint).labels, labels)
        log_prob = joint.log_prob(labels)
        # This sum may round differently from the list's: a bound that one of them meets, both meet.
        bound = np.where(found.exact, log_prob, found.upper_bound)
        return certified(labels, log_prob, bound, joint.log_prob_error() == 0)


@dataclass(frozen=True)
class BestFirst(Inference):
    """The mode by a search for it, proven optimal unless a limit comes first.

    *Chains* are searched best-first from the greedy vector, so the result is never worse. A prefix
    is dropped when an upper bound shows that no continuation can win. With linear conditionals the
    bound gives every later label the best score that its undecided predecessors allow; with other
    conditionals it is the prefix's own probability. Where a limit ends the search, ``upper_bound``
    is the best bound still open.

    *Fields* are searched by branch and bound, and *mixtures* by merging their components' lists (a
    threshold algorithm: docs/design/math.md, section 3). The budget is the only limit of both. All
    other forms get the mode of `Auto`.

    Parameters
    ----------
    budget : int, default=100_000
        The most prefixes to examine in each row, or ten times the most vectors to take from each
        list of a mixture's components. It limits time and memory.
    epsilon : float, default=0.0
        Stop a row when its vector is proven to be within ``epsilon`` (in nats) of the mode.
    seconds : float, optional
        Stop all rows after this time; only this limit makes results depend on the machine.
    least : float, default=0.0
        Follow only prefixes of at least this probability, at most 1/least at each label: the
        ε-approximate inference of Dembczyński, Waegeman and Hüllermeier (2012). Where nothing
        survives, the result is the greedy vector, or a better one that turned up on the way.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> rng = np.random.default_rng(0)
    >>> coupling = np.tril(rng.normal(size=(40, 40)), -1)
    >>> joint = ChainJoint(4 * rng.normal(size=(100, 40)), coupling)
    >>> mode = BestFirst()(joint)
    >>> bool(mode.optimal.all()), int(np.median(mode.nodes)) < 1000
    (True, True)
    >>> BestFirst(budget=10)(joint).optimal.mean() < 1
    np.True_
    """

    budget: int = 100_000
    epsilon: float = 0.0
    seconds: float | None = None
    least: float = 0.0

    def __post_init__(self) -> None:
        check_whole_number(self.budget, "budget")
        check_number(self.epsilon, "epsilon", minimum=0.0, finite=False)
        check_number(self.least, "least", minimum=0.0, maximum=1.0)
        if self.seconds is not None:
            check_number(self.seconds, "seconds", minimum=0.0, finite=False)

    @property
    def seeks_proof(self) -> bool:
        """Whether a decision warns of unproven modes: not if `least` excludes improbable ones."""
        return self.least == 0

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the best vectors found, their bounds, and the nodes it took."""
        found = joint.search(self._limits()) if isinstance(joint, BoundedSearch) else joint.mode()
        if found.nodes is None:
            found = replace(found, nodes=np.zeros(joint.n_rows, dtype=np.int64))
        return found

    def _limits(self) -> Limits:
        seconds = float("inf") if self.seconds is None else float(self.seconds)
        # A mode of exactly this probability is found, too, because the limit is slightly lower.
        least = math.log(self.least) - 1e-12 if self.least > 0 else -math.inf
        budget = min(int(self.budget), UNLIMITED)
        return Limits(budget, float(self.epsilon), seconds, least)


@dataclass(frozen=True)
class Exhaustive(Inference):
    """The mode, proven by looking at every label vector that could be it.

    For chains with linear conditionals it is `BestFirst` without a budget. ``prune=False``
    enumerates all 2^L vectors, as exact inference for classifier chains was published; other forms
    are enumerated in any case.

    Parameters
    ----------
    max_labels : int, default=20
        The most unknown labels of a row; every further label doubles the work of the worst case.
        Enumeration holds a row's 2^L probabilities in memory, 32 MB for 22 labels.
    prune : bool, default=True
        Whether chains skip vectors that an upper bound excludes.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.joint import ChainJoint
    >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
    >>> mode = Exhaustive()(joint)
    >>> mode.labels, mode.optimal
    (array([[0, 0]], dtype=int8), array([ True]))
    """

    max_labels: int = 20
    prune: bool = True

    def check_n_labels(self, n_labels: int) -> None:
        """Refuse distributions of more labels than ``max_labels`` before one is made."""
        if n_labels > self.max_labels:
            raise ValueError(
                f"inference={self!r} cannot decide {n_labels} labels: use inference='auto' "
                "(method auto on the command line), or a larger max_labels"
            )

    def _search(self, joint: JointDistribution) -> Mode:
        """Return the modes; ValueError if a row has more unknown labels than ``max_labels``."""
        unknown = int(joint.n_unknown.max(initial=0))
        if unknown > self.max_labels:
            raise ValueError(
                f"exact search for the mode would look at 2^{unknown} label vectors and is limited "
                f"to {self.max_labels} unknown labels: use inference=Greedy() or Auto(), or a "
                "larger limit with inference=Exhaustive(max_labels=...)"
            )
        linear = isinstance(joint, ChainRule) and joint.conditionals.linear is not None
        if self.prune and linear and isinstance(joint, BoundedSearch):
            return joint.search(Limits(UNLIMITED))
        return enumerated_mode(joint)
