"""DistributionalForest: the label vectors of the training rows that share a row's leaves.

A tree gives a row x the label vectors of the training rows in the leaf of x, each with its share of
the leaf's weight; a forest averages its trees (Lin and Jeon 2006; Meinshausen 2006). Leaves are
one-hot columns, so that all of this is a product of two sparse matrices, (rows × leaves) times
(leaves × vectors), of which only the second is kept.

Trees for many labels are grown on a few random projections of them, because a split for L labels
takes O(L) for every threshold that is tried. It is judged by the variance that it removes, summed
over all labels, which projections keep in expectation (Joly, Geurts and Wehenkel 2014). Held-out
log-loss per row of the marginals of 40 and 60 trees, grown on all labels and on 8, 16 and 32
projections: delicious' 200 most frequent labels, 3,000 rows, 42.56; 42.67, 42.55 and 42.59,
cal500's 174 labels 57.6; 57.9, 57.8 and 57.9. Principal components and others were no better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.utils import Tags, get_tags

from labelweave._common.arrays import Floats, Indices, Labels, Mask, Positions
from labelweave._common.checks import check_choice, check_flag, check_number
from labelweave._common.folds import Fold, check_folds, deal, presentation_order
from labelweave._common.pipelines import fit_arguments
from labelweave.joint import IndependentJoint, JointDistribution, ListedJoint, MixtureJoint
from labelweave.joint.distribution import RowOptions
from labelweave.joint.quantities import bernoulli_log_prob
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.conditionals import check_base_classifier, seeded_clone
from labelweave.models.cross_fitting import cross_fit

#: Rows × vectors; every row sums to one.
Shares: TypeAlias = Any


@dataclass(frozen=True)
class LeafMates:
    """The training weight of each label vector in each leaf of a forest, (leaves, V) in CSR.

    `first_leaf`, (T,), says where the leaves of each tree begin, and `leaf_weight`, (leaves,), is
    the weight of all training rows in a leaf.
    """

    first_leaf: Indices
    weights: Any
    leaf_weight: Floats

    @classmethod
    def of(cls, leaves: Indices, place: Indices, weight: Floats, n_vectors: int) -> LeafMates:
        """Collect training rows by their (n, T) leaves; row i has the vector ``place[i]``."""
        ends = np.cumsum(leaves.max(axis=0) + 1)
        first_leaf = np.concatenate([[0], ends[:-1]])
        n_trees = leaves.shape[1]
        cells = ((leaves + first_leaf).ravel(), np.repeat(place, n_trees))
        shape = (int(ends[-1]), n_vectors)
        weights = sp.coo_array((np.repeat(weight, n_trees), cells), shape=shape).tocsr()
        return cls(first_leaf, weights, np.asarray(weights.sum(axis=1), dtype=np.float64).ravel())

    def shares(self, leaves: Indices) -> Shares:
        """Return the probabilities of the vectors among the mates of rows in (n, T) leaves, CSR."""
        at = leaves + self.first_leaf
        return self._averaged(at, 1 / self.leaf_weight[at])

    def shares_without(
        self, leaves: Indices, unseen: Mask, place: Indices, weight: Floats
    ) -> tuple[Shares, Mask]:
        """Return the shares of training rows by the trees that have not seen them.

        The row itself is not among its mates, as if it had not existed.
        """
        at = leaves + self.first_leaf
        others = self.leaf_weight[at] - weight[:, None]
        usable = unseen & (others > 0)
        share = np.divide(1.0, others, out=np.zeros_like(others), where=usable)
        total = self._averaged(at, share)
        cells = (np.arange(len(at)), place)
        own = sp.coo_array((weight * share.mean(axis=1), cells), shape=total.shape)
        total = (total - own.tocsr()).tocsr()
        total.data = np.maximum(total.data, 0.0)  # the row itself leaves rounding errors
        return _normalised(total), np.asarray(usable.any(axis=1))

    def _averaged(self, at: Indices, share: Floats) -> Shares:
        n, n_trees = at.shape
        one_hot = sp.csr_array(
            ((share / n_trees).ravel(), at.ravel(), np.arange(0, at.size + 1, n_trees)),
            shape=(n, self.weights.shape[0]),
        )
        shares = (one_hot @ self.weights).tocsr()
        shares.sort_indices()  # products are unsorted, and SciPy sorts in place when it has to
        return shares


def leaves_of(forest: Any, X: Any) -> Indices:
    """Return the leaf of every row in every tree of a forest, or of a single tree, (n, T)."""
    return np.asarray(forest.apply(X), dtype=np.int64).reshape(X.shape[0], -1)


def unseen_by(forest: Any, n_rows: int) -> Mask | None:
    """Return which training rows each tree has not seen, (n, T); None if all have seen all."""
    if not getattr(forest, "bootstrap", False) or not hasattr(forest, "estimators_samples_"):
        return None
    samples = forest.estimators_samples_
    unseen = np.ones((n_rows, len(samples)), dtype=np.bool_)
    for tree, rows in enumerate(samples):
        unseen[rows, tree] = False
    return unseen


def tempered(shares: Shares, temperature: float) -> Shares:
    """Return shares raised to the power of 1 / temperature, normalised row by row."""
    if temperature == 1:
        return shares
    powered = shares.copy()
    # Relative to the largest share of a row, whose power may be too small for a double.
    largest = shares.max(axis=1).toarray().ravel()
    relative = shares.data / np.repeat(largest, np.diff(shares.indptr))
    powered.data = relative ** (1 / temperature)
    return _normalised(powered)


def _normalised(shares: Shares) -> Shares:
    total = np.asarray(shares.sum(axis=1)).ravel()
    scaled = shares.copy()
    scaled.data = shares.data / np.repeat(np.where(total > 0, total, 1.0), np.diff(shares.indptr))
    return scaled


# Forests average over many leaves, which makes them less certain than they could be: most
# candidates sharpen.
TEMPERATURES = (1.0, 0.8, 0.65, 0.5, 0.35)
SHRINKAGES = (0.003, 0.01, 0.03, 0.1, 0.3)
# Without rows to judge by.
DEFAULT_SHRINKAGE = 0.1
# Halvings of the interval in which the smooth weight is sought: to the precision of its odds.
_HALVINGS = 50


@dataclass(frozen=True)
class Smoothing:
    """P(y) = (1 − weight) · tempered shares of y + weight · smooth P(y).

    In the smooth P(y), labels are independent with marginals moved by `shrinkage` towards the
    training frequencies.
    """

    temperature: float
    shrinkage: float
    weight: float


def choose_smoothing(
    shares: Shares,
    rows: ForestRows,
    frequencies: Floats,
    temperatures: Sequence[float],
    least_weight: float,
) -> Smoothing:
    """Return the temperature, shrinkage and weight under which held-out rows are most probable.

    The shares, (n, V), are those by trees that have not seen the row.
    """
    best, best_value = None, -np.inf
    for temperature in temperatures:
        sharpened = tempered(shares, temperature)
        with np.errstate(divide="ignore"):
            log_listed = np.log(np.asarray(sharpened[np.arange(len(rows.place)), rows.place]))
        marginals = listed_marginals(sharpened, rows.vectors)
        for shrinkage in SHRINKAGES:
            scores = shrunk_scores(marginals, frequencies, shrinkage)
            log_smooth = bernoulli_log_prob(rows.labels, scores).sum(axis=1)
            weight = best_weight(log_listed, log_smooth, rows.weight, least_weight)
            value = float(rows.weight @ _mixed(log_listed, log_smooth, weight))
            if best is None or value > best_value:
                best, best_value = Smoothing(temperature, shrinkage, weight), value
    assert best is not None
    return best


def listed_marginals(shares: Shares, vectors: Labels) -> Floats:
    """Return the probability of every label under the shares of the vectors, (n, L)."""
    return np.asarray(np.clip(shares @ vectors.astype(np.float64), 0.0, 1.0))


def shrunk_scores(marginals: Floats, frequencies: Floats, shrinkage: float) -> Floats:
    """Return the log-odds of marginals that are shrunk towards the frequencies, (n, L)."""
    present = (1 - shrinkage) * marginals + shrinkage * frequencies
    absent = (1 - shrinkage) * (1 - marginals) + shrinkage * (1 - frequencies)
    return np.asarray(np.log(present) - np.log(absent))


def best_weight(log_listed: Floats, log_smooth: Floats, weight: Floats, least: float) -> float:
    """Return the smooth weight at the top of the concave log-likelihood, by bisection."""
    top = np.maximum(log_listed, log_smooth)
    listed, smooth = np.exp(log_listed - top), np.exp(log_smooth - top)
    low, high = least, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        mixed = middle * smooth + (1 - middle) * listed
        if weight @ ((smooth - listed) / mixed) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _mixed(log_listed: Floats, log_smooth: Floats, weight: float) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-weight) + log_listed, np.log(weight) + log_smooth))


@dataclass(frozen=True)
class ForestRows:
    """Training rows. Their labels, (n, L), are ``vectors[place]`` of distinct vectors, (V, L)."""

    X: Any
    labels: Labels
    vectors: Labels
    place: Indices
    weight: Floats

    @classmethod
    def of(cls, X: Any, labels: Labels, sample_weight: Floats | None) -> ForestRows:
        """Find the distinct label vectors."""
        vectors, place = np.unique(labels, axis=0, return_inverse=True)
        weight = np.ones(len(labels)) if sample_weight is None else sample_weight
        return cls(X, labels, vectors, place.ravel().astype(np.int64), weight)

    def taken(self, at: Positions | Indices) -> ForestRows:
        """Return some of the rows, with the same list of vectors."""
        return replace(
            self,
            X=self.X[at],
            labels=self.labels[at],
            place=self.place[at],
            weight=self.weight[at],
        )


#: More labels than this are projected to as many targets.
N_PROJECTIONS = 16
N_TREES = 300
#: Sparse features with more nonzero entries than this share, and at most as many bytes, are made
#: dense: on tmc2007-500 and enron trees grow in a quarter and a third of the time, on slashdot,
#: which is sparser, in 1.4 times the time.
DENSE_SHARE = 0.03
DENSE_BYTES = 2**30


def projected_forest(
    X: Any,
    labels: Labels | Indices | sp.csr_array,
    weight: Floats | None,
    *,
    seed: int,
    n_trees: int = N_TREES,
    n_jobs: int | None = None,
    bootstrap: bool = True,
    oob_score: bool = False,
) -> ExtraTreesClassifier | ExtraTreesRegressor:
    """Return extremely randomized trees, grown for a label matrix."""
    X = laid_out_for_trees(X)
    if labels.ndim == 1 or labels.shape[1] <= N_PROJECTIONS:
        forest, target = ExtraTreesClassifier(oob_score=oob_score), labels
    else:
        # Whole numbers have sums without rounding: nodes of equal rows are seen to be pure.
        directions = np.random.default_rng(seed).choice([-1, 1], (labels.shape[1], N_PROJECTIONS))
        forest = ExtraTreesRegressor(max_features="sqrt")
        target = labels.astype(np.int64) @ directions
    forest.set_params(n_estimators=n_trees, bootstrap=bootstrap, random_state=seed, n_jobs=n_jobs)
    return forest.fit(X, target, sample_weight=weight)


def laid_out_for_trees(X: Any) -> Any:
    """Return sparse features as a dense matrix if trees grow faster on it."""
    if isinstance(X, np.ndarray):
        return X
    size = X.shape[0] * X.shape[1]
    if X.nnz <= DENSE_SHARE * size or 4 * size > DENSE_BYTES:
        return X
    return X.astype(np.float32).toarray()  # trees compute in single precision


class ProjectedExtraTrees(ClassifierMixin, BaseEstimator):
    """Extremely randomized trees on bootstrap samples; on projections of more than 16 labels.

    With `oob_score`, ``oob_decision_function_``, (n, 2, L) or (n, 2), are the probabilities of the
    training rows by the trees that have not seen them; 0 in rows that all trees have seen.
    """

    bootstrap = True  # every tree leaves rows out

    def __init__(
        self,
        *,
        n_estimators: int = N_TREES,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Floats | None = None) -> Self:
        """Grow the trees for an (n, L) matrix of 0/1, or for the vector of one label."""
        labels = np.asarray(y)
        self.forest_ = projected_forest(
            X,
            labels,
            sample_weight,
            seed=0 if self.random_state is None else self.random_state,
            n_trees=self.n_estimators,
            n_jobs=self.n_jobs,
            oob_score=self.oob_score,
        )
        self.classes_ = getattr(self.forest_, "classes_", [np.array([0, 1])] * labels.shape[-1])
        if isinstance(self.forest_, ExtraTreesRegressor):
            self._read_leaves(ForestRows.of(X, labels, sample_weight))
        elif self.oob_score:
            self.oob_decision_function_ = self.forest_.oob_decision_function_
        return self

    def _read_leaves(self, rows: ForestRows) -> None:
        leaves = leaves_of(self.forest_, rows.X)
        self.vectors_ = rows.vectors
        self.leaf_mates_ = LeafMates.of(leaves, rows.place, rows.weight, len(rows.vectors))
        if self.oob_score:
            unseen: Any = unseen_by(self.forest_, len(leaves))
            shares, judged = self.leaf_mates_.shares_without(
                leaves, unseen, rows.place, rows.weight
            )
            present = shares @ self.vectors_
            both = np.stack([1 - present, present], axis=1)
            self.oob_decision_function_ = np.where(judged[:, None, None], both, 0.0)

    def predict_proba(self, X: Any) -> Any:
        """Return (n, L) probabilities of many labels; of few, as scikit-learn's trees do."""
        if isinstance(self.forest_, ExtraTreesClassifier):
            return self.forest_.predict_proba(X)
        return np.asarray(self.leaf_mates_.shares(leaves_of(self.forest_, X)) @ self.vectors_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the labels that are likelier than not."""
        if isinstance(self.forest_, ExtraTreesClassifier):
            return np.asarray(self.forest_.predict(X))
        return np.where(self.predict_proba(X) > 0.5, 1, 0)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that labels are learned all at once, also from sparse features."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags


# More label vectors than this are projected: trees keep a number for every class in every node.
_MOST_CLASSES = 32
# The three parameters of the smoothing are known well enough from this many rows.
_ENOUGH_HELD_OUT = 500


@dataclass(eq=False, repr=False, kw_only=True)
class DistributionalForest(MultiLabelClassifier):
    """The label vectors of a row's leaf mates in a forest, mixed with a smooth joint distribution.

    The training rows that share a leaf with x, each with its share of the leaf and averaged over
    the trees, are a sample of the label vectors of rows like x (Meinshausen 2006; Ćevid et al.
    2022). Their distribution knows how labels depend on each other, which the forest's marginals
    do not. A smooth joint gives some probability to other vectors: independent labels, whose
    marginals are shrunk towards the training frequencies. Its weight, and how far the shares are
    sharpened, are chosen by the likelihood of rows that the trees have not seen: out-of-bag rows if
    the forest draws bootstrap samples, else rows that are held out.

    Parameters
    ----------
    estimator : scikit-learn forest, optional
        A classifier with ``apply``, which names the leaves of rows, such as a random forest or a
        single tree. By default ``ExtraTreesClassifier(n_estimators=300)``, for more than 16 labels
        on random projections of them.
    bootstrap : bool, default=True
        Whether the default trees see bootstrap samples of the rows, or all rows. Trees that see all
        rows lean on the most similar ones, which is better on some data; since they leave no row
        out to choose the smoothing by, `fit` takes one forest more, with few rows several.
    targets : {"labels", "vectors"}, default="labels"
        Whether trees are grown to tell apart the values of each label, or whole label vectors, as
        those of a label powerset are; the latter is better where there are few vectors. An
        `estimator` gets the vectors as its classes, the default forest random projections of them
        if there are more than 32.
    temperature : float or "cv", default="cv"
        The shares of the vectors are raised to the power of 1 / temperature; 1 leaves them as they
        are, and "cv" chooses among 1 and less.
    cv : int, splitter or list of (train, test), default=5
        As in `CalibratedJointCV`, if all trees see all rows: one fold is held out after the other,
        until 500 rows have been.
    decision, n_jobs, random_state, verbose : see `MultiLabelClassifier`
        `n_jobs` and `random_state` are passed on to an `estimator` that does not have its own.

    Attributes
    ----------
    forest_ : forest
        The fitted forest; a regressor if labels were projected.
    vectors_ : (V, L) array
        The distinct label vectors of the training data.
    leaf_mates_ : LeafMates
        The vectors in each leaf. Takes at most 12 bytes for each training row and tree.
    frequencies_ : (L,) array
        How frequent the labels are, by Laplace's rule of succession.
    temperature_, shrinkage_, smooth_weight_ : float
        The temperature, the shrinkage of the marginals towards the frequencies, and the weight of
        the smooth joint.

    Notes
    -----
    `predict_joint` takes 8 V bytes for each row; `predict` is exact and proven. A row of weight two
    is the row twice unless the forest draws bootstrap samples, which are drawn by weight. Sparse
    features with more than 3 % nonzero entries are made dense for the default forest, if that takes
    no more than 1 GB.

    References
    ----------
    N. Meinshausen (2006). Quantile regression forests. JMLR 7.

    D. Ćevid, L. Michel, J. Näf, P. Bühlmann, N. Meinshausen (2022). Distributional random forests.
    JMLR 23.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from labelweave import DistributionalForest, load
    >>> data = load("emotions")
    >>> forest = RandomForestClassifier(n_estimators=50)
    >>> model = DistributionalForest(forest).fit(data.X[:400], data.Y[:400])
    >>> bool(model.predict_joint(data.X[400:]).mode().optimal.all())
    True
    """

    estimator: Any = field(default=None, kw_only=False)
    bootstrap: bool = True
    targets: str = "labels"
    temperature: float | str = "cv"
    cv: Any = 5

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        temperatures = self._check_settings(sample_weight)
        # In an order of their own: bootstrap samples depend on the order of the rows.
        order = presentation_order(X, labels, self._seed())
        if sample_weight is not None:
            order = order[sample_weight[order] > 0]
        weight = None if sample_weight is None else sample_weight[order]
        rows = ForestRows.of(X[order], labels[order], weight)
        total = float(rows.weight.sum())
        self.vectors_ = rows.vectors
        self.frequencies_ = (rows.weight @ rows.labels + 1) / (total + 2)
        self.forest_ = self._grown(rows)
        leaves = leaves_of(self.forest_, rows.X)
        self.leaf_mates_ = _mates(rows, leaves)
        unseen = unseen_by(self.forest_, len(leaves))
        if unseen is None:
            shares, held_out = self._by_folds(rows, self._folds(X, labels, sample_weight, order))
        else:
            shares, judged = self.leaf_mates_.shares_without(
                leaves, unseen, rows.place, rows.weight
            )
            shares, held_out = shares[judged], rows.taken(np.flatnonzero(judged))
        # As much as Laplace's rule of succession gives to an event that has not occurred.
        chosen = Smoothing(temperatures[0], DEFAULT_SHRINKAGE, 1 / (total + 2))
        if len(held_out.labels) > 0:
            chosen = choose_smoothing(
                shares, held_out, self.frequencies_, temperatures, chosen.weight
            )
        self.temperature_, self.shrinkage_ = chosen.temperature, chosen.shrinkage
        self.smooth_weight_ = chosen.weight
        self._tell(
            f"{len(self.vectors_)} label vectors, temperature = {self.temperature_:.4g}, "
            f"shrinkage = {self.shrinkage_:.4g}, smooth_weight = {self.smooth_weight_:.4g}"
        )

    def _check_settings(self, sample_weight: Floats | None) -> tuple[float, ...]:
        """Check the parameters; return the temperatures to choose from."""
        check_folds(self.cv)
        check_flag(self.bootstrap, "bootstrap")
        check_choice(self.targets, "targets", ("labels", "vectors"))
        if self.estimator is not None:
            check_base_classifier(self.estimator, sample_weight)
            is_single = self.n_labels_ == 1 or self.targets == "vectors"
            takes_labels = is_single or get_tags(self.estimator).target_tags.multi_output
            if not (hasattr(self.estimator, "apply") and takes_labels):
                raise ValueError(
                    "estimator must be a forest or a tree that takes all labels at once, and whose "
                    f"method apply names the leaves of rows; got {self.estimator!r}. Any other "
                    "classifier fits LabelPowerset"
                )
        if isinstance(self.temperature, str) and self.temperature == "cv":
            return TEMPERATURES
        return (check_number(self.temperature, "temperature", above=0, otherwise="'cv'"),)

    def _grown(self, rows: ForestRows) -> Any:
        target = self._target(rows)
        # Equal weights mean nothing to a forest, but its bootstrap samples would be others.
        weight = rows.weight if np.ptp(rows.weight) > 0 else None
        if self.estimator is None:
            return projected_forest(
                rows.X,
                target,
                weight,
                seed=self._seed(),
                n_jobs=self.n_jobs,
                bootstrap=self.bootstrap,
            )
        forest = seeded_clone(self.estimator, self._seed())
        if forest.get_params(deep=False).get("n_jobs", 1) is None:
            forest.set_params(n_jobs=self.n_jobs)
        return forest.fit(rows.X, target, **fit_arguments(forest, weight))

    def _target(self, rows: ForestRows) -> Labels | Indices | sp.csr_array:
        if self.targets == "labels":
            return rows.labels if rows.labels.shape[1] > 1 else rows.labels[:, 0]
        if self.estimator is not None or len(rows.vectors) <= _MOST_CLASSES:
            return rows.place
        n = len(rows.place)
        ones, shape = np.ones(n, dtype=np.int8), (n, len(rows.vectors))
        return sp.csr_array((ones, rows.place, np.arange(n + 1)), shape=shape)

    def _folds(self, X: Any, labels: Labels, weight: Floats | None, order: Indices) -> list[Fold]:
        """Return the folds of rows that are taken in this order."""
        place = np.empty(len(labels), dtype=np.intp)
        place[order] = np.arange(len(order))
        folds = deal(self.cv, X, labels, weight, self._seed())
        return [Fold(np.sort(place[train]), np.sort(place[held_out])) for train, held_out in folds]

    def _by_folds(self, rows: ForestRows, folds: list[Fold]) -> tuple[Shares, ForestRows]:
        """Hold out folds until enough rows are known; none if all rows are equal."""
        enough = math.ceil(_ENOUGH_HELD_OUT * len(folds) / rows.weight.sum())

        def fit(train: Positions) -> tuple[Any, LeafMates]:
            inside = rows.taken(train)
            forest = self._grown(inside)
            return forest, _mates(inside, leaves_of(forest, inside.X))

        def shares(grown: tuple[Any, LeafMates], held_out: Positions) -> Shares:
            forest, mates = grown
            return mates.shares(leaves_of(forest, rows.X[held_out]))

        found = cross_fit(fit, folds[:enough], shares, name="cross-fitting the forest")
        if not found.folds:
            return None, rows.taken(np.arange(0))
        return sp.vstack(found.parts, format="csr"), rows.taken(found.rows)

    def _joint(self, X: Any, rows: RowOptions) -> JointDistribution:
        shares = self.leaf_mates_.shares(leaves_of(self.forest_, X))
        shares = tempered(shares, self.temperature_)
        with np.errstate(divide="ignore"):
            listed = ListedJoint(self.vectors_, np.log(shares.toarray()))
        marginals = listed_marginals(shares, self.vectors_)
        scores = shrunk_scores(marginals, self.frequencies_, self.shrinkage_)
        weights = [1 - self.smooth_weight_, self.smooth_weight_]
        return MixtureJoint(weights, [listed, IndependentJoint(scores)], **rows)


def _mates(rows: ForestRows, leaves: Indices) -> LeafMates:
    return LeafMates.of(leaves, rows.place, rows.weight, len(rows.vectors))
