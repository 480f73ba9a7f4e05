"""BOMC: a Bayesian online classifier for streams of multi-label data."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from labelweave._common.arrays import Floats, Labels
from labelweave._common.presets import Presets, published
from labelweave.decision import Decision, Labelling
from labelweave.models.batch_labels import read_batch_labels
from labelweave.models.label_encoding import LabelEncoding
from labelweave.online.growing import batch_features
from labelweave.online.order import pass_order
from labelweave.online.predictor import PosteriorPredictor
from labelweave.online.settings import OnlineSettings
from labelweave.online.state import OnlineState

# Rows that `fit` puts in order at a time: no shuffled copy of all of X is made.
_BATCH = 2048
# The parameters that are the model's.
_SETTINGS = fields(OnlineSettings)


class BayesianOnlineClassifier(PosteriorPredictor):
    """A linear classifier that learns row by row, with a posterior over every weight (BOMC).

    Label c is relevant where ⟨w_c, x⟩ exceeds a bias. Weights and bias have Gaussian posteriors,
    updated with each row by expectation propagation; a row costs as much as reading and writing
    the weights of its non-zero features. One pass is enough, no learning rate needs tuning, and
    `partial_fit` may go on for ever.

    Features should be of comparable size: standardise columns of measurements, give counts tf-idf
    weights. How long rows are on average does not matter, `scale_rows` sees to it.

    Parameters
    ----------
    likelihood : {"bias", "pairwise", "multiclass"}, default="bias"
        What the scores of a row's labels have to exceed: a bias, as in figure 3 of the paper; or
        the scores of all labels that the row does not have (figure 2), at the cost of a message
        for each such pair, O(L²). "multiclass" is "pairwise" for rows with exactly one label
        (figure 1, O(L) messages): probabilities of a row sum to one. Both run in Python, without
        threads.
    coupled : bool, default=True
        One bias for all labels, learned quickly by all of them, or one for each label.
    margin : float, optional
        How far scores are asked to be on their side of the bias. None stands for 1, or for 0 with
        a `flip_probability`.
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
        Value of a constant feature, with a weight for every label, beside the bias that coupled
        labels share: it lets frequent labels lie higher than others. 0 leaves it out.
    skew_margin : bool, default=True
        Whether examples of a label have the margin multiplied by ln(e + 1/r), r being the ratio of
        rows with the label to rows without it: the rarer, the more an example counts.
    label_ratios : (L,) array, optional
        The ratio r of each label where it is known beforehand, as in the paper. None takes that of
        the rows so far.
    labelling : str, Labelling or None, default="cmn"
        How `predict` labels its rows, taken together as one test set: "cmn" gives each label to
        the share of rows that had it in training (by its probability where that is fewer than two
        rows), "sample" and "expected_f" choose thresholds that maximise the expected F1,
        "expected_auc" those that maximise the expected AUC, "fixed" uses 0.5 throughout (see
        `labelweave.decision`). None labels every row for itself, by `decision`.
    decision : {"subset", "hamming"} or callable, default="hamming"
        The loss `predict` decides for if `labelling` is None.
    flip_probability : float, default=0.0
        How often a label is recorded wrongly: the score of such a row is a margin beyond the bias
        on the other side, and one that lies there teaches little. A margin that is wide for the
        prior makes wrong records the likelier explanation of every label: hence none by default.
    forgetting : float, default=0.0
        The share of all evidence that is lost with every row: variances rise towards the prior,
        and what was learned 1/forgetting rows ago counts a third. For data that drift.
    scale_rows : bool, default=True
        Whether features are divided by the mean length of the rows so far, which the sizes of
        prior, noise and margin are meant for.
    calibrate : bool, default=True
        Whether probabilities are fitted, by a logistic map per label, to what came true: rows (at
        first all, later ever fewer) are predicted before they are learned from. The posterior
        itself is far too sure: it is asked to respect a margin, wider for rare labels, and ignores
        that features are correlated. The order of the rows by the probability of a label stays.
    passes : int, default=1
        How often `fit` goes through the rows. More than one counts the same evidence again: the
        posterior becomes too sure of itself, though predictions may improve. Probabilities are
        calibrated by the first.
    shuffle : bool, default=True
        Whether `fit` takes the rows in random order: one that depends on their content and
        `random_state`, not on the order they come in.
    n_jobs : int, optional
        Threads, sharing the labels; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the models that "sample" draws. None counts as 0.
    verbose : int, default=0
        Above zero, `fit` tells what it learned from.

    Attributes
    ----------
    state_ : OnlineState
        The posterior; its `offset_mean` and `offset_variance` are those of the offsets.
    mean_, variance_ : (D, L) arrays
        Of the weights of features divided by ``state_.row_length``.
    bias_mean_, bias_variance_ : float or (L,) array
        Of the bias, one for each label unless `coupled`.

    Notes
    -----
    ``sample_weight`` says how often a row is seen, in whole numbers.

    ``BayesianOnlineClassifier.preset("published")`` has the priors and the noise of the paper, no
    offsets, rows as they come and no calibration; the paper also knows `label_ratios`. Its "cmn"
    matches the frequency of every label: ``labelling=CardinalityMatching.preset("published")``. The
    defaults differ because they give a better macro F1 with "cmn" on every data set tried, most
    where labels are hard to predict, and probabilities that hold; with "sample" and few rows the
    published values are a little better.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.online import BayesianOnlineClassifier
    >>> data = load_emotions()
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
        labelling: str | Labelling | None = "cmn",
        decision: str | Decision = "hamming",
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
        self.labelling = labelling
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
        self._labelling()
        self._draws = self._seed()
        settings = self.settings()
        settings.check_labels(labels.shape[1], may_grow=False)
        state = OnlineState(X.shape[1], labels.shape[1], settings=settings)
        for number in range(passes):
            order = pass_order(X, labels, sample_weight, self._draws + number, self.shuffle)
            for first in range(0, len(order), _BATCH):
                rows = order[first : first + _BATCH]
                state.update(X[rows], labels[rows], self._n_threads(), seen=number > 0)
        self.state_ = state
        self._tell(f"learned from {state.n_rows} rows")

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning, from rows in the order given.

        Batches of any size give the same model as their rows one by one. X may have more columns
        than before and y more labels, appended to those known: new ones start from the prior, and
        rows before a label's first appearance tell nothing about it. The first call decides on the
        parameters of the model; a failed one leaves it as it was.

        Parameters
        ----------
        X : (n, D) array, sparse matrix or data frame
        y : (n, L) array, sparse matrix or data frame of 0/1
            Or a one-dimensional array of two classes.
        classes : (2,) array, optional
            The classes of a one-dimensional y; needed if the first batch has only one of them.
        """
        if not hasattr(self, "_is_fitted"):
            self._forget()
            state = OnlineState(settings=self.settings())
        else:
            state = self.state_
        before = dict(vars(self))
        try:
            self._labelling()
            threads = self._n_threads()
            X = batch_features(self, X)
            known = before.get("_encoding")
            labels, encoding = read_batch_labels(y, X.shape[0], known, classes, may_grow=True)
            seed = self._seed() if known is None else self._draws
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        state.grow(X.shape[1], labels.shape[1])
        self._learned(state, encoding, seed)
        state.update(X, labels, threads)
        self._rates = self._frequencies()
        return self

    def adopt(self, state: OnlineState, label_names: tuple[str, ...] | None = None) -> Self:
        """Take over a posterior that was learned elsewhere, from a stream or in parts.

        Parameters
        ----------
        state : OnlineState
            Not copied: learning goes on in it.
        label_names : tuple of str, optional
            One a label.
        """
        if state.settings != self.settings():
            raise ValueError("state was learned with other settings than the model's parameters")
        if label_names is not None and len(label_names) != state.n_labels:
            raise ValueError(f"label_names must name each of the {state.n_labels} labels")
        self._forget()
        self.n_features_in_ = state.n_features
        classes = np.tile([0, 1], (state.n_labels, 1))
        self._learned(state, LabelEncoding(classes, label_names), self._seed())
        return self

    def _learned(self, state: OnlineState, encoding: LabelEncoding, seed: int) -> None:
        self.state_, self._encoding, self._draws = state, encoding, seed
        self.classes_ = encoding.classes
        self.n_labels_ = state.n_labels
        if encoding.names is not None:
            self.label_names_in_ = np.array(encoding.names, dtype=object)
        self._rates = self._frequencies()
        self._is_fitted = True
