"""The interface of every joint distribution over label vectors."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import (
    check_choice,
    check_labels,
    check_number,
    check_whole_number,
)
from labelweave._common.seeds import RandomState, resolve_seed
from labelweave.joint import quantities, search
from labelweave.joint.capabilities import ClosedUnderPowers
from labelweave.joint.enumeration import row_blocks
from labelweave.joint.estimate import QUANTITIES, Estimate, Quantity
from labelweave.joint.evidence import Evidence, resolve_evidence
from labelweave.joint.mode import Mode, Ranked
from labelweave.joint.notebook import joint_html
from labelweave.joint.queries import Queries

if TYPE_CHECKING:
    from labelweave.decision import Decided
    from labelweave.joint.tempered import TemperedJoint

#: How to look for the mode: see `labelweave.inference.Inference`.
Strategy: TypeAlias = Callable[["JointDistribution"], Mode]


class JointDistribution(Queries):
    """A batch of distributions over label vectors y in {0, 1}^L, one for each row.

    Every query is put to the whole batch and concerns each row on its own.

    **Exact or estimated.** `marginals`, `pairwise`, `cardinality`, `cardinality_by_label` and
    `entropy` are exact wherever the form allows: by a closed formula, or by enumeration while at
    most 16 labels are unknown. Beyond that they are estimated from 1000 draws with seed 0; chains
    hold as many weighted prefixes, which tell more. `estimate` gives the same values together with
    their standard errors, says which rows are exact, and takes the number of draws.

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

    Notes
    -----
    What a new form has to provide is written down in `labelweave.joint.form`, what it may provide
    so that strategies can do more with it in `labelweave.joint.capabilities`.
    """

    #: How the decision "subset" looks for the mode; None stands for `Auto()`.
    inference: Strategy | None = None

    def _repr_html_(self) -> str:
        """Show marginals of the first rows in notebooks."""
        return joint_html(self)

    # ------------------------------------------------------------------ probabilities

    def log_prob(self, Y: npt.ArrayLike) -> Floats:
        """Log-probability of one label vector for each row, (n,)."""
        return self._log_prob(check_labels(Y, self.n_rows, self.n_labels))

    def log_prob_of_draws(self, draws: npt.ArrayLike) -> Floats:
        """Log-probabilities (n, k) of k label vectors for each row, (n, k, L) as from `sample`."""
        vectors = np.asarray(draws)
        if (
            vectors.ndim != 3
            or vectors.shape[0] != self.n_rows
            or vectors.shape[2] != self.n_labels
        ):
            raise ValueError(
                f"draws must have shape ({self.n_rows}, k, {self.n_labels}), k label vectors for "
                f"each row; its shape is {vectors.shape}"
            )
        n, k, n_labels = vectors.shape
        checked = check_labels(vectors.reshape(n * k, n_labels), n * k, n_labels, "draws")
        return self._log_prob_of_draws(checked.reshape(n, k, n_labels))

    def marginals(self) -> Floats:
        """P(y_j = 1), (n, L).

        Exact where the form allows. Chains with more than 16 unknown labels average each label's
        conditional probability over weighted prefixes, which is 0 or 1 only where the label is
        certain. `estimate` gives standard errors and takes more samples.
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

        Over s it sums to the marginals, over j to s P(|y| = s). It is what the vector of the best
        expected F-measure is found from.
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
        if samples is not None:
            samples = check_whole_number(samples, "samples", 2)
        return quantities.estimate(self, quantity, samples, resolve_seed(random_state))

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

        Returns
        -------
        Mode
            ``optimal`` says which rows are proven. Where a proof would take too long, the row has
            the best vector found, and ``gap`` says how much more probable the mode may be.
        """
        if inference is None:
            # Strategies are built on joint distributions, hence looked up when one is asked for.
            inference = import_module("labelweave.inference").Auto()
        return replace(inference(self), label_names=self.label_names)

    def with_inference(self, inference: Strategy | None) -> Self:
        """Return the same distributions with the strategy of the decision "subset".

        Estimators give theirs to the distributions that they predict.

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
        joint = copy(self)
        joint.inference = inference
        return joint

    def exhaustive_mode(self, max_labels: int, *, prune: bool = True) -> Mode:
        """Return the mode, proven by looking at every label vector that could be it.

        Parameters
        ----------
        max_labels : int
            Most unknown labels a row may have.
        prune : bool, default True
            Whether to leave out vectors that an upper bound rules out, in forms that have one.

        Raises
        ------
        ValueError
            If a row has more unknown labels.
        """
        return search.enumerated_mode(self, max_labels)

    def greedy_mode(self) -> Mode:
        """Return, label by label, the likelier value given the values chosen before."""
        return search.greedy_by_evidence(self)

    def greedy_path(self) -> JointDistribution:
        """Return what a plain classifier chain takes P(y) to be.

        It never looks beyond the values it has chosen: each label has its probability given the
        greedy values of the labels before it, and the product of these is not P(y). Papers report
        the CLL-loss of classifier chains by it. A mixture mixes the paths of its components; a form
        without a path, such as a tree, is its own.
        """
        return self

    def top(self, k: int) -> Ranked:
        """Return the ``k`` most probable label vectors of each row (at most 2^L), decreasing.

        Exact by a closed formula or, while at most 16 labels are unknown, by enumeration; beyond
        that the best vectors a search finds, with a bound on those it may have missed.
        """
        k = min(check_whole_number(k, "k"), 2**self.n_labels)
        return replace(self._top(k), label_names=self.label_names)

    def _top(self, k: int) -> Ranked:
        """Return the `k` best vectors; `k` is checked, and names are added afterwards."""
        return search.top(self, k)

    # ------------------------------------------------------------------ decisions

    def decide(self, loss: str | Callable[[JointDistribution], Labels]) -> Decided:
        """Return the labels of least expected loss in each row, and that loss.

        Parameters
        ----------
        loss : str or Loss
            "subset", "hamming", "f1", "jaccard", "ranking", or a loss of `labelweave.decision` such
            as ``FLoss(beta=2)``, ``PrecisionAtK(3)`` or ``MinimumBayesRisk(utility)``.

        Returns
        -------
        Decided
            With the attributes ``labels``, ``risk`` and ``score``.
        """
        # Decisions are built on joint distributions, hence looked up when one is asked for.
        decided: Decided = import_module("labelweave.decision.decide").decide(self, loss)
        return decided

    # ------------------------------------------------------------------ powers

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
        >>> from labelweave.joint import TableJoint
        >>> TableJoint(np.log([[0.64, 0.36]])).tempered(2.0).marginals().round(4)
        array([[0.4286]])
        """
        exponent = 1.0 / check_number(temperature, "temperature", above=0)
        if exponent == 1.0:
            return self
        if isinstance(self, ClosedUnderPowers):
            return self.power(exponent)
        # That form is a joint distribution itself, hence looked up when it is asked for.
        form: type[TemperedJoint] = import_module("labelweave.joint.tempered").TemperedJoint
        return form(self, temperature, samples=samples).with_inference(self.inference)

    # ------------------------------------------------------------------ Bayes' rule

    def evidence_log_prob(self, evidence: Evidence) -> Estimate:
        """Log-probability of the evidence in each row, with its standard error.

        Parameters
        ----------
        evidence : mapping
            As in `condition`.
        """
        return self._evidence_log_prob(self._resolve(evidence))

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
        known = self._resolve(evidence)
        log_prob = self._evidence_log_prob(known)
        impossible = np.flatnonzero(np.isneginf(log_prob.value))
        if len(impossible):
            raise ValueError(
                f"evidence has probability zero in row {impossible[0]} "
                f"({len(impossible)} such rows): Bayes' rule has no answer there"
            )
        return self._condition(known, log_prob).with_inference(self.inference)

    def _resolve(self, evidence: Evidence) -> Labels:
        return resolve_evidence(evidence, self.n_rows, self.n_labels, self.label_names)
