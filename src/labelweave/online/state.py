"""A Bayesian online learner: it learns from rows in turn, and predicts new ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave.online.calibration import PrequentialRows, prequential_rows
from labelweave.online.categorical import categorical_log_odds
from labelweave.online.csr import CsrArrays, check_rows, csr_batches
from labelweave.online.latent import Latent
from labelweave.online.pairwise_update import check_labels, update_pairwise
from labelweave.online.posterior import Posterior
from labelweave.online.row_scale import divided, mean_lengths, row_lengths

# Fewer rows than this are learned by one thread: starting others takes longer.
_WORTH_THREADS = 16


class OnlineState(Posterior):
    """The posterior of a Bayesian online learner, updated row by row.

    Every weight has a mean and a variance, kept feature-major in float32 (`WeightPanels`). Learning
    from a row changes the weights of its non-zero features only. A batch gives the same bits as its
    rows one by one, for any number of threads.

    Parameters
    ----------
    n_features, n_labels : int
        Sizes to begin with; `grow` adds to them.
    settings : OnlineSettings, optional
        The model and its priors.

    Attributes
    ----------
    n_rows : int
        Rows learned from.
    positives, observed : (L,) int64 arrays
        How many rows had each label, and for how many rows it is known whether they had it.

    Examples
    --------
    >>> import numpy as np
    >>> state = OnlineState(n_features=2, n_labels=1)
    >>> X, Y = np.eye(2), np.array([[1], [0]], dtype=np.int8)
    >>> for _ in range(20):
    ...     state.update(X, Y)
    >>> state.probabilities(X)[:, 0].round(2).tolist()
    [1.0, 0.0]

    A feature or a label that comes later starts from the prior:

    >>> state.grow(n_features=3, n_labels=2)
    >>> state.variance[2], state.mean[2]
    (array([0.1, 0.1], dtype=float32), array([0., 0.], dtype=float32))
    """

    def update(self, X: Any, Y: NDArray[Any], n_threads: int = 1, *, seen: bool = False) -> None:
        """Learn from the rows of X (array or sparse) and Y (0, 1, or -1 for unknown) in turn.

        Rows that were `seen` before do not count for calibration. What is wrong with a batch is
        found before any of its rows is learned from.
        """
        labels = self._label_matrix(Y, X.shape[0], self.n_labels)
        if self.n_labels == 0:
            raise ValueError("there are no labels to learn: call grow(n_labels=...) first")
        for begin, end, rows in csr_batches(X, self.n_features):
            self._learn(rows, labels[begin:end], n_threads, seen)

    def admit(self, X: Any, Y: NDArray[Any]) -> None:
        """Make room for the features and labels of a batch, the next one to learn from.

        What is wrong with the batch is found before anything changes.

        Parameters
        ----------
        X, Y
            As in `update`, with at least as many labels as are known.

        Examples
        --------
        >>> state = OnlineState()
        >>> X, Y = np.eye(2), np.array([[1, 0, 0], [0, 1, 0]])
        >>> state.admit(X, Y)
        >>> state.update(X, Y)
        >>> state.sizes
        (2, 3)
        """
        self._label_matrix(Y, X.shape[0], max(self.n_labels, Y.shape[1]))
        check_rows(X, X.shape[1])
        self.grow(max(self.n_features, X.shape[1]), Y.shape[1])

    def _label_matrix(self, Y: NDArray[Any], n_rows: int, n_labels: int) -> Labels:
        """Return Y as int8, checked."""
        with np.errstate(invalid="ignore"):
            labels = np.ascontiguousarray(Y, dtype=np.int8)
        as_given = labels is Y or np.array_equal(labels, Y)
        if labels.size and not (as_given and labels.min() >= -1 and labels.max() <= 1):
            raise ValueError(
                "Y must be 0 or 1, or -1 where it is not known whether a label applies"
            )
        if labels.shape != (n_rows, n_labels):
            raise ValueError(
                f"Y must have one row for each row of X and one column for each of the "
                f"{n_labels} labels; got shape {labels.shape}. `grow` adds labels"
            )
        check_labels(self.settings.likelihood, labels)
        return labels

    def _learn(self, rows: CsrArrays, labels: Labels, n_threads: int, seen: bool) -> None:
        start, lengths = self.n_rows, self._row_scale.after(row_lengths(rows))
        if self.settings.scale_rows:
            rows = divided(rows, mean_lengths(lengths[1:]))
        predicted = PrequentialRows.none()
        if self.settings.calibrate and not seen:
            predicted = prequential_rows(start, start + len(labels), self.settings.forgetting)
        z = np.empty((len(predicted.rows), self.n_labels))
        try:
            if self.settings.likelihood == "bias":
                self._learn_natively(rows, labels, predicted.rows - start, z, n_threads)
            else:
                update_pairwise(self, rows, labels, predicted.rows - start, z)
        finally:  # after Ctrl-C the state is that of the rows it counts
            self._row_scale.sums = lengths[self.n_rows - start]
            done = predicted.before(self.n_rows)
            self._calibration.add(z[: len(done.rows)], labels[done.rows - start], done.retained)

    def _learn_natively(
        self,
        rows: CsrArrays,
        labels: Labels,
        predicted: Indices,
        z: Floats,
        n_threads: int,
    ) -> None:
        bound = self._bound()
        threads = n_threads if len(labels) >= _WORTH_THREADS else 1
        try:
            bound.update(*rows, labels, predicted, z, self._thread_tuner, threads)
        finally:
            self.n_rows = bound.n_rows

    def moments(self, X: Any, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return mean and variance of every label's score, offset + ⟨w, x⟩, (n, L) each."""
        mean = np.empty((X.shape[0], self.n_labels))
        variance = np.empty_like(mean)
        for begin, end, rows in self._scaled(X):
            self._bound().moments(*rows, mean[begin:end], variance[begin:end], n_threads)
        return mean, variance

    def latent(self, X: Any, n_threads: int = 1) -> Latent:
        """Return the latent variables of the labels of X, calibrated if the settings say so."""
        latent = self.latent_of(*self.moments(X, n_threads))
        return latent.calibrated(self._calibration.fit()) if self.settings.calibrate else latent

    def probabilities(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the probability of every label, (n, L), calibrated if the settings say so."""
        latent = self.latent(X, n_threads)
        if self.settings.likelihood == "multiclass":
            return np.asarray(softmax(latent.log_odds(), axis=1))
        return latent.probabilities()

    def log_odds(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the log-odds of those probabilities, (n, L), which are not rounded near 1."""
        log_odds = self.latent(X, n_threads).log_odds()
        multiclass = self.settings.likelihood == "multiclass"
        return categorical_log_odds(log_odds) if multiclass else log_odds

    def posterior_probabilities(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the posterior probability that each noise-free score exceeds the bias, (n, L)."""
        return self._noise_free(X, n_threads).probabilities()

    def posterior_log_odds(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the log-odds of those probabilities, (n, L), which are not rounded near 1."""
        return self._noise_free(X, n_threads).log_odds()

    def _noise_free(self, X: Any, n_threads: int) -> Latent:
        mean, variance = self.moments(X, n_threads)
        return Latent.of(mean, variance, self.bias_mean, self.bias_variance)

    def sample_labels(self, X: Any, n_samples: int, seed: int, n_threads: int = 1) -> Mask:
        """Return the labels of X under models drawn from the posterior, (S, n, L).

        A model is determined by its number and `seed`: all calls draw the same ones, so that X may
        come in batches. No drawn model is ever stored.
        """
        above = np.empty((n_samples, X.shape[0], self.n_labels), dtype=np.int8)
        for begin, end, rows in self._scaled(X):
            part = np.empty((n_samples, end - begin, self.n_labels), dtype=np.int8)
            self._bound().samples(*rows, seed, part, n_threads)
            above[:, begin:end] = part
        return above.view(np.bool_)

    def _scaled(self, X: Any) -> Iterator[tuple[int, int, CsrArrays]]:
        for begin, end, (indptr, indices, values) in csr_batches(X, self.n_features):
            yield begin, end, (indptr, indices, values / self.row_length)
