"""JointDistribution: a batch of rows, its queries and Bayes' rule; what a form implements.

A form **must** implement ``_take``, which selects the rows of its own arrays, ``_log_prob``,
``_sample`` and ``_table``, which are the distribution itself, and ``_clamp`` and ``known`` for its
posterior. That is enough for every query, and for every strategy while few labels are unknown. To
be fast, or exact where enumeration is out of reach, it **may** override the other private methods
and have any of the capabilities in `labelweave.joint.capabilities`: by these, never by the class,
strategies decide what they run.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Self, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.checks import (
    RandomState,
    check_choice,
    check_label,
    check_label_values,
    check_labels,
    check_number,
    check_whole_number,
    resolve_seed,
)
from labelweave._common.wording import counted, left_out
from labelweave.joint import quantities
from labelweave.joint.capabilities import ChainRule, Powers
from labelweave.joint.enumeration import MAX_ENUMERATED, row_blocks
from labelweave.joint.events import Query, parse_query, probability
from labelweave.joint.pairs import log_odds_ratios, mutual_information
from labelweave.joint.quantities import QUANTITIES, Estimate, Quantity
from labelweave.joint.results import Found, Mode, Ranked, frame_html

if TYPE_CHECKING:
    from labelweave.decision import Decided
    from labelweave.joint.tempered import TemperedJoint

# How far the probabilities or weights of a row may be from summing to one.
SUM_TOLERANCE = 1e-6


class RowOptions(TypedDict, total=False):
    """The keyword arguments that all forms take."""

    label_names: Sequence[str] | None
    row_ids: npt.ArrayLike | None
    n_threads: int


def check_label_names(names: Sequence[str] | None, n_labels: int) -> tuple[str, ...] | None:
    """Label names as a tuple of distinct strings, one per label."""
    if names is None:
        return None
    result = tuple(str(name) for name in names)
    if len(result) != n_labels or len(set(result)) != n_labels:
        raise ValueError(
            f"label_names must be {n_labels} distinct names, one per label; got {result!r}"
        )
    return result


def check_row_ids(row_ids: npt.ArrayLike | None, n_rows: int) -> Indices:
    """Row ids as int64; by default the rows are numbered from zero."""
    if row_ids is None:
        return np.arange(n_rows, dtype=np.int64)
    ids = np.ascontiguousarray(row_ids, dtype=np.int64)
    if ids.shape != (n_rows,):
        raise ValueError(f"row_ids must have one id for each of the {n_rows} rows")
    return ids


# From label index or name to 0 or 1, or to an (n,) array of 0, 1 and -1 (unknown).
Evidence: TypeAlias = Mapping[int | str, npt.ArrayLike]


def resolve_evidence(
    evidence: Evidence, n_rows: int, n_labels: int, label_names: tuple[str, ...] | None
) -> Labels:
    """Evidence as an int8 matrix of 0, 1 and -1 (unknown), one row per instance."""
    known = np.full((n_rows, n_labels), -1, dtype=np.int8)
    seen: set[int] = set()
    for key, value in evidence.items():
        label = check_label(key, "evidence", n_labels, label_names)
        if label in seen:
            raise ValueError(f"evidence names label {label} twice, by index and by name")
        seen.add(label)
        values = np.asarray(value)
        if values.shape not in ((), (n_rows,)):
            raise ValueError(
                f"evidence[{key!r}] must be one value or an array of {n_rows} values, one per row; "
                f"its shape is {values.shape}"
            )
        known[:, label] = check_label_values(values, (-1, 0, 1), f"evidence[{key!r}]")
    return known


#: How to look for the mode: a strategy of `labelweave.inference`, or another callable.
Strategy: TypeAlias = Callable[["JointDistribution"], Mode]

# Notebooks show this many rows and labels, and draw so often, if there are at most so many labels:
# they show a value without being asked, which must not take long.
_SHOWN_ROWS, _SHOWN_LABELS = 5, 12
_SHOWN_DRAWS, _MOST_DRAWN = 100, 200


class JointDistribution(ABC):
    """A batch of distributions over label vectors y in {0, 1}^L, one for each row.

    Every query is put to the whole batch and concerns each row on its own.

    **Exact or estimated.** `marginals`, `pairwise`, `cardinality`, `cardinality_by_label` and
    `entropy` are exact wherever the form allows: by a closed formula, or by enumeration while at
    most 16 labels are unknown. Beyond that they are estimated from 1000 draws with seed 0, or from
    as many weighted prefixes of chains. `estimate` adds their standard errors, says which rows are
    exact, and takes the number of draws.

    **Random numbers** belong to (seed, row id, draw, label). Row ids are 0 … n−1 unless given, and
    ``joint[rows]`` keeps them: a sample does not depend on how rows are batched or on threads.

    Parameters
    ----------
    n_rows, n_labels : int
    label_names : sequence of str, optional
        Names by which `condition` may speak of the labels.
    row_ids : (n,) array of int, optional
        What random numbers are keyed by.
    n_threads : int, default 1
        Threads the compiled kernels may use; 0 or less means all cores. No result depends on it.
    """

    #: How the decision "subset" looks for the mode; None stands for `Auto()`.
    inference: Strategy | None = None

    def __init__(
        self,
        n_rows: int,
        n_labels: int,
        *,
        label_names: Sequence[str] | None = None,
        row_ids: npt.ArrayLike | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_rows = n_rows
        self.n_labels = n_labels
        self.label_names = check_label_names(label_names, n_labels)
        self.row_ids = check_row_ids(row_ids, n_rows)
        self.n_threads = int(n_threads)

    # ------------------------------------------------------------------ the batch

    def __len__(self) -> int:
        return self.n_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_rows={self.n_rows}, n_labels={self.n_labels})"

    def _repr_html_(self) -> str:
        """Show marginals of the first rows in notebooks, if they cost little."""
        caption = f"{type(self).__name__}: {counted(self.n_rows, 'row')}, "
        caption += counted(self.n_labels, "label")
        first = self[:_SHOWN_ROWS]
        samples = _draws_needed(first)
        if first.n_rows == 0 or samples is None:
            note = "; marginals() takes a while here" if first.n_rows else ""
            return f"<div>{caption}{note}</div>"
        marginals = first.estimate("marginals", samples=samples or None).value[:, :_SHOWN_LABELS]
        notes = [f"estimated from {samples} draws; marginals() takes more"] if samples else []
        notes += left_out(self.n_rows - first.n_rows, self.n_labels - marginals.shape[1])
        import pandas as pd

        names = (self.label_names or range(self.n_labels))[:_SHOWN_LABELS]
        frame = pd.DataFrame(marginals, [f"row {i}" for i in range(len(marginals))], names)
        return frame_html(frame, caption, notes, numbers="{:.2f}")

    def __getitem__(self, rows: int | slice | npt.ArrayLike) -> Self:
        """Return the chosen rows (index, slice, index array or mask), with their row ids."""
        index = np.arange(self.n_rows, dtype=np.int64)[rows]  # type: ignore[index]
        return self._take(np.atleast_1d(index))

    def with_row_ids(self, row_ids: npt.ArrayLike | None) -> Self:
        """Return the same distributions with other row ids: draws are keyed by these."""
        joint = copy.copy(self)
        joint.row_ids = check_row_ids(row_ids, self.n_rows)
        return joint

    def with_inference(self, inference: Strategy | None) -> Self:
        """Return the same distributions with the strategy of the decision "subset".

        Parameters
        ----------
        inference : callable or None
            A strategy of `labelweave.inference`; None stands for `Auto()`.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.inference import Greedy
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint(np.array([[0.2, -5.0]]), np.array([[0.0, 0.0], [5.0, 0.0]]))
        >>> joint.decide("subset").labels, joint.with_inference(Greedy()).decide("subset").labels
        (array([[0, 0]], dtype=int8), array([[1, 0]], dtype=int8))
        """
        joint = copy.copy(self)
        joint.inference = inference
        return joint

    @property
    def known(self) -> Labels:
        """Labels that conditioning has made certain, (n, L) int8; -1 for all others."""
        return np.full((self.n_rows, self.n_labels), -1, dtype=np.int8)

    @property
    def n_unknown(self) -> Indices:
        """Number of labels of each row that are not known, (n,)."""
        return np.asarray((self.known < 0).sum(axis=1))

    # ------------------------------------------------------------------ probabilities

    def log_prob(self, Y: npt.ArrayLike) -> Floats:
        """Log-probability (n,) of one label vector for each row, or (n, k) of k of them.

        Parameters
        ----------
        Y : (n, L) or (n, k, L) array
            As from `sample` if three-dimensional.
        """
        if np.ndim(Y) != 3:
            return self._log_prob_of(check_labels(Y, self.n_rows, self.n_labels))
        draws = np.asarray(Y)
        n, k, n_labels = draws.shape
        if (n, n_labels) != (self.n_rows, self.n_labels):
            raise ValueError(
                f"Y must have shape ({self.n_rows}, k, {self.n_labels}), k label vectors for each "
                f"row; its shape is {draws.shape}"
            )
        checked = check_labels(draws.reshape(n * k, n_labels), n * k, n_labels)
        return self._log_prob(checked.reshape(n, k, n_labels))

    def marginals(self) -> Floats:
        """P(y_j = 1), (n, L).

        Chains with more than 16 unknown labels average each label's conditional probability over
        weighted prefixes, which is 0 or 1 only where the label is certain.
        """
        return self.estimate("marginals").value

    def marginal_log_odds(self) -> Floats:
        """Log P(y_j = 1) − log P(y_j = 0), (n, L); infinite where a label is certain.

        Marginals near 1 are rounded to few digits and then to 1; their log-odds keep the order of
        rows and labels, by which decisions and metrics rank them. They are exact where the
        marginals are, and the logits of estimated marginals elsewhere.

        Examples
        --------
        >>> from labelweave.joint import IndependentJoint
        >>> joint = IndependentJoint([[40.0], [50.0]])
        >>> joint.marginals().ravel(), joint.marginal_log_odds().ravel()
        (array([1., 1.]), array([40., 50.]))
        """
        return quantities.marginal_log_odds(self)

    def pairwise(self) -> Floats:
        """P(y_i = 1, y_j = 1), (n, L, L); the diagonal holds the marginals, as far as exact."""
        return self.estimate("pairwise").value

    def cardinality(self) -> Floats:
        """Distribution of the number of positive labels, (n, L + 1)."""
        return self.estimate("cardinality").value

    def cardinality_by_label(self) -> Floats:
        """P(y_j = 1, |y| = s): each label together with the number of all, (n, L, L + 1).

        Over s it sums to the marginals, over j to s P(|y| = s). The vector of the best expected
        F-measure follows from it.
        """
        return self.estimate("cardinality_by_label").value

    def entropy(self) -> Floats:
        """Entropy in nats, (n,)."""
        return self.estimate("entropy").value

    def estimate(
        self,
        quantity: Quantity,
        *,
        samples: int | None = None,
        random_state: RandomState = 0,
    ) -> Estimate:
        """Return a quantity with its standard error.

        Parameters
        ----------
        quantity : {"marginals", "pairwise", "cardinality", "cardinality_by_label", "entropy"}
        samples : int, optional
            Draws for each row, or weighted prefixes in all populations of a chain. By default rows
            that can be exact are exact, the others use 1000.
        random_state : int, Generator, RandomState or None, default 0
        """
        check_choice(quantity, "quantity", QUANTITIES)
        return quantities.estimate(self, quantity, _checked(samples), resolve_seed(random_state))

    def prob(
        self,
        event: str | Query,
        *,
        samples: int | None = None,
        random_state: RandomState = 0,
    ) -> Estimate:
        """Return the probability of an event in each row, with its standard error."""
        if not isinstance(event, Query):
            event = parse_query(event, self.n_labels, self.label_names)
        return probability(self, event, _checked(samples), resolve_seed(random_state))

    def mutual_information(self) -> Floats:
        """Return I(y_i; y_j) of every pair of labels in each row, in nats, (n, L, L).

        The entropies of the labels are on the diagonal. It follows from `pairwise`: where that is
        estimated from k draws, independent labels seem to share about 1/(2k).
        """
        return mutual_information(quantities.estimate(self, "pairwise", None, 0).value)

    def log_odds_ratios(self) -> Floats:
        """Return by how much one label moves the log-odds of another in each row, (n, L, L).

        That is log p₁₁p₀₀/(p₁₀p₀₁) for a pair of labels, whatever the other labels are: positive if
        they attract each other, 0 if one of them is certain, infinite if they exclude or imply each
        other, and on the diagonal.
        """
        return log_odds_ratios(quantities.estimate(self, "pairwise", None, 0).value)

    # ------------------------------------------------------------------ draws

    def sample(self, k: int, random_state: RandomState = None) -> Labels:
        """``k`` independent label vectors for each row, (n, k, L) int8.

        The same `random_state` gives the same draws, and None counts as 0; a Generator or
        RandomState gives others at every call.
        """
        k = check_whole_number(k, "k", 0)
        seed = resolve_seed(random_state)
        blocks = row_blocks(self.n_rows, k * self.n_labels)
        if len(blocks) == 1:
            return self._sample(k, seed)
        out = np.empty((self.n_rows, k, self.n_labels), dtype=np.int8)
        for block in blocks:
            out[block] = self[block]._sample(k, seed)
        return out

    def weighted_sample(self, k: int, random_state: RandomState = None) -> tuple[Labels, Floats]:
        """``k`` label vectors for each row and their log-weights, (n, k, L) int8 and (n, k).

        Where a form can draw from itself the weights are equal, and the draws are those of
        `sample`; elsewhere (chains conditioned on late labels, fields with many labels) they are
        importance weights of cheaper draws.
        """
        return self._weighted_sample(check_whole_number(k, "k", 0), resolve_seed(random_state))

    # ------------------------------------------------------------------ search

    def mode(self, inference: Strategy | None = None) -> Mode:
        """Return the most probable label vector of each row.

        Parameters
        ----------
        inference : callable, optional
            A strategy of `labelweave.inference`; `Auto()` by default.
        """
        if inference is None:
            # Strategies and decisions are built on joint distributions, hence looked up late.
            inference = import_module("labelweave.inference").Auto()
        return replace(inference(self), label_names=self.label_names)

    def top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row (at most 2^L), decreasing.

        Exact by a closed formula or, while at most 16 labels are unknown, by enumeration; beyond
        that the best vectors a search finds, with a bound on those it may have missed.
        """
        k = min(check_whole_number(k, "k"), 2**self.n_labels)
        found: Ranked = import_module("labelweave.inference.auto").top_vectors(self, k)
        return replace(found, label_names=self.label_names)

    @property
    def ranks_like(self) -> JointDistribution:
        """A distribution that has the same order of label vectors, in which modes are found."""
        return self

    def restated(self, found: Found) -> Found:
        """Return what was found in `ranks_like` with probabilities of this distribution."""
        return found

    # ------------------------------------------------------------------ decisions and powers

    def decide(self, loss: str | Callable[[JointDistribution], Labels]) -> Decided:
        """Return the labels of least expected loss in each row, and that loss.

        Parameters
        ----------
        loss : str or Loss
            "subset", "hamming", "f1", "jaccard", "ranking", or a loss of `labelweave.decision` such
            as ``FLoss(beta=2)``, ``PrecisionAtK(3)`` or ``MinimumBayesRisk(utility)``.
        """
        decided: Decided = import_module("labelweave.decision.decide").decide(self, loss)
        return decided

    def tempered(self, temperature: float, *, samples: int = 1024) -> JointDistribution:
        """Return P(y)^(1/T), normalised: flatter for T > 1, sharper for T < 1.

        The order of the label vectors stays the same, and so does the mode.

        Parameters
        ----------
        temperature : float
            T, positive.
        samples : int, default 1024
            Weighted draws for each row of chains and mixtures with more than 16 unknown labels,
            whose normaliser has to be estimated.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import ListedJoint
        >>> ListedJoint.of_table(np.log([[0.64, 0.36]])).tempered(2.0).marginals().round(4)
        array([[0.4286]])
        """
        exponent = 1.0 / check_number(temperature, "temperature", above=0)
        if exponent == 1.0:
            return self
        if isinstance(self, Powers) and self.exact_powers:
            return self.power(exponent)
        form: type[TemperedJoint] = import_module("labelweave.joint.tempered").TemperedJoint
        return form(self, temperature, samples=samples).with_inference(self.inference)

    # ------------------------------------------------------------------ Bayes' rule

    def evidence_log_prob(self, evidence: Evidence) -> Estimate:
        """Log-probability of the ``evidence`` in each row, as in `condition`, with its error."""
        return self._clamp(self._resolve(evidence))[1]

    def condition(self, evidence: Evidence) -> JointDistribution:
        """Return the distribution of all labels once some of them are known.

        Parameters
        ----------
        evidence : mapping
            From label index or name to 0 or 1, or to an (n,) array of 0, 1 and -1 (unknown).

        Raises
        ------
        ValueError
            If the evidence of a row has probability zero.
        """
        posterior, log_prob = self._clamp(self._resolve(evidence))
        impossible = np.flatnonzero(np.isneginf(log_prob.value))
        if len(impossible):
            raise ValueError(
                f"evidence has probability zero in row {impossible[0]} "
                f"({len(impossible)} such rows): Bayes' rule has no answer there"
            )
        return posterior.with_inference(self.inference)

    def _resolve(self, evidence: Evidence) -> Labels:
        return resolve_evidence(evidence, self.n_rows, self.n_labels, self.label_names)

    # ------------------------------------------------------------------ what a form implements

    def _take(self, index: Indices) -> Self:
        """Return the rows ``index``; every form adds the arrays of its own."""
        part = copy.copy(self)
        part.n_rows = len(index)
        part.row_ids = self.row_ids[index]
        return part

    def _copy(self) -> Self:
        """Return all rows, with arrays of their own, for a form that differs in some of these."""
        return self[:]

    @abstractmethod
    def _log_prob(self, vectors: Labels) -> Floats:
        """Return the log-probabilities (n, k) of checked (n, k, L) label vectors."""

    @abstractmethod
    def _sample(self, k: int, seed: int) -> Labels:
        """Return (n, k, L) draws."""

    @abstractmethod
    def _clamp(self, known: Labels) -> tuple[Self, Estimate]:
        """Return the posterior given ``known`` (-1: unknown), and the evidence's log-probability.

        Rows whose evidence is impossible may become anything valid: they are refused or ignored.
        """

    @abstractmethod
    def _table(self, free: Indices) -> Floats:
        """Return the (n, 2^f) log-probabilities of the values of ``free``; the rest are known."""

    # ------------------------------------------------------------------ what a form may override

    def log_prob_error(self) -> Floats:
        """Return the standard error (n,) of `log_prob`: zero unless its normaliser is estimated."""
        return np.zeros(self.n_rows)

    def _is_exact(self, quantity: Quantity) -> Mask:
        """Return the rows whose quantity `_exact` can compute."""
        return np.asarray(self.n_unknown <= MAX_ENUMERATED)

    def _exact(self, quantity: Quantity) -> Floats:
        """Return the exact quantity of every row, by enumeration unless a form knows better."""
        return quantities.by_enumeration(self, quantity)

    def _marginal_log_odds(self) -> Floats:
        """Return the log-odds (n, L) of rows whose marginals `_exact` computes.

        They are log P(y_j = 1) − log P(y_j = 0): a marginal near 1, and its logit, is rounded.
        """
        return quantities.log_odds_by_enumeration(self)

    def _weighted_sample(self, k: int, seed: int) -> tuple[Labels, Floats]:
        """Return draws and their (n, k) log-weights, for forms that cannot draw from themselves."""
        return self._sample(k, seed), np.zeros((self.n_rows, k))

    def _drawn(self, quantity: Quantity, k: int, seed: int) -> tuple[Floats, Floats]:
        """Estimate a quantity from about k draws per row; return it with its standard error."""
        return quantities.from_weighted_draws(self, quantity, k, seed)

    def _cells_per_row(self, quantity: Quantity, k: int) -> int:
        """Return about how many numbers `_drawn` holds per row: blocks of rows are cut by it."""
        # A conditional probability takes eight times the room of the label it stands for.
        drawn = k * self.n_labels * (9 if quantity == "marginals" else 1)
        return drawn + math.prod(quantities.shape(self, quantity)[1:])

    def _conditionals(self, labels: Labels) -> Floats:
        """Return the probabilities of labels of (n, k, L) draws, each given some (here all)."""
        return labels.astype(np.float64)

    # ------------------------------------------------------------------ what forms share

    def _log_prob_of(self, labels: Labels) -> Floats:
        """Return the log-probability (n,) of one checked vector for each row."""
        return self._log_prob(labels[:, None])[:, 0]

    def _rows(self) -> RowOptions:
        """Return what a joint distribution of the same rows is made with."""
        return {
            "label_names": self.label_names,
            "row_ids": self.row_ids,
            "n_threads": self.n_threads,
        }

    def _uniform(self, seed: int, k: int, label: int) -> Floats:
        """Return the (n, k) uniform numbers that belong to one label."""
        return self._uniforms(seed, k, label + 1)[:, :, label]

    def _uniforms(self, seed: int, k: int, n_labels: int) -> Floats:
        """Return the (n, k, n_labels) uniform numbers of the rows of this batch."""
        return quantities.row_uniforms(self.row_ids, seed, k, n_labels, self.n_threads)


def _checked(samples: int | None) -> int | None:
    return None if samples is None else check_whole_number(samples, "samples", 2)


def _draws_needed(joint: JointDistribution) -> int | None:
    """Return how many draws the marginals need, 0 if they are exact, None if they are costly."""
    if _asks_functions(joint):
        return None
    if joint._is_exact("marginals").all():
        return 0
    # Evidence on late labels of a chain makes draws much dearer.
    cheap = joint.n_labels <= _MOST_DRAWN and bool((joint.known < 0).all())
    return _SHOWN_DRAWS if cheap else None


def _asks_functions(joint: JointDistribution) -> bool:
    """Return whether conditionals are evaluated by classifiers, one call after the other."""
    if isinstance(joint, ChainRule):
        return joint.conditionals.linear is None
    return any(map(_asks_functions, getattr(joint, "components", ())))
