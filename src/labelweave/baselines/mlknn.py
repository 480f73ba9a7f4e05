"""ML-kNN: Bayes' rule on the number of neighbours with a label."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from labelweave._common.archives import check_shape
from labelweave._common.arrays import Counts, Floats, Labels, Mask
from labelweave._common.checks import check_number
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.baselines._neighbour_classifier import NeighbourClassifier
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution


class MLkNN(NeighbourClassifier):
    """Multi-label k nearest neighbours (Zhang and Zhou, 2007).

    For every label, the evidence is the number c of the k nearest training rows that have it:
    P(y_j = 1 | c) ∝ P(y_j = 1) P(c | y_j = 1), with both factors estimated by smoothed counts in
    the training data, where no row is its own neighbour. Distances are Euclidean, so features
    should be on comparable scales. Ties are broken by the order of the training rows.
    ``MLkNN.preset("published")`` has ten neighbours, as by default.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k; all other rows if there are fewer.
    smoothing : float, default=1.0
        Added to every count, positive; 1 is Laplace smoothing.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Results depend neither on it nor on which rows are
        predicted together.
    random_state : int, RandomState or None, default=None
        Not used; present for API consistency.
    verbose : int, default=0
        If positive, print the number of neighbours.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbours used.
    prior_log_odds_ : (L,) array
        Prior log-odds of each label.
    evidence_ : (L, n_neighbors_ + 1) array
        ``log P(c | y_j = 1) - log P(c | y_j = 0)`` for c neighbours with label j.

    Examples
    --------
    >>> from labelweave.baselines import MLkNN
    >>> from labelweave.datasets import load_emotions
    >>> data = load_emotions()
    >>> model = MLkNN().fit(data.X[:400], data.Y[:400])
    >>> model.predict_proba(data.X[400:402]).round(2)
    array([[0.14, 0.26, 0.45, 0.74, 0.44, 0.07],
           [0.3 , 0.27, 0.64, 0.28, 0.44, 0.21]])
    """

    presets: ClassVar[Presets] = published(n_neighbors=10)

    def __init__(
        self,
        *,
        n_neighbors: int = 10,
        smoothing: float = 1.0,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        smoothing = check_number(self.smoothing, "smoothing", above=0)
        self._seed()  # not used, but an invalid seed is an error here too
        counts = self._remember(X, labels)
        self._tell(f"{self.n_neighbors_} neighbours in {len(labels)} rows")
        positive = labels.sum(axis=0, dtype=np.float64)
        negative = len(labels) - positive
        self.prior_log_odds_ = np.log(positive + smoothing) - np.log(negative + smoothing)
        with_label = _histograms(counts, labels == 1, self.n_neighbors_)
        without = _histograms(counts, labels == 0, self.n_neighbors_)
        self.evidence_ = _smoothed(with_label, smoothing) - _smoothed(without, smoothing)

    def _check_learned(self) -> None:
        super()._check_learned()
        if hasattr(self, "evidence_"):
            check_shape(self.prior_log_odds_, (self.n_labels_,), "prior_log_odds_")
            check_shape(self.evidence_, (self.n_labels_, self.n_neighbors_ + 1), "evidence_")

    def _joint(self, X: Any) -> JointDistribution:
        counts = self._neighbour_counts(X)
        evidence = self.evidence_[np.arange(self.n_labels_), counts]
        return IndependentJoint(
            self.prior_log_odds_ + evidence,
            label_names=self._names(),
            row_ids=row_keys(X),
            n_threads=self._n_threads(),
        )


def _histograms(counts: Counts, chosen: Mask, largest: int) -> Floats:
    """Return the histogram of every label's counts over its chosen rows, (L, largest + 1)."""
    n_labels = counts.shape[1]
    cells = counts + np.arange(n_labels) * (largest + 1)
    histogram = np.bincount(cells[chosen], minlength=n_labels * (largest + 1))
    return histogram.reshape(n_labels, largest + 1).astype(np.float64)


def _smoothed(histogram: Floats, smoothing: float) -> Floats:
    """Return the logarithms of the smoothed frequencies in each row of a histogram."""
    shares: Floats = histogram + smoothing
    shares /= shares.sum(axis=1, keepdims=True)
    return np.log(shares)
