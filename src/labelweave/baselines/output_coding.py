"""Output codes that are far apart and easy to predict, learned with a margin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Labels
from labelweave._common.checks import check_number, check_whole_number
from labelweave._common.row_keys import assign_folds
from labelweave.baselines._code_regression import fit_ridge, unseen_answers
from labelweave.baselines._local_search import flip_costs
from labelweave.baselines._max_margin_metric import learn_metrics
from labelweave.baselines._output_codes import (
    MARGIN_WEIGHTS,
    Codes,
    Unseen,
    choose_margin_weight,
    decode,
)
from labelweave.logistic import LinearConditionals, fit_conditionals
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.label_encoding import LabelEncoding

# Parts of the training rows that regressions and classifiers are judged on in turn.
N_FOLDS = 5


class MaxMarginOutputCoding(LabelClassifier):
    """Maximum-margin output coding (MMOC): label vectors encoded by learned projections.

    A label vector has the code z = Vᵀy. Linear regressions predict the code from the features, and
    the label vector is the one whose code is nearest. V is learned so that this works: the code of
    the truth must be nearer to the prediction than that of any other vector, by a margin that is
    the number of wrong labels. In Q = VVᵀ that is a convex problem of metric learning with a
    constraint for every row and label vector; cutting planes find those that matter.

    **A reconstruction.** The method is that of Zhang and Schneider, "Maximum margin output coding"
    (ICML 2012), but only its abstract and texts by others could be consulted, so figures may differ
    from those of its authors' program.

    - From the abstract: codes that are both discriminative and predictable by a maximum-margin
      formulation, its conversion to metric learning with exponentially many constraints, and their
      relaxation together with cutting planes.
    - From texts by others: codes are used along with classifiers of the labels themselves; decoding
      is a quadratic programme over [0, 1]^L and rounding, with decoding weight 1.
    - Ours: everything else. The margin counts wrong labels and distances are squared; the penalty
      is the trace of Q; the margin is asked for predictions of rows that the regressions did not
      learn from (five folds), so that codes that only look predictable get no weight; a proximal
      term steadies the cutting planes, which stop at a gap of five thousandths or 60 planes.
    - Ours, too, and where it matters: violated constraints are looked for among label vectors by
      flips of one and two labels, not in the box; when decoding, the distance along each code is
      measured in standard deviations of its prediction on held-out rows, so that distances and the
      log-odds of the (logistic) classifiers are both log-likelihoods; and the rounded solution is
      improved by such flips. In the box, vectors beside the prediction violate every margin; and
      rounding alone splits the difference between label vectors.

    Scores are distances, not probabilities: there is no ``predict_proba`` and no ``predict_joint``.

    Parameters
    ----------
    C : float or "cv", default="cv"
        Inverse penalty of the logistic regressions of the labels; "cv" chooses it by
        cross-validated log-likelihood.
    ridge : float or "cv", default="cv"
        Penalty of the linear regressions of the codes; "cv" takes that of the smallest
        cross-validated squared error.
    margin_weight : float or "cv", default="cv"
        Weight of the mean violation of the margin against half the trace of Q. Small weights leave
        few codes, very small ones none. "cv" takes that of 1, 3, 10, 30 and 100 which gives
        held-out rows the most exact matches.
    n_codes : int, optional
        How many codes to keep at most, those of the largest weight; by default all.
    decoding_weight : float, default=1.0
        Weight of the labels' log-odds against the codes; 0 decodes from codes alone.
    n_jobs : int, optional
        Threads of the logistic regressions; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None means 0: results are reproducible by default.
    verbose : int, default=0
        If positive, print the chosen parameters and the number of codes.

    Attributes
    ----------
    codes_ : (L, d) array
        The projections V, the strongest first.
    code_variances_ : (d,) array
        Mean squares of the codes' errors on held-out rows.
    regressions_, classifiers_ : LinearConditionals
        Linear regressions of the labels, whose projections predict the codes, and logistic ones.
    C_, ridge_, margin_weight_ : float
        What was used.

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
            unseen = self._unseen(X, labels, weight)
            codes = self._learn_codes(unseen)
            self.codes_, self.code_variances_ = codes.projections, codes.variances
            self.regressions_ = _linear(
                fit_ridge(X, unseen.labels, weight, self.ridge_), self.n_labels_
            )
        self._tell(
            f"C = {self.C_:.4g}, ridge = {self.ridge_:.4g}, "
            f"margin_weight = {self.margin_weight_:.4g}, {self.codes_.shape[1]} codes"
        )

    def _classifiers(self, X: Any, labels: Labels, weight: Floats, C: Any) -> LinearConditionals:
        return fit_conditionals(
            X, labels, C=C, sample_weight=weight, seed=self._seed(), n_threads=self._n_threads()
        )

    def _unseen(self, X: Any, labels: Labels, weight: Floats) -> Unseen:
        """Ask regressions and classifiers about each row that learned without its fold."""
        fold, n_folds = assign_folds(X, weight, N_FOLDS, self._seed())
        Y = labels.astype(np.float64)
        predicted, self.ridge_ = unseen_answers(X, Y, weight, self._penalty("ridge"), fold)
        log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
        for k in range(n_folds if n_folds > 1 else 0):
            rest, here = fold != k, fold == k
            classifiers = self._classifiers(X[rest], labels[rest], weight[rest], self.C_)
            log_odds[here] = classifiers.scores(X[here], n_threads=self._n_threads())
        return Unseen(Y, predicted, log_odds, weight, fold)

    def _learn_codes(self, unseen: Unseen) -> Codes:
        path: tuple[float, ...] = MARGIN_WEIGHTS
        if self.margin_weight != "cv":
            path = (float(self.margin_weight),)
        elif unseen.fold.any():
            best = choose_margin_weight(unseen, path, self.n_codes, float(self.decoding_weight))
            path = path[: path.index(best) + 1]  # by the way that it was judged by
        for self.margin_weight_, metric in zip(
            path, learn_metrics(unseen.risk(), path), strict=True
        ):
            codes = Codes.of(metric, unseen, self.n_codes)
        return codes

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels whose code is nearest to the predicted one, (n, L) of 0/1."""
        check_is_fitted(self)
        labels = decode(*self._programme(self._features(X, reset=False))).astype(np.int8)
        encoding: LabelEncoding = self._encoding
        return encoding.decode(labels)

    def decision_function(self, X: Any) -> Floats:
        """How much farther the answer would be with this label the other way round, (n, L).

        Positive where `predict` gives the label, negative elsewhere. For a one-dimensional y: one
        value for each row, (n,).
        """
        check_is_fitted(self)
        metric, linear = self._programme(self._features(X, reset=False))
        labels = decode(metric, linear)
        costs = np.maximum(flip_costs(metric, linear, labels), np.finfo(np.float64).tiny)
        margins = np.where(labels > 0, costs, -costs)
        return margins[:, 0] if self._encoding.single else margins

    def _programme(self, X: Any) -> tuple[Floats, Floats]:
        """Return Q and, for each row, c, such that yᵀQy − 2cᵀy is what the answer minimises."""
        predicted = self.regressions_.scores(X, n_threads=self._n_threads())
        log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
        # Σ_k (v_kᵀ(y − ŷ))² / 2σ_k² − λ Σ_j y_j log-odds_j, up to a constant.
        metric = Codes(self.codes_, self.code_variances_).metric()
        linear = float(self.decoding_weight) / 2 * log_odds
        for label in range(len(metric)):  # not a product of matrices: the same in every batch
            linear = linear + predicted[:, label, None] * metric[label]
        return metric, linear


def _linear(ridge: Any, n_labels: int) -> LinearConditionals:
    """Return the regressions in a form whose answers do not depend on the rows asked together."""
    return LinearConditionals(
        np.ascontiguousarray(np.asarray(ridge.coef_, dtype=np.float64).reshape(n_labels, -1)),
        np.broadcast_to(np.asarray(ridge.intercept_, dtype=np.float64), n_labels).copy(),
        np.zeros((n_labels, n_labels)),
        float("nan"),
        float("nan"),
    )
