"""Maximum-margin output coding: label vectors are decoded by a learned metric.

With codes z = Vᵀy predicted as Vᵀŷ(x), where ŷ(x) are linear regressions of the labels, distances
between codes are distances between label vectors in the metric Q = VVᵀ. Q minimises the convex

    ½ tr Q + w · mean_i max_y [Δ(y_i, y) + ‖y_i − ŷ_i‖²_Q − ‖y − ŷ_i‖²_Q],   Q ⪰ 0

where Δ is the Hamming distance: every wrong vector should be farther from the prediction than the
true one, and the farther the more of its labels are wrong. The maximum is over vectors of 0 and 1.
(Over the box [0, 1]^L it is easier to find, but points near ŷ_i, which are not label vectors, would
violate every margin and dominate the metric.) Each maximum is a cutting plane below the risk, and a
bundle of planes with a proximal term gives the next Q. Such a bundle method does not oscillate as
plain cutting planes do. The planes do not depend on w, so they are kept along a path of weights.

Decoding, too, minimises a quadratic cost yᵀQy − 2cᵀy over label vectors: over the box first, then,
after rounding, by flips of one or two labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats, Labels, Mask, Positions
from labelweave._common.checks import check_number, check_whole_number
from labelweave._common.folds import Fold, deal
from labelweave._common.presets import Presets, published
from labelweave.logistic.conditionals import LinearConditionals, fit_conditionals
from labelweave.models.base import Estimator
from labelweave.models.cross_fitting import N_FOLDS, cross_fit

# Sweeps of coordinate descent over all labels, at most.
_MOST_SWEEPS = 1000


def _add_product(linear: Floats, rows: Floats, Q: Floats) -> Floats:
    """Return ``linear + rows Q``, the same bits in every batch, as a matrix product is not."""
    for j in range(len(Q)):
        linear = linear + rows[:, j, None] * Q[j]
    return linear


def solve_boxes(Q: Floats, linear: Floats, *, tolerance: float = 1e-9) -> Floats:
    """Minimise yᵀQy − 2 cᵀy over [0, 1]^L for every row c of ``linear``, (n, L).

    Coordinate descent solves the programs of all rows in the same few hundred vector operations,
    and the result of a row does not depend on the others.
    """
    solution = np.full(linear.shape, 0.5)
    rows = np.arange(len(linear))
    y = solution.copy()
    slope = _add_product(-linear, y, Q)  # half the gradient
    for _ in range(_MOST_SWEEPS):
        moved = np.zeros(len(rows))
        for j, curvature in enumerate(np.diag(Q)):
            if curvature > 0:
                best = np.clip(y[:, j] - slope[:, j] / curvature, 0.0, 1.0)
            else:  # a row with a zero on the diagonal is zero, so the cost is linear in y_j
                best = np.where(slope[:, j] > 0, 0.0, np.where(slope[:, j] < 0, 1.0, y[:, j]))
            change = best - y[:, j]
            y[:, j] = best
            slope += change[:, None] * Q[j]
            np.maximum(moved, np.abs(change), out=moved)
        done = moved <= tolerance
        solution[rows[done]] = y[done]
        rows, y, slope = rows[~done], y[~done], slope[~done]
        if not len(rows):
            return solution
    solution[rows] = y
    return solution


# Candidates of ridge="cv".
RIDGE_GRID = tuple(10.0 ** np.arange(-1, 5.1, 0.5))


def fit_ridge(X: Any, Y: Floats, weight: Floats, penalty: float) -> Ridge:
    """Fit Σ_n ω_n ‖y_n − Wx_n − b‖² + penalty ‖W‖² for all labels at once."""
    return Ridge(alpha=penalty, tol=1e-10).fit(X, Y, sample_weight=weight)


def held_out_predictions(
    X: Any, Y: Floats, weight: Floats, penalty: float | str, folds: list[Fold]
) -> tuple[Floats, float]:
    """Return the predicted labels of each row, fitted without its fold, and the penalty used."""
    candidates = RIDGE_GRID if penalty == "cv" else (float(penalty),)
    if not folds:
        middle = candidates[len(candidates) // 2]
        return _predict(fit_ridge(X, Y, weight, middle), X, Y), middle

    def predicted(candidate: float) -> Floats:
        held_out = cross_fit(
            lambda rows: fit_ridge(X[rows], Y[rows], weight[rows], candidate),
            folds,
            lambda model, rows: _predict(model, X[rows], Y),
        )
        return np.asarray(held_out.gather(len(Y)))

    best, best_error, chosen = Y, np.inf, candidates[0]
    for candidate in candidates:
        predictions = predicted(candidate)
        error = float((weight[:, None] * (predictions - Y) ** 2).sum())
        if error < best_error:
            best, best_error, chosen = predictions, error, candidate
    return best, chosen


def _predict(model: Ridge, X: Any, Y: Floats) -> Floats:
    return np.asarray(model.predict(X)).reshape(X.shape[0], Y.shape[1])


# A flip must gain at least this share of the largest terms of the cost, which is more than rounding
# errors. Otherwise two flips might undo each other forever.
_ROUNDING = 1e-12
# Numbers per block when pairs of flips are evaluated.
_BLOCK = 1 << 21


def flip_costs(Q: Floats, linear: Floats, labels: Floats) -> Floats:
    """Return the increase of yᵀQy − 2cᵀy by flipping each label, (n, L)."""
    return _costs(np.diag(Q), labels, _add_product(-linear, labels, Q))


def descend(Q: Floats, linear: Floats, start: Floats) -> Floats:
    """Flip labels as long as this lowers yᵀQy − 2cᵀy, for every row c of ``linear``, (n, L).

    The best single flip is made until none improves, then the best flip of two labels. The result
    is a local minimum within two flips, and does not depend on other rows.
    """
    labels = start.copy()
    rows = np.arange(len(labels))
    least = _ROUNDING * (np.abs(Q).sum(axis=1).max() + np.abs(linear).max(axis=1))
    while len(rows):
        y = labels[rows]
        slope = _add_product(-linear[rows], y, Q)
        _single_flips(Q, y, slope, least[rows])
        better = _pair_flips(Q, y, slope, least[rows])
        labels[rows] = y
        rows = rows[better]
    return labels


def _costs(diagonal: Floats, y: Floats, slope: Floats) -> Floats:
    return np.asarray(2 * (1 - 2 * y) * slope + diagonal)


def _single_flips(Q: Floats, y: Floats, slope: Floats, least: Floats) -> None:
    """Make the best single flip of each row, in place, until none improves."""
    rows, diagonal = np.arange(len(y)), np.diag(Q)
    while len(rows):
        costs = _costs(diagonal, y[rows], slope[rows])
        best = costs.argmin(axis=1)
        better = costs[np.arange(len(rows)), best] < -least[rows]
        rows = rows[better]
        _flip(Q, y, slope, rows, best[better])


def _pair_flips(Q: Floats, y: Floats, slope: Floats, least: Floats) -> Mask:
    """Make the best flip of two labels, in place; return the rows that it improves."""
    first, second = np.triu_indices(len(Q), 1)
    flipped = np.zeros(len(y), dtype=bool)
    step = max(1, _BLOCK // max(1, len(first)))
    for begin in range(0, len(y) if len(first) else 0, step):
        block = slice(begin, begin + step)
        costs, sign = _costs(np.diag(Q), y[block], slope[block]), 1 - 2 * y[block]
        pairs = sign[:, first] * sign[:, second] * (2 * Q[first, second])
        pairs += costs[:, first]
        pairs += costs[:, second]
        best = pairs.argmin(axis=1)
        better = pairs[np.arange(len(best)), best] < -least[block]
        rows = begin + np.flatnonzero(better)
        flipped[rows] = True
        for ends in (first, second):
            _flip(Q, y, slope, rows, ends[best[better]])
    return flipped


def _flip(Q: Floats, y: Floats, slope: Floats, rows: Positions, labels: Positions) -> None:
    change = 1 - 2 * y[rows, labels]
    y[rows, labels] += change
    slope[rows] += change[:, None] * Q[labels]


# The bundle method stops when the predicted decrease is less than this share of the objective.
TOLERANCE = 5e-3
MAX_PLANES = 60
# Accuracy of the subproblem, as a share of the objective.
ROUNDING = 1e-6
# A step is accepted if it achieves at least this share of the predicted decrease.
SUFFICIENT = 0.1


@dataclass(frozen=True)
class MarginRisk:
    """Mean violation of the margin as a function of the metric; the weights sum to one."""

    labels: Floats
    predicted: Floats
    weight: Floats

    def violators(self, Q: Floats) -> Floats:
        """Return label vectors of locally maximal margin violation, (n, L)."""
        # Any vector gives a plane below the risk, not only the worst one. Starting from the truth,
        # the search ends at a vector that violates the margin, or at the truth itself.
        return descend(Q, self.predicted @ Q + (1 - 2 * self.labels) / 2, self.labels)

    def plane(self, worst: Floats) -> tuple[float, Floats]:
        """Return (a, G) with risk(Q) ≥ a + ⟨G, Q⟩ for all Q, tight if `worst` is exact."""
        constant = float(self.weight @ np.abs(self.labels - worst).sum(axis=1))
        true, wrong = self.labels - self.predicted, worst - self.predicted
        weighted = self.weight[:, None]
        return constant, (weighted * true).T @ true - (weighted * wrong).T @ wrong


def learn_metrics(risk: MarginRisk, margin_weights: Sequence[float]) -> Iterator[Floats]:
    """Yield the optimal metric for each margin weight in turn, (L, L) each."""
    bundle = _Bundle(np.eye(risk.labels.shape[1]))
    bundle.risk = bundle.add(bundle.centre, *risk.plane(risk.violators(bundle.centre)))
    for margin_weight in margin_weights:
        bundle.margin_weight = margin_weight
        # The first step moves the metric by about one unit.
        slope = bundle.slope(bundle.gradients[-1])
        bundle.stiffness = max(float(np.linalg.norm(slope)), 1e-12)
        _minimise(bundle, risk)
        yield bundle.centre


def _minimise(bundle: _Bundle, risk: MarginRisk) -> None:
    for _ in range(MAX_PLANES):
        value = bundle.objective(bundle.centre, bundle.risk)
        candidate, promised = bundle.step()
        if value - promised <= TOLERANCE * max(value, 1e-12):
            break
        reached = bundle.add(candidate, *risk.plane(risk.violators(candidate)))
        gain = value - bundle.objective(candidate, reached)
        if gain >= SUFFICIENT * (value - promised):
            bundle.centre, bundle.risk = candidate, reached
            bundle.stiffness /= 2
        else:
            bundle.stiffness *= 1.3


@dataclass
class _Bundle:
    """Cutting planes below the risk, and the proximal centre."""

    centre: Floats
    risk: float = 0.0
    margin_weight: float = 0.0
    stiffness: float = 1.0
    constants: list[float] = field(default_factory=list)
    gradients: list[Floats] = field(default_factory=list)
    shares: Floats = field(default_factory=lambda: np.zeros(0))

    def add(self, Q: Floats, constant: float, gradient: Floats) -> float:
        """Add the plane that touches the risk at Q; return the risk there."""
        self.constants.append(constant)
        self.gradients.append(gradient)
        return float(constant + (gradient * Q).sum())

    def objective(self, Q: Floats, risk: float) -> float:
        return float(np.trace(Q) / 2 + self.margin_weight * risk)

    def slope(self, gradient: Floats) -> Floats:
        return np.asarray(np.eye(len(gradient)) / 2 + self.margin_weight * gradient)

    def step(self) -> tuple[Floats, float]:
        """Return the minimiser of the proximal subproblem, and the planes' objective there."""
        gradients = np.array(self.gradients)
        constants = np.array(self.constants)

        def negative_dual(share: Floats) -> tuple[float, Floats]:
            Q = self._at(np.tensordot(share, gradients, 1))
            planes = self.margin_weight * (constants + np.tensordot(gradients, Q, 2))
            proximal = self.stiffness / 2 * ((Q - self.centre) ** 2).sum()
            return -float(np.trace(Q) / 2 + share @ planes + proximal), -planes

        n = len(constants)
        # The start has the last step's dual variables and a small share for the new plane.
        begin = np.append(0.9 * self.shares, np.full(n - len(self.shares), 0.1))
        found = minimize(
            negative_dual,
            begin / begin.sum(),
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * n,
            constraints=LinearConstraint(np.ones((1, n)), 1.0, 1.0),
            options={"maxiter": 200, "ftol": ROUNDING * self.objective(self.centre, self.risk)},
        )
        # Planes with zero dual variables are inactive; without them the next step is cheaper.
        kept = np.flatnonzero(found.x > 1e-8)
        self.constants = [self.constants[k] for k in kept]
        self.gradients = [self.gradients[k] for k in kept]
        self.shares = found.x[kept]
        Q = self._at(np.tensordot(found.x, gradients, 1))
        highest = float((constants + np.tensordot(gradients, Q, 2)).max())
        return Q, self.objective(Q, highest)

    def _at(self, gradient: Floats) -> Floats:
        """Return the metric that minimises one plane and the proximal term."""
        return nearest_metric(self.centre - self.slope(gradient) / self.stiffness)


