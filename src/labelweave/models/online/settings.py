"""How an online learner learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_flag, check_number
from labelweave._core import native

_LIKELIHOODS = ("bias", "pairwise", "multiclass")
# The variance of a bias that is known.
_KNOWN = 1e-15
_FLAGS = ("coupled", "skew_margin", "scale_rows", "calibrate")


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """The model and its priors.

    Parameters
    ----------
    likelihood : {"bias", "pairwise", "multiclass"}
        What scores of relevant labels have to exceed: a bias, or those of all irrelevant labels.
    coupled : bool
        One bias for all labels, or one for each.
    skew_margin : bool
        Whether examples of a rare label are asked to lie further from the rest.
    label_ratios : sequence of float, optional
        Rows with each label to rows without it, where known; else those of the rows so far.
    margin : float, optional
        How far a score has to be on its side of the bias. None stands for 1, or for 0 if labels
        may be recorded wrongly.
    noise : float
        Standard deviation of the noise on a score.
    prior_variance, bias_variance : float
        Prior variances of a weight and of a bias.
    label_offset : float
        Value of a constant feature that coupled labels have beside their common bias; 0: none.
    flip_probability : float
        How often a label is recorded wrongly, below one half: its score is then a margin beyond
        the bias on the other side.
    forgetting : float
        The share of all evidence that is lost with every row, below one.
    scale_rows : bool
        Whether features are divided by the mean length of the rows so far.
    calibrate : bool
        Whether probabilities are fitted to what came true after earlier predictions.

    Examples
    --------
    >>> OnlineSettings(forgetting=0.001).noise
    0.25
    >>> OnlineSettings(noise=-1.0)
    Traceback (most recent call last):
    ...
    ValueError: noise must be a number from 0 to 1e+10; got -1.0
    """

    likelihood: str = "bias"
    coupled: bool = True
    skew_margin: bool = True
    margin: float | None = None
    noise: float = 0.25
    prior_variance: float = 0.1
    bias_variance: float = 1.0
    label_offset: float = 0.5
    flip_probability: float = 0.0
    forgetting: float = 0.0
    scale_rows: bool = True
    calibrate: bool = True
    label_ratios: Sequence[float] | None = None

    def __post_init__(self) -> None:
        check_choice(self.likelihood, "likelihood", _LIKELIHOODS)
        for name in _FLAGS:
            check_flag(getattr(self, name), name)
        if self.likelihood != "bias" and not self.coupled:
            raise ValueError(
                "coupled must be True unless likelihood='bias': labels that are compared with each "
                "other have no biases"
            )
        check_number(self.noise, "noise", minimum=0.0, maximum=1e10)
        # Variances are kept in float32, and their squares are needed.
        check_number(self.prior_variance, "prior_variance", minimum=1e-15, maximum=1e15)
        check_number(self.bias_variance, "bias_variance", minimum=1e-15, maximum=1e15)
        check_number(self.label_offset, "label_offset", minimum=0.0, maximum=1e10)
        check_number(self.flip_probability, "flip_probability", minimum=0.0, maximum=0.499)
        check_number(self.forgetting, "forgetting", minimum=0.0, maximum=0.999)
        if self.margin is None:
            object.__setattr__(self, "margin", 0.0 if self.flip_probability else 1.0)
        check_number(self.margin, "margin", minimum=0.0, maximum=1e10)
        if self.label_ratios is not None:
            object.__setattr__(self, "label_ratios", self._checked_ratios())

    def _checked_ratios(self) -> tuple[float, ...]:
        if not self.skew_margin:
            raise ValueError("label_ratios widen margins: leave them out, or set skew_margin=True")
        try:
            ratios = np.asarray(self.label_ratios, dtype=np.float64)
        except (TypeError, ValueError):
            ratios = np.empty(0)
        if ratios.ndim != 1 or not len(ratios) or not ((ratios > 0) & (ratios < np.inf)).all():
            raise ValueError(
                "label_ratios must be positive numbers, one per label: rows with the label divided "
                f"by rows without it; got {self.label_ratios!r}"
            )
        return tuple(ratios.tolist())

    def known_skew(self) -> Floats:
        """Return what margins of each label's examples are multiplied by; empty unless known."""
        return skew_of(1 / np.array(self.label_ratios or (), dtype=np.float64))

    def check_labels(self, n_labels: int, may_grow: bool = True) -> None:
        """Refuse more labels than have known ratios, and fewer if none will join them."""
        known = n_labels if self.label_ratios is None else len(self.label_ratios)
        if n_labels > known or (n_labels < known and not may_grow):
            raise ValueError(
                f"label_ratios has {known} entries, but there are {n_labels} "
                "labels: give one per label"
            )

    @property
    def bias_prior(self) -> float:
        """Prior variance of a bias; labels that are compared with each other have it at 0."""
        return float(self.bias_variance) if self.likelihood == "bias" else _KNOWN

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a checkpoint."""
        values = asdict(self)
        likelihood, ratios = values.pop("likelihood"), values.pop("label_ratios")
        plain = {k: bool(v) if k in _FLAGS else float(v) for k, v in values.items()}
        ratios = None if ratios is None else list(ratios)
        return {"likelihood": likelihood, **plain, "label_ratios": ratios}

    def native(self) -> native.OnlineSettings:
        """Return what the kernels read."""
        return _native_settings(self)


@lru_cache(maxsize=16)  # asked for with every row that is predicted before it is learned from
def _native_settings(settings: OnlineSettings) -> native.OnlineSettings:
    values = settings.as_dict()
    for name in ("likelihood", "scale_rows", "calibrate", "label_ratios"):  # not the kernels'
        del values[name]
    return native.OnlineSettings(**values)


def skew_of(absent: Floats) -> Floats:
    """Return ln(e + 1/r) for labels that 1/r rows lack for each row that has them."""
    return np.asarray(np.log(np.e + absent))
