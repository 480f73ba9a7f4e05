"""The posterior of an online learner: it learns from rows in turn, and predicts new ones.

The posterior has a Gaussian for every weight and bias, and a few counts. A row changes the weights
of its non-zero features only, by one step of expectation propagation in the kernels (`pairwise` for
labels that are compared with each other). The constant feature comes first. Forgetting raises
variances towards the prior and is lazy: every feature has the number of the row up to which it has
forgotten.

A batch gives the same bits as its rows one by one, for any number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from labelweave._common.arrays import Counts, Floats, Indices, Labels, Mask
from labelweave._core import native
from labelweave.models.online.calibration import (
    Calibration,
    Latent,
    categorical_log_odds,
    prequential_rows,
)
from labelweave.models.online.pairwise import check_single_labels, update_pairwise
from labelweave.models.online.panels import WeightPanels, Weights, check_posterior, panel_slices
from labelweave.models.online.rows import (
    CsrArrays,
    RowScale,
    check_rows,
    csr_batches,
    divided,
    mean_lengths,
    row_lengths,
)
from labelweave.models.online.settings import ProbitModel, skew_of

# Fewer rows than this are learned by one thread: starting others takes longer.
_WORTH_THREADS = 16


class OnlineState:
    """The posterior of a Bayesian online learner, updated row by row.

    It has learned from `n_rows` rows. Of these, `positives` had each label, (L,), and of `observed`
    it is known whether they had it.
    """

    def __init__(
        self, n_features: int = 0, n_labels: int = 0, *, model: ProbitModel | None = None
    ) -> None:
        self.model = ProbitModel() if model is None else model
        self.settings = self.model.settings
        self.n_features = self.n_labels = self.n_rows = 0
        self.positives = np.zeros(0, dtype=np.int64)
        self.observed = np.zeros(0, dtype=np.int64)
        n_biases = 1 if self.model.coupled else 0
        self._bias_mean = np.zeros(n_biases)
        self._bias_variance = np.full(n_biases, self.model.bias_prior)
        self._panels = WeightPanels(float(self.settings.prior_variance))
        self._known_skew = self.model.known_skew()
        self._row_scale, self._calibration = RowScale(), Calibration()
        self._thread_tuner = native.ThreadTuner()
        # Up to which row each feature has forgotten.
        self._current = np.zeros(0, dtype=np.int64)
        self.grow(n_features, n_labels)

    # Learning.

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
        """
        self._label_matrix(Y, X.shape[0], max(self.n_labels, Y.shape[1]))
        check_rows(X, X.shape[1])
        self.grow(max(self.n_features, X.shape[1]), Y.shape[1])

    def grow(self, n_features: int | None = None, n_labels: int | None = None) -> None:
        """Make room for more features or labels, which start from the prior.

        Memory is taken in growing steps, so that adding one at a time is not slow.
        """
        wanted = self.n_features if n_features is None else int(n_features)
        labels = self.n_labels if n_labels is None else int(n_labels)
        if wanted < self.n_features or labels < self.n_labels:
            raise ValueError(
                f"a state can only grow: it has {self.n_features} features and {self.n_labels} "
                f"labels; got n_features={wanted}, n_labels={labels}"
            )
        self.model.check_n_labels(labels)
        self._panels.grow(1 + wanted, labels)
        if wanted >= len(self._current):
            room = max(1 + wanted, len(self._current) * 3 // 2)
            self._current = _longer(self._current, room, 0)
        self.n_features = wanted
        if labels > self.n_labels:
            self._add_labels(labels)

    def _add_labels(self, n_labels: int) -> None:
        self.positives = _longer(self.positives, n_labels, 0)
        self.observed = _longer(self.observed, n_labels, 0)
        if not self.model.coupled:
            self._bias_mean = _longer(self._bias_mean, n_labels, 0.0)
            self._bias_variance = _longer(self._bias_variance, n_labels, self.model.bias_prior)
        self._calibration.grow(n_labels)
        self.n_labels = n_labels

    def _label_matrix(self, Y: NDArray[Any], n_rows: int, n_labels: int) -> Labels:
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
        check_single_labels(self.model.likelihood, labels)
        return labels

    def _learn(self, rows: CsrArrays, labels: Labels, n_threads: int, seen: bool) -> None:
        start, lengths = self.n_rows, self._row_scale.after(row_lengths(rows))
        if self.settings.scale_rows:
            rows = divided(rows, mean_lengths(lengths[1:]))
        n_counted = len(labels) if self.settings.calibrate and not seen else 0
        predicted = prequential_rows(start, start + n_counted, self.model.forgetting)
        z = np.empty((len(predicted.rows), self.n_labels))
        try:
            if self.model.likelihood == "bias":
                self._learn_natively(rows, labels, predicted.rows - start, z, n_threads)
            else:
                update_pairwise(self, rows, labels, predicted.rows - start, z)
        finally:  # after Ctrl-C the state is that of the rows it counts
            self._row_scale.sums = lengths[self.n_rows - start]
            done = predicted.before(self.n_rows)
            self._calibration.add(z[: len(done.rows)], labels[done.rows - start], done.retained)

    def _learn_natively(
        self, rows: CsrArrays, labels: Labels, predicted: Indices, z: Floats, n_threads: int
    ) -> None:
        bound = self._bound()
        threads = n_threads if len(labels) >= _WORTH_THREADS else 1
        try:
            bound.update(*rows, labels, predicted, z, self._thread_tuner, threads)
        finally:
            self.n_rows = bound.n_rows

    def _bound(self) -> native.OnlineModel:
        return native.OnlineModel(
            self._panels.bound(),
            self._stored_current,
            self._bias_mean,
            self._bias_variance,
            self.positives,
            self.observed,
            self.n_rows,
            self._known_skew,
            self.model.native(),
        )

    # Learning one row in Python.

    def feature_moments(self, features: Indices) -> tuple[Floats, Floats]:
        """Return mean and variance of the weights of some features as the next row meets them."""
        mean, variance = (
            np.hstack([panel[features, moment] for panel in self._panels.views()])
            for moment in (0, 1)
        )
        elapsed = self.n_rows + 1 - self._stored_current[features]
        return mean.astype(np.float64), self._forgotten(variance, elapsed).astype(np.float64)

    def set_features(self, features: Indices, mean: Floats, variance: Floats) -> None:
        """Replace the weights of some features by those after the next row."""
        for panel, labels in zip(self._panels.views(), panel_slices(self.n_labels), strict=True):
            panel[features, 0], panel[features, 1] = mean[:, labels], variance[:, labels]
        self.n_rows += 1
        self._stored_current[features] = self.n_rows

    def count(self, labels: Labels) -> None:
        self.positives += labels == 1
        self.observed += labels >= 0

    def skew(self, labels: Mask) -> Floats:
        """Return the factors on the margin of positive examples of the labels in a mask."""
        if len(self._known_skew):
            return self._known_skew[: self.n_labels][labels]
        return skew_of((self.observed - self.positives)[labels] / self.positives[labels])

    # Predictions.

    def moments(self, X: Any, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return mean and variance of every label's score, offset + ⟨w, x⟩, (n, L) each."""
        mean = np.empty((X.shape[0], self.n_labels))
        variance = np.empty_like(mean)
        for begin, end, rows in self._scaled(X):
            self._bound().moments(*rows, mean[begin:end], variance[begin:end], n_threads)
        return mean, variance

    def latent_of(self, mean: Floats, variance: Floats) -> Latent:
        """Return the latent variables of labels whose scores have these moments, (..., L) each."""
        # The paper's prediction is free of noise; a calibrated one need not guess.
        noise = self.settings.noise if self.settings.calibrate else 0.0
        return Latent.of(mean, variance + noise**2, self.bias_mean, self.bias_variance)

    def latent(self, X: Any, n_threads: int = 1) -> Latent:
        """Return the latent variables of the labels of X, calibrated if the settings say so."""
        latent = self.latent_of(*self.moments(X, n_threads))
        return latent.calibrated(self._calibration.fit()) if self.settings.calibrate else latent

    def probabilities(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the probability of every label, (n, L), calibrated if the settings say so."""
        latent = self.latent(X, n_threads)
        if self.model.likelihood == "multiclass":
            return np.asarray(softmax(latent.log_odds(), axis=1))
        return latent.probabilities()

    def log_odds(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the log-odds of those probabilities, (n, L), which are not rounded near 1."""
        log_odds = self.latent(X, n_threads).log_odds()
        multiclass = self.model.likelihood == "multiclass"
        return categorical_log_odds(log_odds) if multiclass else log_odds

    def noise_free(self, X: Any, n_threads: int = 1) -> Latent:
        """Return the latent variables of the labels of X, without the noise on their scores."""
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

    # The posterior as it is read and replaced.

    @property
    def row_length(self) -> float:
        """The mean length of the rows so far, by which features are divided, or 1."""
        return self._row_scale.mean if self.settings.scale_rows else 1.0

    @property
    def mean(self) -> Weights:
        """Means of the weights of features divided by `row_length`, (D, L): a copy."""
        return self._all_weights(0)[1:]

    @property
    def variance(self) -> Weights:
        """Variances of these weights, (D, L), as of the last row: a copy."""
        return self._all_weights(1)[1:]

    @property
    def offset_mean(self) -> Floats:
        """Mean of the offset that is added to the score of each label, in every row, (L,)."""
        return np.asarray(self._all_weights(0, slice(1))[0] * np.float64(self.model.label_offset))

    @property
    def offset_variance(self) -> Floats:
        return np.asarray(
            self._all_weights(1, slice(1))[0] * np.float64(self.model.label_offset**2)
        )

    def _all_weights(self, moment: int, rows: slice = slice(None)) -> Weights:
        none = np.empty((len(self._stored_current[rows]), 0), dtype=np.float32)
        parts = range(self.n_panels)
        return np.hstack([none, *(self.panel_moments(part, rows)[moment] for part in parts)])

    @property
    def n_panels(self) -> int:
        return len(panel_slices(self.n_labels))

    def panel_moments(
        self, number: int, rows: slice | Indices = slice(None)
    ) -> tuple[Weights, Weights]:
        """Return mean and variance of the weights of one panel, the first row the offsets'."""
        panel = self._panels.views()[number][rows]
        mean, variance = panel[:, 0], panel[:, 1]
        return mean, self._forgotten(variance, self.n_rows - self._stored_current[rows])

    def _forgotten(self, variance: Weights, elapsed: Counts) -> Weights:
        if not self.model.forgetting:
            return variance
        keeping = np.exp(elapsed[:, None] * np.log1p(-self.model.forgetting)).astype(np.float32)
        prior = np.float32(self.settings.prior_variance)
        return np.asarray(prior * variance / (variance + keeping * (prior - variance)))

    def set_weights(
        self, number: int, rows: slice, mean: NDArray[np.floating], variance: NDArray[np.floating]
    ) -> None:
        """Replace the weights of some features in one panel; `mark_current` when all are done."""
        panel = self._panels.views()[number][rows]
        panel[:, 0], panel[:, 1] = mean, variance

    def mark_current(self) -> None:
        """Declare all weights up to date with the last row: nothing is left to forget."""
        self._current[:] = self.n_rows

    @property
    def _stored_current(self) -> Counts:
        return self._current[: self._panels.n_features]

    @property
    def bias_mean(self) -> Floats:
        """Mean of the bias: one number if the labels are coupled, else (L,)."""
        return self._shown(self._bias_mean)

    @property
    def bias_variance(self) -> Floats:
        """Variance of the bias, shaped as its mean."""
        return self._shown(self._bias_variance)

    def _shown(self, values: Floats) -> Floats:
        shown = (values[0:1].reshape(()) if self.model.coupled else values).view()
        shown.flags.writeable = False
        return shown

    @property
    def bias_moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of all biases, (1,) or (L,) each."""
        return self._bias_mean, self._bias_variance

    def set_bias(self, mean: NDArray[np.floating], variance: NDArray[np.floating]) -> None:
        self._bias_mean, self._bias_variance = np.array(mean, float), np.array(variance, float)

    def counts(self) -> dict[str, NDArray[Any]]:
        """Return all that was counted, by name: not copied."""
        return {
            "positives": self.positives,
            "observed": self.observed,
            "n_rows": np.array(self.n_rows),
            "row_lengths": self._row_scale.sums,
            "calibration": self._calibration.counts,
        }

    def set_counts(self, counts: Mapping[str, NDArray[Any]]) -> None:
        self.positives[:] = counts["positives"]
        self.observed[:] = counts["observed"]
        self.n_rows = int(counts["n_rows"])
        self._row_scale.sums[:] = counts["row_lengths"]
        self._calibration.counts[:] = counts["calibration"]

    # Files and copies.

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the posterior for a checkpoint: not copied, the arrays change with learning."""
        panels = {f"panel_{number}": panel for number, panel in enumerate(self._panels.views())}
        others = {
            "current": self._stored_current,
            "bias_mean": self._bias_mean,
            "bias_variance": self._bias_variance,
        }
        return panels | others | self.counts()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any]) -> Self:
        """Return the state of these arrays, copied and checked, and of `ProbitModel.as_dict`."""
        model = ProbitModel.of(**values)
        check_posterior(arrays, model)
        return cls._copied(arrays, model)

    @classmethod
    def _copied(cls, arrays: Mapping[str, NDArray[Any]], model: ProbitModel) -> Self:
        state = cls(len(arrays["current"]) - 1, len(arrays["positives"]), model=model)
        for number, panel in enumerate(state._panels.views()):
            panel[:] = arrays[f"panel_{number}"]
        for name in ("current", "bias_mean", "bias_variance"):
            getattr(state, f"_{name}")[:] = arrays[name]
        state.set_counts(arrays)
        return state

    def copy(self) -> Self:
        return self._copied(self.to_arrays(), self.model)

    def __getstate__(self) -> dict[str, Any]:
        return {"arrays": self.to_arrays(), "model": self.model.as_dict()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(vars(self.from_arrays(saved["arrays"], saved["model"])))


def _longer(values: NDArray[Any], length: int, new: float) -> NDArray[Any]:
    added = np.full(length - len(values), new, dtype=values.dtype)
    return np.append(values, added)
