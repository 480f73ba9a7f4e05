"""BOMC: a Bayesian online classifier for streams of multi-label data.

`BayesianOnlineClassifier` learns an `OnlineState` and predicts from it. Coupled labels share an
uncertain bias ζ, and are independent given it, so their joint distribution is a mixture over ζ:

    P(y) = ∫ Π_c P(y_c | ζ) N(ζ) dζ,    P(y_c = 1 | ζ) = Φ((z_c − ρ_c ζ) / √(1 − ρ_c²)).

Quadrature makes it a mixture of some nodes. The marginals have a closed form, and the mixture has
exactly those, however small they are: where the nodes miss one, its probabilities at all nodes are
moved by the same share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, log_softmax
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Labels, Mask
from labelweave._common.labels import LabelEncoding
from labelweave._common.presets import Presets, published
from labelweave.decision import ClassMassNormalization
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities
from labelweave.decision.rules import ScoredRows
from labelweave.joint import ChainJoint, IndependentJoint, JointDistribution, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.online.calibration import Latent
from labelweave.models.online.rows import pass_order, repeated
from labelweave.models.online.settings import OnlineSettings, ProbitModel
from labelweave.models.online.state import OnlineState

# Rows that `fit` puts in order at a time: no shuffled copy of all of X is made.
_BATCH = 2048
# Components of the joint distribution of coupled labels.
_NODES = 16
# At least this share of a label's variance is its own. Labels that depend on the bias alone would
# be contradicted at every node of the quadrature, with log-probabilities of -10^30.
_LEAST_OWN = 0.05
# Log-odds that are as good as certain, and leave other log-odds their digits.
_CERTAIN = 100.0


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianOnlineClassifier(MultiLabelClassifier):
    """A linear classifier that learns row by row, with a posterior over every weight (BOMC).

    Label c is relevant where ⟨w_c, x⟩ exceeds a bias. Weights and bias have Gaussian posteriors,
    updated with each row by expectation propagation; a row costs as much as reading and writing
    the weights of its non-zero features. One pass is enough, there is no learning rate to tune, and
    `partial_fit` can go on indefinitely: X may gain columns and y labels on the right, which start
    from the prior; rows before a label's first appearance say nothing about it.

    Features should be of comparable size: standardise columns of measurements, give counts tf-idf
    weights. The mean length of the rows does not matter, since features are divided by it.

    Parameters
    ----------
    likelihood : {"bias", "pairwise", "multiclass"}, default="bias"
        The scores of a row's labels have to exceed a bias, as in figure 3 of the paper; or, with
        "pairwise", the scores of all labels that the row does not have (figure 2), at the cost of
        two messages for each such pair, O(L²). "multiclass" is "pairwise" for rows with exactly
        one label (figure 1, O(L) messages): probabilities of a row sum to one. Both run in Python,
        without threads.
    coupled : bool, default=True
        Whether all labels share one bias, which is learned quickly, or each label has its own.
    flip_probability : float, default=0.0
        How often a label is recorded wrongly, below one half: the score of such a row is a margin
        beyond the bias on the other side, and a row whose score lies there has little influence.
    forgetting : float, default=0.0
        The share of all evidence that is lost with every row: variances rise towards the prior,
        and rows that were learned 1/forgetting rows ago count a third. For data that drift.
    settings : OnlineSettings, optional
        Margin, noise and priors, and whether rows are scaled and probabilities calibrated; None
        stands for ``OnlineSettings()``.
    passes : int, default=1
        How often `fit` goes through the rows, each time in a random order that depends on their
        content and `random_state`, not on the order in which they are given. More than one pass
        counts the same evidence again: the posterior becomes overconfident, though predictions may
        improve. Only the first pass calibrates probabilities.
    decision : str, ThresholdRule or callable, default="cmn"
        The rule or loss that `predict` decides by (see `labelweave.decision`). "cmn" takes the rows
        together as one test set, and predicts each label on the share of rows that had it in
        training, or by its probability where that share is fewer than two rows.
    n_jobs, random_state, verbose : see `Estimator`

    Attributes
    ----------
    state_ : OnlineState
        The posterior. Its `offset_mean` and `offset_variance` describe the offsets of the labels,
        its `n_rows`, `positives` and `observed` count rows.
    mean_, variance_ : (D, L) arrays
        Moments of the weights of features divided by ``state_.row_length``.
    bias_mean_, bias_variance_ : float or (L,) array
        Moments of the bias; one bias per label unless `coupled`.
    seed_ : int
        The seed that was drawn from `random_state`.

    Notes
    -----
    ``sample_weight`` says how often a row is seen, in whole numbers. If `partial_fit` is
    interrupted in the middle of a batch, the model is that of the rows learned so far; any other
    failure leaves it as it was.

    ``BayesianOnlineClassifier.preset("published")`` has the priors and the noise of the paper, no
    offsets, unscaled rows and no calibration, and decides by
    ``ClassMassNormalization.preset("published")`` unless a `decision` is given beside the preset.
    The paper also knows the `label_ratios` of `OnlineSettings`. The defaults give a better macro F1
    with "cmn" on every data set tried, most where labels are hard to predict, and calibrated
    probabilities; with "sample" and few rows the published values are a little better.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave import BayesianOnlineClassifier, load
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = BayesianOnlineClassifier().fit(X[:400], data.Y[:400])
    >>> model.predict(X[400:]).mean(axis=0).round(2)
    array([0.3 , 0.27, 0.43, 0.23, 0.25, 0.34])
    >>> model.partial_fit(X[400:], data.Y[400:]).state_.n_rows
    593
    """

    likelihood: str = "bias"
    coupled: bool = True
    flip_probability: float = 0.0
    forgetting: float = 0.0
    settings: OnlineSettings | None = None
    passes: int = 1
    decision: str | Decision = "cmn"

    presets: ClassVar[Presets] = published(
        settings=OnlineSettings.preset("published"),
        decision=ClassMassNormalization.preset("published"),
    )
    _default_settings: ClassVar[Mapping[str, Any]] = {"settings": OnlineSettings()}
    _features_may_join: ClassVar[bool] = True
    _labels_may_join: ClassVar[bool] = True

    def probit_model(self) -> ProbitModel:
        """Return the likelihood and the priors, checked."""
        return ProbitModel(
            likelihood=self.likelihood,
            coupled=self.coupled,
            flip_probability=self.flip_probability,
            forgetting=self.forgetting,
            settings=self._setting("settings"),
        )

    @property
    def mean_(self) -> NDArray[np.float32]:
        """Means of the weights, (D, L)."""
        return self._posterior().mean

    @property
    def variance_(self) -> NDArray[np.float32]:
        """Variances of the weights, (D, L)."""
        return self._posterior().variance

    @property
    def bias_mean_(self) -> Floats:
        """Mean of the bias."""
        return self._posterior().bias_mean

    @property
    def bias_variance_(self) -> Floats:
        """Variance of the bias."""
        return self._posterior().bias_variance

    def _posterior(self) -> OnlineState:
        if not hasattr(self, "_is_fitted"):
            raise AttributeError("the model has not been fitted yet: call fit or partial_fit")
        return self.state_

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each label, (n, L).

        Unless it is calibrated, it is Φ((⟨μ, x⟩ − μ₀)/√(σ₀² + Σ σ²x²)), where x includes the
        constant feature of `label_offset`.

        For a one-dimensional y: the probabilities of its two classes, (n, 2).
        """
        check_is_fitted(self)
        X = self._features(X, reset=False)
        return self._encoding.probabilities(self.state_.probabilities(X, self._n_threads()))

    def scored(self, X: Any) -> ScoredRows:
        """Return the probabilities of the rows of X as log-odds, and labels under drawn models.

        If the rule needs draws, the probabilities are those of the models that are drawn.
        """
        check_is_fitted(self)
        rule = self.threshold_rule()
        if rule is not None and "joint" in rule.needs:
            return super().scored(X)
        rows, threads, state = self._features(X, reset=False), self._n_threads(), self.state_

        def draw(n_samples: int) -> Mask:
            return state.sample_labels(rows, n_samples, self.seed_, threads)

        if rule is not None and "draws" in rule.needs:
            return ScoredRows(Probabilities(state.noise_free(rows, threads).log_odds()), draw)
        return ScoredRows(Probabilities(state.log_odds(rows, threads)), draw)

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of the probabilities of `predict_proba`, (n, L)."""
        check_is_fitted(self)
        return self.state_.log_odds(self._features(X, reset=False), self._n_threads())

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        state = self.state_
        latent = state.latent(X, rows["n_threads"])
        if state.model.likelihood == "multiclass":
            return categorical_joint(latent.log_odds(), **rows)
        if state.model.likelihood == "bias" and state.model.coupled:
            return bias_mixture(latent, nodes=_NODES, **rows)
        return IndependentJoint(latent.log_odds(), **rows)

    def _training_rates(self) -> Floats:
        return np.asarray(self.state_.positives / np.maximum(self.state_.observed, 1))

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        passes = self._count("passes")
        self.seed_ = self._seed()
        model = self.probit_model()
        model.check_n_labels(labels.shape[1], may_grow=False)
        state = OnlineState(X.shape[1], labels.shape[1], model=model)
        for number in range(passes):
            order = pass_order(X, labels, sample_weight, self.seed_ + number)
            for first in range(0, len(order), _BATCH):
                rows = order[first : first + _BATCH]
                state.update(X[rows], labels[rows], self._n_threads(), seen=number > 0)
        self.state_ = state
        self._tell(f"learned from {state.n_rows} rows")

    def _check_can_stream(self) -> None:
        if self._untuned() is not None:
            raise AttributeError(
                f"decision {self.decision!r} needs all rows at once, to hold some of them out: "
                "call fit, or choose a decision such as 'cmn'"
            )

    def _begin(self, n_features: int) -> None:
        del n_features  # the first batch brings them, as later ones may
        self.state_ = OnlineState(model=self.probit_model())
        self.seed_ = self._seed()

    def _learn_batch(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            rows = repeated(np.arange(len(labels)), sample_weight)
            X, labels = X[rows], labels[rows]
        self.state_.admit(X, labels)
        self.state_.update(X, labels, self._n_threads())
        self._rates = self._training_rates()

    def _roll_back(self, before: dict[str, Any]) -> None:
        state = before["state_"] if "_is_fitted" in before else None
        sizes = before.get("n_features_in_"), before.get("n_labels_")
        if state is not None and (state.n_features, state.n_labels) != sizes:
            # The batch that was interrupted brought features or labels: a posterior cannot shrink,
            # so they stay, and so does what the rows before the interruption taught.
            self._rates = self._training_rates()
            self._is_fitted = True
            return
        super()._roll_back(before)

    def adopt(
        self,
        state: OnlineState,
        label_names: Sequence[str] | None = None,
        *,
        classes: NDArray[Any] | None = None,
        feature_names: Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Self:
        """Take over a posterior that was learned elsewhere, from a stream or in parts.

        Parameters
        ----------
        state : OnlineState
            Not copied: learning goes on in it.
        label_names : sequence of str, optional
            One name per label.
        classes : (2,) array, optional
            The two classes that the only label stands for, if y is one-dimensional.
        feature_names : sequence of str, optional
            One name per feature.
        seed : int, optional
            Seeds the models that the decision "sample" draws; by default drawn from
            `random_state`.
        """
        if state.model != self.probit_model():
            raise ValueError("state was learned with other settings than the model's parameters")
        names = {
            "label": (label_names, state.n_labels),
            "feature": (feature_names, state.n_features),
        }
        for kind, (given, number) in names.items():
            if given is not None and len(given) != number:
                raise ValueError(f"{kind}_names must name each of the {number} {kind}s")
        seed = self._seed() if seed is None else seed
        self._reset()
        self.state_, self.seed_ = state, seed
        self.n_features_in_ = state.n_features
        if feature_names is not None:
            self.feature_names_in_ = np.array(feature_names, dtype=object)
        if classes is None:
            classes = np.tile([0, 1], (state.n_labels, 1))
        self._adopt(LabelEncoding(classes, None if label_names is None else tuple(label_names)))
        self._rates = self._training_rates()
        self._is_fitted = True
        return self


def bias_mixture(latent: Latent, *, nodes: int, **rows: Any) -> MixtureJoint:
    """Return the mixture over the bias ζ by Gauss–Hermite quadrature, with exact marginals."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    z, loading = latent
    own = np.maximum(1.0 - loading**2, _LEAST_OWN)
    at_nodes = [(z - np.sqrt(1.0 - own) * point) / np.sqrt(own) for point in points]
    # Work with the rarer value of each label, whose probability has all its digits.
    sign = np.where(z < 0, 1.0, -1.0)
    found = np.full_like(z, -np.inf)
    for log_weight, t in zip(np.log(weights), at_nodes, strict=True):
        found = np.logaddexp(found, log_weight + log_ndtr(sign * t))
    components = [
        IndependentJoint(sign * _moved(sign * t, log_ndtr(sign * z), found), **rows)
        for t in at_nodes
    ]
    return MixtureJoint(weights, components, **rows)


