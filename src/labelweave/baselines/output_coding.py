"""Maximum-margin output coding: codes that are discriminative and predictable."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_number, check_whole_number
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import assign_folds
from labelweave.baselines._code_regression import fit_ridge, out_of_fold_predictions
from labelweave.baselines._local_search import flip_costs
from labelweave.baselines._max_margin_metric import learn_metrics
from labelweave.baselines._output_codes import (
    MARGIN_WEIGHTS,
    Codes,
    OutOfFold,
    choose_margin_weight,
    decode,
)
from labelweave.logistic import LinearConditionals, fit_conditionals
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.label_encoding import LabelEncoding

# Number of folds for out-of-fold predictions of the regressions and classifiers.
N_FOLDS = 5


class MaxMarginOutputCoding(LabelClassifier):
    """Maximum-margin output coding (MMOC): label vectors encoded by learned projections.

    The code of a label vector is z = Vᵀy. Linear regressions predict the code from the features,
    and the prediction is the label vector of the nearest code. V is learned so that the code of the
    truth is nearer to the predicted code than that of any other vector, by a margin equal to the
    number of wrong labels. In Q = VVᵀ this is a convex metric-learning problem with one constraint
    per row and label vector; cutting planes find the active ones.

    **A reconstruction.** The method is that of Zhang and Schneider, "Maximum margin output coding"
    (ICML 2012), but only its abstract and descriptions by others were available, so figures may
    differ from those of the authors' program.

    - From the abstract: codes that are both discriminative and predictable by a maximum-margin
      formulation, its conversion to metric learning with exponentially many constraints, and their
      relaxation together with cutting planes.
    - From descriptions by others: codes are used together with classifiers of the labels; decoding
      is a quadratic program over [0, 1]^L and rounding, with decoding weight 1, as in
      ``MaxMarginOutputCoding.preset("published")``.
    - Ours: everything else. The margin is the Hamming distance and distances are squared; the
      penalty is the trace of Q; margins are taken on out-of-fold predictions of the regressions
      (five folds), so that codes that only seem predictable get no weight; a proximal term
      stabilises the cutting planes, which stop at a gap of 0.005 or after 60 planes.
    - Ours, too, and important: violated constraints are searched for among label vectors, by flips
      of one and two labels, not in the box; in decoding, the distance along each code is measured
      in standard deviations of its out-of-fold prediction, so that distances and the log-odds of
      the (logistic) classifiers are both log-likelihoods; and the rounded solution is improved by
      such flips. In the box, points near the prediction violate every margin, and rounding alone
      compromises between label vectors.

    Scores are distances, not probabilities: there is no ``predict_proba`` and no ``predict_joint``.

    Parameters
    ----------
    C : float or "cv", default="cv"
        Inverse strength of the L2 penalty of the labels' logistic regressions; "cv" chooses it by
        cross-validated log-likelihood.
    ridge : float or "cv", default="cv"
        L2 penalty of the linear regressions of the codes; "cv" chooses it by cross-validated
        squared error.
    margin_weight : float or "cv", default="cv"
        Weight of the mean margin violation relative to half the trace of Q. Small weights leave few
        codes, very small ones none. "cv" chooses among 1, 3, 10, 30 and 100 by cross-validated
        exact matches.
    n_codes : int, optional
        Maximum number of codes, the leading ones; by default all.
    decoding_weight : float, default=1.0
        Weight of the labels' log-odds relative to the codes; 0 decodes from the codes alone.
    n_jobs : int, optional
        Number of threads of the logistic regressions; -1 uses all cores. Results do not depend on
        it.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen parameters and the number of codes.

    Attributes
    ----------
    codes_ : (L, d) array
        The projections V, leading ones first.
    code_variances_ : (d,) array
        Out-of-fold mean squared error of each code.
    regressions_, classifiers_ : LinearConditionals
        Linear regressions of the labels, whose projections predict the codes, and logistic
        regressions of the labels.
    C_, ridge_, margin_weight_ : float
        The values used.

    Examples
    --------
    >>> from labelweave.baselines import MaxMarginOutputCoding
    >>> from labelweave.datasets import load_emotions
    >>> data = load_emotions()
    >>> model = MaxMarginOutputCoding(C=0.01, ridge=100.0).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> len(model.codes_)
    6
    """

    presets: ClassVar[Presets] = published(decoding_weight=1.0)

    def __init__(
        self,
        *,
        C: float | str = "cv",
        ridge: float | str = "cv",
        margin_weight: float | str = "cv",
        n_codes: int | None = None,
        decoding_weight: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.ridge = ridge
        self.margin_weight = margin_weight
        self.n_codes = n_codes
        self.decoding_weight = decoding_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._penalty("C")
        self._penalty("ridge")
        if not (isinstance(self.margin_weight, str) and self.margin_weight == "cv"):
            check_number(self.margin_weight, "margin_weight", minimum=0, otherwise="'cv'")
        check_number(self.decoding_weight, "decoding_weight", minimum=0)
        if self.n_codes is not None:
            check_whole_number(self.n_codes, "n_codes")

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        self.classifiers_ = self._classifiers(X, labels, weight, self._penalty("C"))
        self.C_ = self.classifiers_.C
        with threadpool_limits(limits=1, user_api="blas"):  # many small products
            held_out = self._out_of_fold(X, labels, weight)
            codes = self._learn_codes(held_out)
            self.codes_, self.code_variances_ = codes.projections, codes.variances
            self.regressions_ = _linear(
                fit_ridge(X, held_out.labels, weight, self.ridge_), self.n_labels_
            )
        self._tell(
            f"C = {self.C_:.4g}, ridge = {self.ridge_:.4g}, "
            f"margin_weight = {self.margin_weight_:.4g}, {self.codes_.shape[1]} codes"
        )

    def _classifiers(self, X: Any, labels: Labels, weight: Floats, C: Any) -> LinearConditionals:
        return fit_conditionals(
            X, labels, C=C, sample_weight=weight, seed=self._seed(), n_threads=self._n_threads()
        )

    def _out_of_fold(self, X: Any, labels: Labels, weight: Floats) -> OutOfFold:
        """Predict each row by regressions and classifiers fitted without its fold."""
        fold, n_folds = assign_folds(X, weight, N_FOLDS, self._seed())
        Y = labels.astype(np.float64)
        predicted, self.ridge_ = out_of_fold_predictions(X, Y, weight, self._penalty("ridge"), fold)
        log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
        for k in range(n_folds if n_folds > 1 else 0):
            rest, here = fold != k, fold == k
            classifiers = self._classifiers(X[rest], labels[rest], weight[rest], self.C_)
            log_odds[here] = classifiers.scores(X[here], n_threads=self._n_threads())
        return OutOfFold(Y, predicted, log_odds, weight, fold)

    def _learn_codes(self, held_out: OutOfFold) -> Codes:
        path: tuple[float, ...] = MARGIN_WEIGHTS
        if self.margin_weight != "cv":
            path = (float(self.margin_weight),)
        elif held_out.fold.any():
            best = choose_margin_weight(held_out, path, self.n_codes, float(self.decoding_weight))
            path = path[: path.index(best) + 1]  # along the same path as in the cross-validation
        for self.margin_weight_, metric in zip(
            path, learn_metrics(held_out.risk(), path), strict=True
        ):
            codes = Codes.of(metric, held_out, self.n_codes)
        return codes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels whose code is nearest to the predicted one, (n, L) of 0/1."""
        check_is_fitted(self)
        labels = decode(*self._decoding_cost(self._features(X, reset=False))).astype(np.int8)
        encoding: LabelEncoding = self._encoding
        return encoding.decode(labels)

    def decision_function(self, X: Any) -> Floats:
        """Return the increase in decoding cost from flipping each predicted label, (n, L).

        Positive if `predict` gives the label, negative otherwise. For a one-dimensional y: one
        value per row, (n,).
        """
        check_is_fitted(self)
        metric, linear = self._decoding_cost(self._features(X, reset=False))
        labels = decode(metric, linear)
        costs = np.maximum(flip_costs(metric, linear, labels), np.finfo(np.float64).tiny)
        margins = np.where(labels > 0, costs, -costs)
        return margins[:, 0] if self._encoding.single else margins

    def _decoding_cost(self, X: Any) -> tuple[Floats, Floats]:
        """Return Q and, for each row, c of the decoding cost yᵀQy − 2cᵀy."""
        predicted = self.regressions_.scores(X, n_threads=self._n_threads())
        log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
        # Σ_k (v_kᵀ(y − ŷ))² / 2σ_k² − λ Σ_j y_j log-odds_j, up to a constant.
        metric = Codes(self.codes_, self.code_variances_).metric()
        linear = float(self.decoding_weight) / 2 * log_odds
        for label in range(len(metric)):  # not a matrix product: the same bits in every batch
            linear = linear + predicted[:, label, None] * metric[label]
        return metric, linear


def _linear(ridge: Any, n_labels: int) -> LinearConditionals:
    """Return the regressions in a form whose predictions do not depend on the batch."""
    return LinearConditionals(
        np.ascontiguousarray(np.asarray(ridge.coef_, dtype=np.float64).reshape(n_labels, -1)),
        np.broadcast_to(np.asarray(ridge.intercept_, dtype=np.float64), n_labels).copy(),
        np.zeros((n_labels, n_labels)),
        float("nan"),
        float("nan"),
    )
