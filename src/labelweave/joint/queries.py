"""Queries about several labels at once: the probability of an event, the dependence of pairs."""

from __future__ import annotations

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_whole_number
from labelweave._common.seeds import RandomState, resolve_seed
from labelweave.joint import quantities
from labelweave.joint.dependence import log_odds_ratios, mutual_information
from labelweave.joint.estimate import Estimate
from labelweave.joint.form import JointForm
from labelweave.joint.query import Query, parse_query, probability


class Queries(JointForm):
    """The part of `JointDistribution` that is about several labels at once."""

    def prob(
        self,
        query: str | Query,
        *,
        samples: int | None = None,
        random_state: RandomState = 0,
    ) -> Estimate:
        """Return the probability of an event in each row, with its standard error.

        Parameters
        ----------
        query : str
            ``"beach and not urban"``, ``"count >= 2"``, or with a condition
            ``"P(beach | urban=0, sunset or count > 1)"``: labels by name, in quotes if they contain
            spaces or punctuation, or by position; ``=0`` and ``=1``; ``count``, the number of
            positive labels, compared with a number; ``and``, ``or``, ``not``, parentheses; a comma
            is an "and" that binds less than "or".
        samples : int, optional
            Draws for each row. By default rows that can be exact are exact: trees, independent
            labels and mixtures of them, chains for labels with few ancestors, and all forms while
            at most 16 labels are unknown. Others use 1000.
        random_state : int, Generator, RandomState or None, default 0

        Returns
        -------
        Estimate
            nan in rows whose condition is impossible, or was never met by a draw.

        Raises
        ------
        ValueError
            If the query can not be read, with a mark at the place.

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import TreeJoint
        >>> logits = np.array([[[0.0, 0.0], [-2.0, 2.0]]])  # urban is likelier with people
        >>> joint = TreeJoint(logits, [-1, 0], label_names=["people", "urban"])
        >>> joint.prob("urban or people").value.round(3)
        array([0.56])
        >>> joint.prob("P(people | urban)").value.round(3)
        array([0.881])
        """
        if samples is not None:
            samples = check_whole_number(samples, "samples", 2)
        if not isinstance(query, Query):
            query = parse_query(query, self.n_labels, self.label_names)
        return probability(self, query, samples, resolve_seed(random_state))

    def mutual_information(self) -> Floats:
        """Return I(y_i; y_j) of every pair of labels in each row, in nats, (n, L, L).

        The entropies of the labels are on the diagonal. It follows from `pairwise`: where that is
        estimated from k draws, independent labels seem to share about 1/(2k).

        Examples
        --------
        >>> import numpy as np
        >>> from labelweave.joint import TableJoint
        >>> TableJoint(np.log([[0.5, 1e-9, 1e-9, 0.5]])).mutual_information().round(3)
        array([[[0.693, 0.693],
                [0.693, 0.693]]])
        """
        return mutual_information(quantities.estimate(self, "pairwise", None, 0).value)

    def log_odds_ratios(self) -> Floats:
        """Return by how much one label moves the log-odds of another in each row, (n, L, L).

        That is log p₁₁p₀₀/(p₁₀p₀₁) for a pair of labels, whatever the other labels are: positive if
        they attract each other, 0 if one of them is certain, infinite if they exclude or imply each
        other, and on the diagonal.

        Examples
        --------
        >>> from labelweave.joint import ChainJoint
        >>> joint = ChainJoint([[0.3, -1.0]], [[0.0, 0.0], [2.0, 0.0]])
        >>> float(joint.log_odds_ratios()[0, 0, 1].round(6))
        2.0
        """
        return log_odds_ratios(quantities.estimate(self, "pairwise", None, 0).value)
