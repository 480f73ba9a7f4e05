"""The probabilistic model of an online learner: its likelihood, its priors and its settings.

The score of label c for a row x is s_c = ⟨w_c, x⟩ + a_c, with weights w ~ N(0, `prior_variance`)
and, if labels share a bias, an offset a_c of its own. The label applies if s_c plus noise of
variance `noise`² exceeds a bias b ~ N(0, `bias_variance`) by a margin (figure 3 of the paper), or
the scores of all labels that the row does not have (figures 1 and 2).

`OnlineSettings` holds what has a good default. `ProbitModel` holds what a user names first, too: it
is everything besides the rows that a posterior depends on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from labelweave._common.arrays import Floats
from labelweave._common.checks import check_choice, check_flag, check_number
from labelweave._common.presets import Preset, Presets, published
from labelweave._core import native

_LIKELIHOODS = ("bias", "pairwise", "multiclass")
# The variance of a bias that is known.
_KNOWN = 1e-15
_FLAGS = ("coupled", "skew_margin", "scale_rows", "calibrate")


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """Margin, noise and priors of an online learner, and how it scales and calibrates.

    Its values are parameters of the estimator, too: ``settings__noise`` in a grid search, and
    ``bomc-cmn(noise=0.1)`` in the specification of a method.

    Parameters
    ----------
    margin : float, optional
        How far scores have to be on their side of the bias. None stands for 1, or for 0 if the
        estimator has a `flip_probability`: if the margin is wide for the prior, a wrong record is
        the likelier explanation of every label.
    skew_margin : bool, default=True
        Whether the margin of positive examples is multiplied by ln(e + 1/r), r being the ratio of
        rows with the label to rows without it: the rarer the label, the more an example counts.
    label_ratios : sequence of float, optional
        The ratio r of each label where it is known beforehand, as in the paper. None takes the
        ratio among the rows so far.
    noise : float, default=0.25
        Standard deviation of the noise on a score. Without any, a row is certain to lie beyond the
        margin, and the posterior is soon surer of its weights than it should be.
    prior_variance : float, default=0.1
        Prior variance of a weight; its prior mean is 0. Only its size and that of `noise` relative
        to `margin` matter to the order of scores.
    bias_variance : float, default=1.0
        Prior variance of a bias, of the order of a squared margin. Much more lets the first rows
        move it far beyond all scores; with a `flip_probability` it stays there, and labels on its
        wrong side count as recorded wrongly.
    label_offset : float, default=0.5
        Value of a constant feature, with one weight per label, beside the bias that coupled labels
        share: it lets frequent labels score higher than others. 0 leaves it out.
    scale_rows : bool, default=True
        Whether features are divided by the mean length of the rows so far: the defaults of prior,
        noise and margin are meant for rows of length one.
    calibrate : bool, default=True
        Whether probabilities are calibrated by one logistic map per label, fitted to prequential
        predictions: rows (at first all, later fewer and fewer) are predicted before they are
        learned from. The posterior itself is overconfident: it has to respect a margin, wider for
        rare labels, and ignores that features are correlated. Calibration does not change the
        order of rows by the probability of a label.

    Examples
    --------
    >>> from labelweave import BayesianOnlineClassifier, OnlineSettings
    >>> model = BayesianOnlineClassifier(settings=OnlineSettings(calibrate=False))
    >>> model.set_params(settings__noise=0.1).settings.noise
    0.1
    >>> OnlineSettings.preset("published").noise
    0.01
    """

    margin: float | None = None
    skew_margin: bool = True
    label_ratios: Sequence[float] | None = None
    noise: float = 0.25
    prior_variance: float = 0.1
    bias_variance: float = 1.0
    label_offset: float = 0.5
    scale_rows: bool = True
    calibrate: bool = True

    presets: ClassVar[Presets] = published(
        margin=1.0,
        noise=0.01,
        prior_variance=1.0,
        bias_variance=1e4,
        label_offset=0.0,
        skew_margin=True,
        scale_rows=False,
        calibrate=False,
    )
    preset = Preset()

    def __post_init__(self) -> None:
        for name in ("skew_margin", "scale_rows", "calibrate"):
            check_flag(getattr(self, name), name)
        if self.margin is not None:
            check_number(self.margin, "margin", minimum=0.0, maximum=1e10)
        check_number(self.noise, "noise", minimum=0.0, maximum=1e10)
        # Variances are kept in float32, and their squares are needed.
        check_number(self.prior_variance, "prior_variance", minimum=1e-15, maximum=1e15)
        check_number(self.bias_variance, "bias_variance", minimum=1e-15, maximum=1e15)
        check_number(self.label_offset, "label_offset", minimum=0.0, maximum=1e10)
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


@dataclass(frozen=True, kw_only=True)
class ProbitModel:
    """What a posterior depends on besides the rows; its parameters are those of the estimator.

    The margin in its settings is always a number.
    """

    likelihood: str = "bias"
    coupled: bool = True
    flip_probability: float = 0.0
    forgetting: float = 0.0
    settings: OnlineSettings = OnlineSettings()

    def __post_init__(self) -> None:
        check_choice(self.likelihood, "likelihood", _LIKELIHOODS)
        check_flag(self.coupled, "coupled")
        if self.likelihood != "bias" and not self.coupled:
            raise ValueError(
                "coupled must be True unless likelihood='bias': labels that are compared with each "
                "other have no biases"
            )
        check_number(self.flip_probability, "flip_probability", minimum=0.0, maximum=0.499)
        check_number(self.forgetting, "forgetting", minimum=0.0, maximum=0.999)
        if not isinstance(self.settings, OnlineSettings):
            raise ValueError(f"settings must be OnlineSettings or None; got {self.settings!r}")
        if self.settings.margin is None:
            margin = 0.0 if self.flip_probability else 1.0
            object.__setattr__(self, "settings", replace(self.settings, margin=margin))

    @classmethod
    def of(cls, **values: Any) -> ProbitModel:
        """Return the model of these values, among them those of its settings, as in `as_dict`."""
        names = {part.name for part in fields(OnlineSettings)} & values.keys()
        settings = OnlineSettings(**{name: values.pop(name) for name in names})
        return cls(settings=settings, **values)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, those of the settings among them, for a checkpoint."""
        values = asdict(self)
        values |= values.pop("settings")
        likelihood, ratios = values.pop("likelihood"), values.pop("label_ratios")
        plain = {k: bool(v) if k in _FLAGS else float(v) for k, v in values.items()}
        ratios = None if ratios is None else list(ratios)
        return {"likelihood": likelihood, **plain, "label_ratios": ratios}

    def check_n_labels(self, n_labels: int, may_grow: bool = True) -> None:
        """Refuse more labels than have known ratios, and fewer if none will join them."""
        ratios = self.settings.label_ratios
        known = n_labels if ratios is None else len(ratios)
        if n_labels > known or (n_labels < known and not may_grow):
            raise ValueError(
                f"label_ratios has {known} entries, but there are {n_labels} "
                "labels: give one per label"
            )

    @property
    def bias_prior(self) -> float:
        """Prior variance of a bias; labels that are compared with each other have it at 0."""
        return float(self.settings.bias_variance) if self.likelihood == "bias" else _KNOWN

    @property
    def label_offset(self) -> float:
        """Value of the constant feature; labels with biases of their own have none."""
        return self.settings.label_offset if self.coupled else 0.0

    def known_skew(self) -> Floats:
        """Return the factors on the margins of positive examples; empty unless they are known."""
        return skew_of(1 / np.array(self.settings.label_ratios or (), dtype=np.float64))

    def native(self) -> native.OnlineSettings:
        return _native_settings(self)


@lru_cache(maxsize=16)  # asked for with every row that is predicted before it is learned from
def _native_settings(model: ProbitModel) -> native.OnlineSettings:
    values = model.as_dict()
    for name in ("likelihood", "scale_rows", "calibrate", "label_ratios"):  # not the kernels'
        del values[name]
    return native.OnlineSettings(**values)


def skew_of(absent: Floats) -> Floats:
    """Return ln(e + 1/r) for labels that 1/r rows lack for each row that has them."""
    return np.asarray(np.log(np.e + absent))
