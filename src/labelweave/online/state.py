"""All that an online learner knows: a Gaussian for every weight, and a few counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from labelweave._core import native
from labelweave.online.csr import csr_batches
from labelweave.online.panels import WeightPanels, Weights, panel_slices
from labelweave.online.settings import OnlineSettings
from labelweave.online.stored import check_posterior

Floats = NDArray[np.float64]
_TINY, _EPSILON = np.finfo(np.float64).tiny, np.finfo(np.float64).epsneg


class OnlineState:
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
        How many rows had a label, and how many told whether they had it.

    Examples
    --------
    >>> import numpy as np
    >>> state = OnlineState(n_features=2, n_labels=1)
    >>> X, Y = np.eye(2), np.array([[1], [0]], dtype=np.int8)
    >>> for _ in range(4):
    ...     state.update(X, Y)
    >>> state.scores(X)[:, 0].round(2).tolist()
    [0.77, 0.02]

    A feature or a label that comes later starts from the prior:

    >>> state.grow(n_features=3, n_labels=2)
    >>> state.variance[2], state.mean[2]
    (array([0.1, 0.1], dtype=float32), array([0., 0.], dtype=float32))
    """

    def __init__(
        self, n_features: int = 0, n_labels: int = 0, *, settings: OnlineSettings | None = None
    ) -> None:
        self.settings = OnlineSettings() if settings is None else settings
        self.n_features = self.n_labels = self.n_rows = 0
        self.positives = np.zeros(0, dtype=np.int64)
        self.observed = np.zeros(0, dtype=np.int64)
        n_biases = 1 if self.settings.coupled else 0
        self._bias_mean = np.zeros(n_biases)
        self._bias_variance = np.full(n_biases, float(self.settings.bias_variance))
        self._panels = WeightPanels(float(self.settings.prior_variance))
        self._pace = native.OnlinePace()
        # Up to which row each feature has forgotten.
        self._current = np.zeros(0, dtype=np.int64)
        self.grow(n_features, n_labels)

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
        self._panels.grow(1 + wanted, labels)  # the constant feature comes first
        if wanted >= len(self._current):
            room = max(1 + wanted, len(self._current) * 3 // 2)
            self._current = np.append(
                self._current, np.zeros(room - len(self._current), dtype=np.int64)
            )
        self.n_features = wanted
        added = labels - self.n_labels
        if added:
            self.positives = np.append(self.positives, np.zeros(added, dtype=np.int64))
            self.observed = np.append(self.observed, np.zeros(added, dtype=np.int64))
            if not self.settings.coupled:
                prior = np.full(added, float(self.settings.bias_variance))
                self._bias_mean = np.append(self._bias_mean, np.zeros(added))
                self._bias_variance = np.append(self._bias_variance, prior)
            self.n_labels = labels

    @property
    def mean(self) -> Weights:
        """Means of the weights, (D, L): a copy."""
        return self._weights(0)

    @property
    def variance(self) -> Weights:
        """Variances of the weights, (D, L), as of the last row: a copy."""
        return self._weights(1)

    def _weights(self, moment: int) -> Weights:
        return self._all_weights(moment)[1:]

    def _all_weights(self, moment: int, rows: slice = slice(None)) -> Weights:
        parts = range(len(panel_slices(self.n_labels)))
        none = np.empty((len(self._stored_current[rows]), 0), dtype=np.float32)
        return np.hstack([none, *(self.panel_moments(part, rows)[moment] for part in parts)])

    @property
    def offset_mean(self) -> Floats:
        """Mean of what the score of each label has added to it, whatever the row, (L,)."""
        mean: Floats = self._all_weights(0, slice(1))[0] * np.float64(self._offset)
        return mean

    @property
    def offset_variance(self) -> Floats:
        """Variance of it, (L,)."""
        variance: Floats = self._all_weights(1, slice(1))[0] * np.float64(self._offset**2)
        return variance

    @property
    def _offset(self) -> float:
        return self.settings.label_offset if self.settings.coupled else 0.0

    @property
    def _stored_current(self) -> NDArray[np.int64]:
        return self._current[: self._panels.n_features]

    def panel_moments(self, number: int, rows: slice = slice(None)) -> tuple[Weights, Weights]:
        """Return mean and variance of the weights of one panel, the first row the offsets'."""
        panel = self._panels.views()[number][rows]
        mean, variance = panel[:, 0], panel[:, 1]
        if self.settings.forgetting:
            elapsed = self.n_rows - self._stored_current[rows, None]
            keeping = np.exp(elapsed * np.log1p(-self.settings.forgetting)).astype(np.float32)
            prior = np.float32(self.settings.prior_variance)
            variance = prior * variance / (variance + keeping * (prior - variance))
        return mean, variance

    @property
    def nbytes(self) -> int:
        """Bytes that the weights take."""
        return self._panels.nbytes

    @property
    def bias_mean(self) -> Floats:
        """Mean of the bias: one number if the labels are coupled, else (L,)."""
        return _read_only(self._bias_mean[0:1].reshape(()) if self._shared else self._bias_mean)

    @property
    def bias_variance(self) -> Floats:
        """Variance of the bias, shaped as its mean."""
        values = self._bias_variance
        return _read_only(values[0:1].reshape(()) if self._shared else values)

    @property
    def _shared(self) -> bool:
        return bool(self.settings.coupled)

    def update(self, X: Any, Y: NDArray[Any], n_threads: int = 1) -> None:
        """Learn from the rows of X (array or sparse) and Y (0, 1, or -1 for unknown) in turn."""
        labels = _label_matrix(Y)
        if labels.shape != (X.shape[0], self.n_labels):
            raise ValueError(
                f"Y must have one row for each row of X and one column for each of the "
                f"{self.n_labels} labels; got shape {labels.shape}. `grow` adds labels"
            )
        if self.n_labels == 0:
            raise ValueError("there are no labels to learn: call grow(n_labels=...) first")
        for begin, end, rows in csr_batches(X, self.n_features):
            bound = self._bound()
            try:
                bound.update(*rows, labels[begin:end], self._pace, n_threads)
            finally:  # after Ctrl-C the state is that of the rows it counts
                self.n_rows = bound.n_rows

    def moments(self, X: Any, n_threads: int = 1) -> tuple[Floats, Floats]:
        """Return mean and variance of every label's score, offset + ⟨w, x⟩, (n, L) each."""
        mean = np.empty((X.shape[0], self.n_labels))
        variance = np.empty_like(mean)
        for begin, end, rows in csr_batches(X, self.n_features):
            self._bound().moments(*rows, mean[begin:end], variance[begin:end], n_threads)
        return mean, variance

    def scores(self, X: Any, n_threads: int = 1) -> Floats:
        """Return the probability of every label, (n, L): that its score exceeds the bias."""
        mean, variance = self.moments(X, n_threads)
        scale = np.sqrt(self.bias_variance + variance)
        # Rounding must not make anything certain: a posterior never is.
        return np.clip(ndtr((mean - self.bias_mean) / scale), _TINY, 1.0 - _EPSILON)

    def sample_scores(
        self, X: Any, n_samples: int, seed: int, n_threads: int = 1
    ) -> NDArray[np.bool_]:
        """Return whether scores exceed the bias in models drawn from the posterior, (S, n, L).

        A model is drawn by its number and `seed`: all calls meet the same ones, so that X may come
        in batches. No drawn model is ever stored.
        """
        above = np.empty((n_samples, X.shape[0], self.n_labels), dtype=np.int8)
        for begin, end, rows in csr_batches(X, self.n_features):
            part = np.empty((n_samples, end - begin, self.n_labels), dtype=np.int8)
            self._bound().samples(*rows, seed, part, n_threads)
            above[:, begin:end] = part
        return above.view(np.bool_)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, bool | float]]:
        """Return everything as arrays and plain settings, for a checkpoint.

        Nothing is copied: the arrays change when learning goes on.
        """
        arrays: dict[str, NDArray[Any]] = {
            f"panel_{number}": panel for number, panel in enumerate(self._panels.views())
        }
        arrays |= {
            "current": self._stored_current,
            "bias_mean": self._bias_mean,
            "bias_variance": self._bias_variance,
            "positives": self.positives,
            "observed": self.observed,
            "n_rows": np.array(self.n_rows),
        }
        return arrays, self.settings.as_dict()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Self:
        """Return the state that `to_arrays` described, as a copy."""
        known = OnlineSettings(**settings)
        check_posterior(arrays, known)
        sizes = len(arrays["current"]) - 1, len(arrays["positives"])
        state = cls(*sizes, settings=known)
        for number, panel in enumerate(state._panels.views()):
            panel[:] = arrays[f"panel_{number}"]
        for name in ("current", "bias_mean", "bias_variance"):
            getattr(state, f"_{name}")[:] = arrays[name]
        state.positives[:] = arrays["positives"]
        state.observed[:] = arrays["observed"]
        state.n_rows = int(arrays["n_rows"])
        return state

    def copy(self) -> Self:
        """Return a state that learns on its own."""
        return self.from_arrays(*self.to_arrays())

    def __getstate__(self) -> dict[str, Any]:
        arrays, settings = self.to_arrays()
        return {"arrays": arrays, "settings": settings}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(vars(self.from_arrays(saved["arrays"], saved["settings"])))

    def _bound(self) -> native.OnlineModel:
        return native.OnlineModel(
            self._panels.bound(),
            self._stored_current,
            self._bias_mean,
            self._bias_variance,
            self.positives,
            self.observed,
            self.n_rows,
            self.settings.native(),
        )


def _label_matrix(Y: NDArray[Any]) -> NDArray[np.int8]:
    with np.errstate(invalid="ignore"):
        labels = np.ascontiguousarray(Y, dtype=np.int8)
    as_given = labels is Y or np.array_equal(labels, Y)
    if labels.size and not (as_given and labels.min() >= -1 and labels.max() <= 1):
        raise ValueError("Y must be 0 or 1, or -1 where it is not known whether a label applies")
    return labels


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    shown = values.view()
    shown.flags.writeable = False
    return shown
