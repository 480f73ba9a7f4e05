"""IBLR-ML: logistic regression on the labels of the neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

from labelweave._common.arrays import Counts, Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.baselines._neighbour_classifier import NeighbourClassifier
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.logistic import fit_conditionals, fit_on_estimates


class InstanceBasedLogistic(NeighbourClassifier):
    """Instance-based learning by logistic regression (Cheng and Hüllermeier, 2009).

    The frequencies of the labels among the k nearest training rows are features: every label is
    learned from the frequencies of all labels (IBLR-ML), with ``passthrough=True`` from these and
    the original features (IBLR-ML+). In training, no row is its own neighbour. Distances are
    Euclidean, so features should be on comparable scales. Ties are broken by the order of the
    training rows.
    ``InstanceBasedLogistic.preset("published")`` has ten neighbours, as by default.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; all other rows if there are fewer.
    passthrough : bool, default=False
        Whether to learn the labels from the original features too.
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty on the frequencies (with `passthrough`, on the original
        features), shared by all labels; "cv" chooses it by cross-validated log-likelihood.
    label_penalty : float or "cv", default="cv"
        Penalty of the frequencies relative to the original features'. Ignored without
        `passthrough`.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Seeds the folds of "cv". None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen penalties.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    conditionals_ : LinearConditionals
        ``weights[j, k]`` (with `passthrough`, ``coupling[j, k]``) is the coefficient of the
        frequency of label k among the neighbours in the log-odds of label j.
    C_, label_penalty_ : float
        The penalties used; `label_penalty_` only with `passthrough`.

    Examples
    --------
    >>> from labelweave.baselines import InstanceBasedLogistic
    >>> from labelweave.datasets import load_emotions
    >>> data = load_emotions()
    >>> model = InstanceBasedLogistic(C=1.0).fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.13, 0.25, 0.61, 0.57, 0.39, 0.12],
           [0.18, 0.31, 0.62, 0.29, 0.33, 0.18]])
    """

    presets: ClassVar[Presets] = published(n_neighbors=10)

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        passthrough: bool = False,
        C: float | str = "cv",
        label_penalty: float | str = "cv",
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.passthrough = passthrough
        self.C = C
        self.label_penalty = label_penalty
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        C, label_penalty = self._penalty("C"), self._penalty("label_penalty")
        shared: dict[str, Any] = {"seed": self._seed(), "n_threads": self._n_threads()}
        self._with_features = bool(self.passthrough)
        frequency = self._frequency(self._remember(X, labels))
        if self._with_features:
            self.conditionals_ = fit_on_estimates(
                X, frequency, labels, C=C, label_penalty=label_penalty, **shared
            )
            self.label_penalty_ = self.conditionals_.label_penalty
            also = f", label_penalty = {self.label_penalty_:.4g}"
        else:
            self.conditionals_ = fit_conditionals(frequency, labels, C=C, **shared)
            also = ""
        self.C_ = self.conditionals_.C
        self._tell(f"C = {self.C_:.4g}{also}")

    def _frequency(self, counts: Counts) -> Floats:
        """Divide counts by the number of neighbours; a single training row has none."""
        return counts / max(self.n_neighbors_, 1)

    def _joint(self, X: Any) -> JointDistribution:
        frequency = self._frequency(self._neighbour_counts(X))
        n_threads = self._n_threads()
        if self._with_features:
            scores = self.conditionals_.scores(X, frequency, n_threads=n_threads)
        else:
            scores = self.conditionals_.scores(frequency, n_threads=n_threads)
        return IndependentJoint(
            scores, label_names=self._names(), row_ids=row_keys(X), n_threads=n_threads
        )
