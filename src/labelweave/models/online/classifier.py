"""BayesianOnlineClassifier and the joint distributions it predicts.

Labels that share an uncertain bias, as a mixture of independent ones.

Predictions of an online learner, from its posterior.

BOMC: a Bayesian online classifier for streams of multi-label data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr
from sklearn.utils.validation import check_is_fitted

from labelweave._common.arrays import Floats, Indices, Labels, Mask
from labelweave._common.labels import LabelEncoding
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.decision import ClassMassNormalization
from labelweave.decision.losses import Decision
from labelweave.decision.probabilities import Probabilities
from labelweave.decision.rules import ScoredRows
from labelweave.joint import IndependentJoint, JointDistribution, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.online.calibration import Latent
from labelweave.models.online.rows import pass_order
from labelweave.models.online.settings import OnlineSettings
from labelweave.models.online.state import OnlineState, categorical_joint

# No less of a label's variance is its own: between the nodes of the quadrature, labels that depend
# on the bias alone would be contradicted at every node, with log-probabilities of -10^30.
_LEAST_OWN = 0.05


def bias_mixture(
    latent: Latent,
    *,
    nodes: int,
    label_names: Sequence[str] | None = None,
    row_ids: Indices | None = None,
    n_threads: int = 1,
) -> MixtureJoint:
    """Return P(y) = ∫ Π_c P(y_c | ζ) N(ζ) dζ by Gauss–Hermite quadrature over the bias ζ.

    Given ζ the labels are independent: P(y_c = 1 | ζ) = Φ((z_c − ρ_c ζ) / √(1 − ρ_c²)). The
    marginals have a closed form, and the mixture has exactly those, however small they are: where a
    few nodes miss one, its probabilities at all nodes are moved by the same share. Labels whose
    variance is nearly all that of the bias, as in rows without features, count as a little less
    dependent than they are.
    """
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
        IndependentJoint(
            sign * _moved(sign * t, log_ndtr(sign * z), found),
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
        for t in at_nodes
    ]
    return MixtureJoint(weights, components, n_threads=n_threads)


def _moved(t: Floats, wanted: Floats, found: Floats) -> Floats:
    """Log-odds of Φ(t), moved by the share that takes the average from `found` to `wanted`.

    Both are logarithms: probabilities of scores far from the bias are too small for floats.
    """
    log_yes, log_no = log_ndtr(t), log_ndtr(-t)
    # Too much: a share of every probability goes. Too little: a share of what is left comes.
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


# Components of the joint distribution of coupled labels.
_NODES = 16


class PosteriorPredictor(MultiLabelClassifier):
    """The half of an online classifier that predicts, from the posterior `state_`.

    See `BayesianOnlineClassifier`, the other half, which learns it.
    """

    state_: OnlineState
    seed_: int

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
        """Probability of each label, (n, L).

        Unless `calibrate`, it is Φ((⟨μ, x⟩ − μ₀)/√(σ₀² + Σ σ²x²)), the constant feature of
        `label_offset` counting as part of x.

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
        of_drawn_models = rule is not None and "draws" in rule.needs
        predict = state.posterior_log_odds if of_drawn_models else state.log_odds

        def draw(n_samples: int) -> Mask:
            return state.sample_labels(rows, n_samples, self.seed_, threads)

        return ScoredRows(Probabilities(predict(rows, threads)), draw)

    def predict_log_odds(self, X: Any) -> Floats:
        """Return the log-odds of each label, (n, L), as of `predict_proba`."""
        check_is_fitted(self)
        return self.state_.log_odds(self._features(X, reset=False), self._n_threads())

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        threads, state = self._n_threads(), self.state_
        latent = state.latent(X, threads)
        common: dict[str, Any] = {
            "label_names": self._names(),
            "row_ids": row_keys(X),
            "n_threads": threads,
        }
        if state.settings.likelihood == "multiclass":
            return categorical_joint(latent.log_odds(), **common)
        if state.settings.likelihood == "bias" and state.settings.coupled:
            return bias_mixture(latent, nodes=_NODES, **common)
        return IndependentJoint(latent.log_odds(), **common)

    def _training_rates(self) -> Floats:
        return self._frequencies()

    def _frequencies(self) -> Floats:
        return np.asarray(self.state_.positives / np.maximum(self.state_.observed, 1))


