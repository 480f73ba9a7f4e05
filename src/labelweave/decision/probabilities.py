"""The scores that rules for test sets accept: plain numbers, or probabilities as log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from labelweave._common.arrays import Floats

# The finite log-odds of a certain label, larger than all others.
_CERTAIN = 1e300


class Probabilities:
    """Probabilities that are held as log-odds, so that those near 0 and 1 keep their order.

    From log-odds of 37 on, a probability is rounded to 1, and many rows would have equal scores.
    Rules for test sets rank rows by `log_odds`, which are infinite for a probability of 0 or 1, and
    return thresholds of this class. NumPy treats the object as an array of probabilities.
    """

    def __init__(self, log_odds: npt.ArrayLike) -> None:
        self.log_odds: Floats = np.asarray(log_odds, dtype=np.float64)

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """Return probabilities; a threshold below 0 or above 1 becomes infinite log-odds."""
        p = np.asarray(values, dtype=np.float64)
        with np.errstate(divide="ignore"):
            finite = np.clip(logit(np.clip(p, 0.0, 1.0)), -_CERTAIN, _CERTAIN)
        return cls(np.select([p < 0, p > 1], [-np.inf, np.inf], finite))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.log_odds.shape

    def __len__(self) -> int:
        return len(self.log_odds)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        del copy  # the probabilities are computed
        return np.asarray(expit(self.log_odds), dtype=dtype)

    def __getitem__(self, index: Any) -> Self:
        return type(self)(self.log_odds[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Probabilities) and np.array_equal(self.log_odds, other.log_odds)

    def __hash__(self) -> int:
        return hash((self.shape, self.log_odds.tobytes()))

    def __repr__(self) -> str:
        return f"Probabilities({np.array2string(self.log_odds, separator=', ')})"


#: Plain numbers, or probabilities as log-odds.
Scores: TypeAlias = Floats | Probabilities


def as_scores(values: npt.ArrayLike) -> Scores:
    """Return numbers as an array of floats; `Probabilities` stay as they are."""
    return values if isinstance(values, Probabilities) else np.asarray(values, dtype=np.float64)


def check_scores(scores: npt.ArrayLike) -> Floats:
    """Return the finite numbers that rank the rows, (n, L): scores, or clipped log-odds."""
    given = as_scores(scores)
    values = given.log_odds if isinstance(given, Probabilities) else given
    if values.ndim != 2:
        raise ValueError(f"scores must be a matrix, rows by labels; got shape {values.shape}")
    if isinstance(given, Probabilities):
        values = np.clip(values, -_CERTAIN, _CERTAIN)
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite; some are infinite or NaN")
    return values


def check_probabilities(scores: npt.ArrayLike) -> Floats:
    """Return scores as an (n, L) array; raise ValueError unless they are probabilities."""
    values = check_scores(scores)
    if isinstance(scores, Probabilities):
        return np.asarray(expit(values))
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise ValueError(
            "scores must be probabilities from 0 to 1 to have an expectation; "
            f"they reach from {values.min():.4g} to {values.max():.4g}"
        )
    return values


def like(scores: npt.ArrayLike, thresholds: Floats) -> Scores:
    """Convert thresholds from the units of `check_scores` to the units of the scores."""
    return Probabilities(thresholds) if isinstance(scores, Probabilities) else thresholds


def ranked_like(scores: npt.ArrayLike, thresholds: npt.ArrayLike) -> Floats:
    """Convert thresholds from the units of the scores to the units of `check_scores`."""
    if isinstance(scores, Probabilities):
        given = as_scores(thresholds)
        held = given if isinstance(given, Probabilities) else Probabilities.of(given)
        return held.log_odds
    return np.asarray(thresholds, dtype=np.float64)


def joined(parts: Sequence[Scores]) -> Scores:
    """Concatenate the scores of several parts, as `Probabilities` if one part has them."""
    held = next((part for part in parts if isinstance(part, Probabilities)), None)
    if held is None:
        return np.concatenate([np.asarray(part) for part in parts])
    return Probabilities(np.concatenate([ranked_like(held, part) for part in parts]))