def _moved(t: Floats, wanted: Floats, found: Floats) -> Floats:
    """Return log-odds of Φ(t), moved by the share that takes log-average `found` to `wanted`."""
    log_yes, log_no = log_ndtr(t), log_ndtr(-t)
    # If the average is too large, every probability loses the same share of itself; if it is too
    # small, each gains the same share of its complement.
    less = np.minimum(wanted - found, 0.0)
    down = less + log_yes - np.logaddexp(_log_rest(less), less + log_no)
    more = wanted + _log_rest(np.minimum(found - wanted, 0.0)) - _log_rest(found)
    stays = _log_rest(wanted) - _log_rest(found)
    up = np.logaddexp(log_yes, more + log_no) - (np.minimum(stays, 0.0) + log_no)
    return np.where(wanted < found, down, up)


def _log_rest(log_p: Floats) -> Floats:
    """Return log(1 − p)."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(log_p))


def categorical_joint(log_odds: Floats, **rows: Any) -> ChainJoint:
    """Return the distribution of independent labels given that exactly one applies, as a chain."""
    log_p = log_softmax(log_odds, axis=1)
    # P(only c) is proportional to the odds of label c; `left` sums over this label and later ones.
    left = np.logaddexp.accumulate(log_p[:, ::-1], axis=1)[:, ::-1]
    later = np.full_like(left, -np.inf)
    later[:, :-1] = left[:, 1:]
    scores = np.clip(log_p - later, -_CERTAIN, _CERTAIN)
    n_labels = log_odds.shape[1]
    coupling = np.tril(np.full((n_labels, n_labels), -2 * _CERTAIN), k=-1)
    return ChainJoint(scores, coupling, **rows)