# Rows that `fit` puts in order at a time: no shuffled copy of all of X is made.
_BATCH = 2048
# The parameters that are the model's.
_SETTINGS = fields(OnlineSettings)


class BayesianOnlineClassifier(PosteriorPredictor):
    """A linear classifier that learns row by row, with a posterior over every weight (BOMC).

    Label c is relevant where ⟨w_c, x⟩ exceeds a bias. Weights and bias have Gaussian posteriors,
    updated with each row by expectation propagation; a row costs as much as reading and writing
    the weights of its non-zero features. One pass is enough, there is no learning rate to tune, and
    `partial_fit` can go on indefinitely: X may gain columns and y labels on the right, which start
    from the prior; rows before a label's first appearance say nothing about it.

    Features should be of comparable size: standardise columns of measurements, give counts tf-idf
    weights. The mean length of the rows does not matter, `scale_rows` divides by it.

    Parameters
    ----------
    likelihood : {"bias", "pairwise", "multiclass"}, default="bias"
        What the scores of a row's labels have to exceed: a bias, as in figure 3 of the paper; or
        the scores of all labels that the row does not have (figure 2), at the cost of two messages
        for each such pair, O(L²). "multiclass" is "pairwise" for rows with exactly one label
        (figure 1, O(L) messages): probabilities of a row sum to one. Both run in Python, without
        threads.
    coupled : bool, default=True
        Whether all labels share one bias, which is learned quickly, or each label has its own.
    margin : float, optional
        How far scores have to be on their side of the bias. None stands for 1, or for 0 with a
        `flip_probability`.
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
    skew_margin : bool, default=True
        Whether the margin of positive examples is multiplied by ln(e + 1/r), r being the ratio of
        rows with the label to rows without it: the rarer the label, the more an example counts.
    label_ratios : (L,) array, optional
        The ratio r of each label where it is known beforehand, as in the paper. None takes that of
        the rows so far.
    decision : str, ThresholdRule or callable, default="cmn"
        What `predict` decides by. Rules for the rows taken together as one test set: "cmn"
        predicts each label on the share of rows that had it in training (by its probability where
        that is fewer than two rows), "lcard" as many labels a row as in training, "sample" and
        "expected_f" choose thresholds that maximise the expected F1, "expected_auc" those that
        maximise the expected AUC, "fixed" uses 0.5 throughout. Losses, for each row on its own:
        "hamming" and "subset". See `labelweave.decision`.
    flip_probability : float, default=0.0
        How often a label is recorded wrongly: the score of such a row is a margin beyond the bias
        on the other side, and a row whose score lies there has little influence. If the margin is
        wide for the prior, a wrong record is the likelier explanation of every label: hence no
        margin by default.
    forgetting : float, default=0.0
        The share of all evidence that is lost with every row: variances rise towards the prior,
        and what was learned 1/forgetting rows ago counts a third. For data that drift.
    scale_rows : bool, default=True
        Whether features are divided by the mean length of the rows so far: the defaults of prior,
        noise and margin are meant for rows of length one.
    calibrate : bool, default=True
        Whether probabilities are calibrated by one logistic map per label, fitted to prequential
        predictions: rows (at first all, later fewer and fewer) are predicted before they are
        learned from. The posterior itself is overconfident: it has to respect a margin, wider for
        rare labels, and ignores that features are correlated. Calibration does not change the
        order of rows by the probability of a label.
    passes : int, default=1
        How often `fit` goes through the rows. More than one counts the same evidence again: the
        posterior becomes overconfident, though predictions may improve. Only the first pass
        calibrates probabilities.
    shuffle : bool, default=True
        Whether `fit` takes the rows in random order: one that depends on their content and
        `random_state`, not on the order in which they are given.
    n_jobs : int, optional
        Threads that share the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the models that "sample" draws. None counts as 0.
    verbose : int, default=0
        If positive, print how many rows `fit` learned from.

    Attributes
    ----------
    state_ : OnlineState
        The posterior; its `offset_mean` and `offset_variance` are those of the offsets.
    mean_, variance_ : (D, L) arrays
        Of the weights of features divided by ``state_.row_length``.
    bias_mean_, bias_variance_ : float or (L,) array
        Of the bias, one per label unless `coupled`.
    seed_ : int
        What was drawn from `random_state`.

    Notes
    -----
    ``sample_weight`` says how often a row is seen, in whole numbers.

    If `partial_fit` is interrupted in the middle of a batch, the model is that of the rows learned
    so far; any other failure leaves it as it was.

    ``BayesianOnlineClassifier.preset("published")`` has the priors and the noise of the paper, no
    offsets, unscaled rows and no calibration, and decides by
    ``ClassMassNormalization.preset("published")``, which matches the frequency of every label. A
    `decision` given beside the preset takes its place: ``preset("published", decision="sample")``.
    The paper also knows `label_ratios`. The defaults differ because they give a better macro F1
    with "cmn" on every data set tried, most where labels are hard to predict, and calibrated
    probabilities; with "sample" and few rows the published values are a little better.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave import load
    >>> from labelweave import BayesianOnlineClassifier
    >>> data = load("emotions")
    >>> X = scale(data.X)
    >>> model = BayesianOnlineClassifier().fit(X[:400], data.Y[:400])
    >>> model.predict(X[400:]).mean(axis=0).round(2)
    array([0.3 , 0.27, 0.43, 0.23, 0.25, 0.34])

    The same row by row, as a stream:

    >>> stream = BayesianOnlineClassifier()
    >>> for i in range(400):
    ...     stream = stream.partial_fit(X[[i]], data.Y[[i]])
    >>> stream.state_.n_rows
    400
    """

    _features_may_join: ClassVar[bool] = True
    _labels_may_join: ClassVar[bool] = True

    presets: ClassVar[Presets] = published(
        margin=1.0,
        noise=0.01,
        prior_variance=1.0,
        bias_variance=1e4,
        label_offset=0.0,
        skew_margin=True,
        scale_rows=False,
        calibrate=False,
        decision=ClassMassNormalization.preset("published"),
    )

    def __init__(
        self,
        *,
        likelihood: str = "bias",
        coupled: bool = True,
        margin: float | None = None,
        noise: float = 0.25,
        prior_variance: float = 0.1,
        bias_variance: float = 1.0,
        label_offset: float = 0.5,
        skew_margin: bool = True,
        label_ratios: Any = None,
        decision: str | Decision = "cmn",
        flip_probability: float = 0.0,
        forgetting: float = 0.0,
        scale_rows: bool = True,
        calibrate: bool = True,
        passes: int = 1,
        shuffle: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.likelihood = likelihood
        self.coupled = coupled
        self.margin = margin
        self.noise = noise
        self.prior_variance = prior_variance
        self.bias_variance = bias_variance
        self.label_offset = label_offset
        self.skew_margin = skew_margin
        self.label_ratios = label_ratios
        self.decision = decision
        self.flip_probability = flip_probability
        self.forgetting = forgetting
        self.scale_rows = scale_rows
        self.calibrate = calibrate
        self.passes = passes
        self.shuffle = shuffle
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def settings(self) -> OnlineSettings:
        """Return the model and its priors, checked."""
        return OnlineSettings(**{part.name: getattr(self, part.name) for part in _SETTINGS})

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        passes = self._count("passes")
        self.seed_ = self._seed()
        settings = self.settings()
        settings.check_labels(labels.shape[1], may_grow=False)
        state = OnlineState(X.shape[1], labels.shape[1], settings=settings)
        for number in range(passes):
            order = pass_order(X, labels, sample_weight, self.seed_ + number, self.shuffle)
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
        self.state_ = OnlineState(settings=self.settings())
        self.seed_ = self._seed()

    def _learn_batch(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        if sample_weight is not None:
            rows = pass_order(X, labels, sample_weight, self.seed_, shuffle=False)
            X, labels = X[rows], labels[rows]
        self.state_.admit(X, labels)
        self.state_.update(X, labels, self._n_threads())
        self._rates = self._frequencies()

    def _roll_back(self, before: dict[str, Any]) -> None:
        state = before["state_"] if "_is_fitted" in before else None
        if state is not None and state.sizes != (before["n_features_in_"], before["n_labels_"]):
            # Interrupted while learning from a batch that brought features or labels: a posterior
            # cannot shrink, so they stay, with what the rows before the interruption taught.
            self._rates = self._frequencies()
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
        if state.settings != self.settings():
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
        self._rates = self._frequencies()
        self._is_fitted = True
        return self