def nearest_metric(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


# Candidates of margin_weight="cv".
MARGIN_WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0)
# Eigenvalues below this are noise of the metric's solver, whose gap is of this size. Margins are
# numbers of labels, so the metric itself is of order 1 or more.
_WORTHLESS = 1e-3
# A lower bound on the error variance of a code of unit length, so that no code is trusted without
# limit.
_LEAST_VARIANCE = 1e-3


@dataclass(frozen=True)
class PredictedRows:
    """Predictions for training rows by models fitted to the other folds, (n, L) each.

    Linear regressions predict the labels in `predicted`, and classifiers their `log_odds`.
    """

    labels: Floats
    predicted: Floats
    log_odds: Floats
    weight: Floats
    fold: Positions

    def __getitem__(self, rows: Mask) -> PredictedRows:
        return PredictedRows(**{name: values[rows] for name, values in vars(self).items()})

    def risk(self) -> MarginRisk:
        return MarginRisk(self.labels, self.predicted, self.weight / self.weight.sum())


@dataclass(frozen=True)
class Codes:
    """Projections V, (L, d), of label vectors, and the mean squared error of each code."""

    projections: Floats
    variances: Floats

    @classmethod
    def of(cls, metric: Floats, rows: PredictedRows, most: int | None) -> Self:
        """Return the leading codes of a metric, by decreasing norm, and their errors on rows."""
        values, vectors = np.linalg.eigh(metric)
        kept = np.flatnonzero(values > _WORTHLESS * max(values[-1], 1.0))[::-1][:most]
        errors = ((rows.labels - rows.predicted) @ vectors[:, kept]) ** 2
        mean = rows.weight @ errors / rows.weight.sum()
        return cls(
            np.asarray(vectors[:, kept] * np.sqrt(values[kept])),
            np.asarray(values[kept] * np.maximum(mean, _LEAST_VARIANCE)),
        )

    def metric(self) -> Floats:
        """Return Σ_k v_k v_kᵀ / 2σ_k²: squared distances become negative log-likelihoods."""
        return np.asarray((self.projections / (2 * self.variances)) @ self.projections.T)


