"""Output codes that are far apart and easy to predict, learned with a margin."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave.baselines._box_qp import Floats, solve_boxes
from labelweave.baselines._code_regression import fit_ridge, unseen_answers
from labelweave.baselines._max_margin_metric import MarginRisk, learn_metric
from labelweave.joint._checks import check_count
from labelweave.logistic import LinearConditionals, fit_conditionals
from labelweave.models.label_classifier import LabelClassifier
from labelweave.models.labels import LabelEncoding

# Codes of less weight than this share of the strongest are rounding of the solver.
WORTHLESS = 1e-6


class MaxMarginOutputCoding(LabelClassifier):
    """Maximum-margin output coding (MMOC): label vectors encoded by learned projections.

    A label vector has the code z = Vᵀy. Linear regressions predict the code from the features, and
    the label vector is the one whose code is nearest. V is learned so that this works: the code of
    the truth must be nearer to the prediction than that of any other vector, by a margin that is
    the number of wrong labels. In Q = VVᵀ that is a convex problem of metric learning with a
    constraint for every row and label vector. Cutting planes find the constraints that matter, in
    the relaxation where label vectors may be anywhere in [0, 1]^L: the most violated one is then a
    quadratic programme over a box.

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
      term steadies the cutting planes, which stop at a gap of a thousandth or 60 planes; the
      classifiers of the labels are logistic, and decoding adds their log-odds, times
      `decoding_weight`, to the distances.

    Scores are distances, not probabilities: there is no ``predict_proba`` and no ``predict_joint``.

    Parameters
    ----------
    C : float or "cv", default="cv"
        Inverse penalty of the logistic regressions of the labels; "cv" chooses it by
        cross-validated log-likelihood.
    ridge : float or "cv", default="cv"
        Penalty of the linear regressions of the codes; "cv" takes that of the smallest
        cross-validated squared error.
    margin_weight : float, default=30.0
        Weight of the mean violation of the margin against half the trace of Q. Small weights leave
        few codes, very small ones none.
    n_codes : int, optional
        How many codes to keep at most, those of the largest weight; by default all.
    decoding_weight : float, default=1.0
        Weight of the labels' log-odds against distances of codes; 0 decodes from codes alone.
    n_jobs : int, optional
        Threads of the logistic regressions; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds. None counts as 0: results are reproducible unless asked otherwise.
    verbose : int, default=0
        Above zero, `fit` tells what it chose.

    Attributes
    ----------
    codes_ : (L, d) array
        The projections V, the strongest first.
    regressions_, classifiers_ : LinearConditionals
        Linear regressions of the labels, whose projections predict the codes, and logistic ones.
    C_, ridge_ : float
        The penalties used.

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
        margin_weight: float = 30.0,
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
        for name in ("margin_weight", "decoding_weight"):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 <= value < np.inf:
                raise ValueError(f"{name} must be a number that is not negative; got {value!r}")
        if self.n_codes is not None:
            check_count(self.n_codes, "n_codes")

    def _fit(
        self, X: Any, labels: NDArray[np.int8], sample_weight: NDArray[np.float64] | None
    ) -> None:
        seed = self._seed()
        Y = labels.astype(np.float64)
        weight = np.ones(len(Y)) if sample_weight is None else sample_weight
        self.classifiers_ = fit_conditionals(
            X,
            labels,
            C=self._penalty("C"),
            sample_weight=sample_weight,
            seed=seed,
            n_threads=self._n_threads(),
        )
        self.C_ = self.classifiers_.C
        with threadpool_limits(limits=1, user_api="blas"):  # many small products
            unseen, self.ridge_ = unseen_answers(X, Y, weight, self._penalty("ridge"), seed)
            risk = MarginRisk(Y, unseen, weight / weight.sum())
            self.codes_ = self._projections(learn_metric(risk, float(self.margin_weight)))
            self.regressions_ = _linear(fit_ridge(X, Y, weight, self.ridge_), Y.shape[1])
        self._tell(f"C = {self.C_:.4g}, ridge = {self.ridge_:.4g}, {self.codes_.shape[1]} codes")

    def _projections(self, metric: Floats) -> Floats:
        """Return V of Q = VVᵀ, its columns by decreasing length."""
        values, vectors = np.linalg.eigh(metric)
        kept = np.flatnonzero(values > WORTHLESS * max(values[-1], 0.0))[::-1]
        kept = kept[: self.n_codes]
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels whose code is nearest to the predicted one, (n, L) of 0/1."""
        check_is_fitted(self)
        labels = (self._relaxed(self._features(X, reset=False)) > 0.5).astype(np.int8)
        encoding: LabelEncoding = self._encoding
        return encoding.decode(labels)

    def decision_function(self, X: Any) -> Floats:
        """How far each label of the relaxed solution is above one half, (n, L).

        Between -0.5 and 0.5, positive where `predict` gives the label; many labels are at an end.
        For a one-dimensional y: one value for each row, (n,).
        """
        check_is_fitted(self)
        margins = self._relaxed(self._features(X, reset=False)) - 0.5
        return margins[:, 0] if self._encoding.single else margins

    def _relaxed(self, X: Any) -> Floats:
        """Return the vectors of the box whose codes are nearest, (n, L)."""
        predicted = self.regressions_.scores(X, n_threads=self._n_threads())
        log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
        # ‖Vᵀ(y − ŷ)‖² − λ Σ_j y_j log-odds_j is yᵀQy − 2cᵀy with this c, up to a constant.
        metric = self.codes_ @ self.codes_.T
        linear = float(self.decoding_weight) / 2 * log_odds
        for label in range(len(metric)):  # not a product of matrices: the same in every batch
            linear = linear + predicted[:, label, None] * metric[label]
        return solve_boxes(metric, linear)


def _linear(ridge: Any, n_labels: int) -> LinearConditionals:
    """Return the regressions in a form whose answers do not depend on the rows asked together."""
    return LinearConditionals(
        np.ascontiguousarray(np.asarray(ridge.coef_, dtype=np.float64).reshape(n_labels, -1)),
        np.broadcast_to(np.asarray(ridge.intercept_, dtype=np.float64), n_labels).copy(),
        np.zeros((n_labels, n_labels)),
        float("nan"),
        float("nan"),
    )