def decode(metric: Floats, linear: Floats) -> Floats:
    """Minimise yᵀQy − 2cᵀy over label vectors, (n, L): in the box, rounded, by local search."""
    relaxed = solve_boxes(metric, linear, tolerance=1e-6)
    return descend(metric, linear, (relaxed > 0.5).astype(np.float64))


def choose_margin_weight(
    rows: PredictedRows, candidates: Sequence[float], most: int | None, decoding_weight: float
) -> float:
    """Return the margin weight of most exact matches by cross-validation."""
    matches = np.zeros(len(candidates))
    for fold in np.unique(rows.fold):
        learned, asked = rows[rows.fold != fold], rows[rows.fold == fold]
        for k, metric in enumerate(learn_metrics(learned.risk(), candidates)):
            Q = Codes.of(metric, learned, most).metric()
            found = decode(Q, asked.predicted @ Q + decoding_weight / 2 * asked.log_odds)
            matches[k] += asked.weight @ (found == asked.labels).all(axis=1)
    # Sums of the same weights in a different order count as equal.
    return candidates[int(np.argmax(matches >= matches.max() * (1 - 1e-9)))]


@dataclass(eq=False, repr=False, kw_only=True)
class MaxMarginOutputCoding(Estimator):
    """Maximum-margin output coding (MMOC): label vectors encoded by learned projections.

    The code of a label vector is z = Vᵀy. Linear regressions predict the code from the features,
    and the prediction is the label vector with the nearest code. V is learned so that the code of
    the truth is nearer to the predicted code than the code of any other vector, by a margin equal
    to the number of wrong labels.

    **A reconstruction.** The method is that of Zhang and Schneider, "Maximum margin output coding"
    (ICML 2012), but only its abstract and descriptions by others were available, so figures may
    differ from those of the authors' program.

    - The abstract describes codes that are both discriminative and predictable, learned by a
      maximum-margin formulation; its conversion to metric learning with exponentially many
      constraints; and their relaxation together with cutting planes.
    - Others describe that codes are used together with classifiers of the labels, and that decoding
      is a quadratic program over [0, 1]^L and rounding, with decoding weight 1, as in
      ``MaxMarginOutputCoding.preset("published")``.
    - Everything else is ours: the Hamming distance as the margin, squared distances, the trace of
      Q = VVᵀ as the penalty, and a proximal term that stabilises the cutting planes, which stop at
      a gap of 0.005 or after 60 planes. Margins are taken on out-of-fold predictions of the
      regressions (five folds), so that codes that only seem predictable get no weight.
    - Three of our choices matter most. Violated constraints are searched for among label vectors,
      because in the box points near the prediction violate every margin. In decoding, the distance
      along each code is measured in standard deviations of its out-of-fold prediction, so that
      distances and the log-odds of the logistic classifiers are both log-likelihoods. The rounded
      solution is improved by flips of labels, because rounding alone compromises between vectors.

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
    n_jobs, random_state, verbose : see `Estimator`

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
    >>> from labelweave import MaxMarginOutputCoding, load
    >>> data = load("emotions")
    >>> model = MaxMarginOutputCoding(C=0.01, ridge=100.0).fit(data.X[:400], data.Y[:400])
    >>> model.predict(data.X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    >>> len(model.codes_)
    6
    """

    C: float | str = "cv"
    ridge: float | str = "cv"
    margin_weight: float | str = "cv"
    n_codes: int | None = None
    decoding_weight: float = 1.0

    presets: ClassVar[Presets] = published(decoding_weight=1.0)

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
            held_out = self._predicted(X, labels, weight)
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

    def _predicted(self, X: Any, labels: Labels, weight: Floats) -> PredictedRows:
        """Predict each row by regressions and classifiers fitted without its fold."""
        folds = deal(N_FOLDS, X, labels, weight, self._seed())
        Y = labels.astype(np.float64)
        predicted, self.ridge_ = held_out_predictions(X, Y, weight, self._penalty("ridge"), folds)
        if not folds:
            log_odds = self.classifiers_.scores(X, n_threads=self._n_threads())
            return PredictedRows(Y, predicted, log_odds, weight, np.zeros(len(Y), dtype=np.intp))
        held_out = cross_fit(
            lambda rows: self._classifiers(X[rows], labels[rows], weight[rows], self.C_),
            folds,
            lambda model, rows: model.scores(X[rows], n_threads=self._n_threads()),
        )
        log_odds = np.asarray(held_out.gather(len(Y)))
        return PredictedRows(Y, predicted, log_odds, weight, held_out.numbers(len(Y)))

    def _learn_codes(self, held_out: PredictedRows) -> Codes:
        path: tuple[float, ...] = MARGIN_WEIGHTS
        if self.margin_weight != "cv":
            path = (float(self.margin_weight),)
        elif held_out.fold.any():
            best = choose_margin_weight(held_out, path, self.n_codes, float(self.decoding_weight))
            path = path[: path.index(best) + 1]  # the path that the cross-validation took
        for self.margin_weight_, metric in zip(
            path, learn_metrics(held_out.risk(), path), strict=True
        ):
            codes = Codes.of(metric, held_out, self.n_codes)
        return codes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label vectors of least decoding cost, (n, L) of 0/1."""
        check_is_fitted(self)
        labels = decode(*self._decoding_cost(self._features(X, reset=False)))
        return self.label_encoding.decode(labels.astype(np.int8))

    def decision_function(self, X: Any) -> Floats:
        """Return the increase in decoding cost from flipping each predicted label, (n, L).

        The value is positive if `predict` gives the label, and negative otherwise. For a
        one-dimensional y, there is one value per row, (n,).
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
        return metric, _add_product(float(self.decoding_weight) / 2 * log_odds, predicted, metric)


def _linear(ridge: Any, n_labels: int) -> LinearConditionals:
    """Return the regressions in a form whose predictions do not depend on the batch."""
    return LinearConditionals(
        np.ascontiguousarray(np.asarray(ridge.coef_, dtype=np.float64).reshape(n_labels, -1)),
        np.broadcast_to(np.asarray(ridge.intercept_, dtype=np.float64), n_labels).copy(),
        np.zeros((n_labels, n_labels)),
        float("nan"),
        float("nan"),
    )
