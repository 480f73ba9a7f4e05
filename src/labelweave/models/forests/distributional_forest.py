"""A forest as an estimate of the joint distribution of the labels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice, check_flag, check_number, check_whole_number
from labelweave._common.progress import steps
from labelweave._common.row_keys import assign_folds, presentation_order, row_keys
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution, ListedJoint, MixtureJoint
from labelweave.models.base import MultiLabelClassifier
from labelweave.models.base_classifier import check_base_classifier, seeded_clone
from labelweave.models.forests.leaf_mates import LeafMates, Shares, leaves_of, tempered, unseen_by
from labelweave.models.forests.projected_trees import projected_forest
from labelweave.models.forests.smoothing import (
    DEFAULT_SHRINKAGE,
    TEMPERATURES,
    HeldOutRows,
    Smoothing,
    choose_smoothing,
    listed_marginals,
    shrunk_scores,
)
from labelweave.models.forests.training_rows import TrainingRows

# More label vectors than this are projected: trees keep a number for every class in every node.
_MOST_CLASSES = 32
# The three parameters of the smoothing are known well enough from this many rows.
_ENOUGH_HELD_OUT = 500


class DistributionalForest(MultiLabelClassifier):
    """The label vectors of a row's leaf mates in a forest, mixed with a smooth joint distribution.

    The training rows that share a leaf with x, each with its share of the leaf and averaged over
    the trees, are a sample of the label vectors of rows like x (Meinshausen 2006; Ćevid et al.
    2022). Their distribution knows how labels depend on each other, which the forest's marginals
    do not. To vectors that no leaf mate has, a smooth joint gives some probability. How much it is,
    and how far the shares are sharpened, is chosen by the likelihood of rows that the trees have
    not seen: out-of-bag rows if the forest draws bootstrap samples, else rows that are held out.

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
    smooth : estimator of P(y|x), optional
        The smooth joint: a model of this library, such as ``ClassifierChain()``. By default
        independent labels with the leaf mates' marginals, shrunk towards the training frequencies.
    temperature : float or "cv", default="cv"
        The shares of the vectors are raised to the power of 1 / temperature; 1 leaves them as they
        are, and "cv" chooses among 1 and less.
    n_folds : int, default=5
        Parts of the rows of which one after the other is held out to choose the smoothing by, until
        500 rows have been. With bootstrap samples only `smooth` needs them.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="subset"
        The loss that `predict` minimises.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. Passed on to an `estimator` that does not have its
        own. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the folds and every unset `random_state` of `estimator` and `smooth`. None means 0.
    verbose : int, default=0
        If positive, print what was chosen and the number of label vectors.

    Attributes
    ----------
    forest_ : forest
        The fitted forest; a regressor if labels were projected.
    vectors_ : (V, L) array
        The distinct label vectors of the training data.
    leaf_mates_ : LeafMates
        The vectors in each leaf. Takes at most 12 bytes for each training row and tree.
    smooth_ : estimator or None
        The fitted smooth model; None for independent labels.
    frequencies_ : (L,) array
        How frequent the labels are, by Laplace's rule of succession.
    temperature_, shrinkage_, smooth_weight_ : float
        The temperature, the shrinkage of the marginals towards the frequencies (0 if a `smooth`
        model is given), and the weight of the smooth joint.

    Notes
    -----
    `predict_joint` takes 8 V bytes for each row; `predict` is exact and proven if the mode of the
    smooth joint is. A row of weight two is the row twice unless the forest draws bootstrap samples,
    which are drawn by weight. Sparse features with more than 3 % nonzero entries are made dense for
    the default forest, if that takes no more than 1 GB.

    References
    ----------
    N. Meinshausen (2006). Quantile regression forests. JMLR 7.

    D. Ćevid, L. Michel, J. Näf, P. Bühlmann, N. Meinshausen (2022). Distributional random forests.
    JMLR 23.

    Examples
    --------
    >>> from labelweave.datasets import load_emotions
    >>> from labelweave.models import DistributionalForest
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> data = load_emotions()
    >>> forest = RandomForestClassifier(n_estimators=50)
    >>> model = DistributionalForest(estimator=forest).fit(data.X[:400], data.Y[:400])
    >>> joint = model.predict_joint(data.X[400:])
    >>> bool(joint.mode().optimal.all())
    True
    >>> exact_match = (model.predict(data.X[400:]) == data.Y[400:]).all(axis=1).mean()
    >>> label_by_label = (joint.marginals().round() == data.Y[400:]).all(axis=1).mean()
    >>> bool(exact_match > label_by_label)
    True
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        bootstrap: bool = True,
        targets: str = "labels",
        smooth: Any = None,
        temperature: float | str = "cv",
        n_folds: int = 5,
        decision: str | Decision = "subset",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.bootstrap = bootstrap
        self.targets = targets
        self.smooth = smooth
        self.temperature = temperature
        self.n_folds = n_folds
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        temperatures = self._check_settings(sample_weight)
        # In an order of their own: bootstrap samples depend on the order of the rows.
        order = presentation_order(X, labels, self._seed())
        rows = TrainingRows.of(X, labels, sample_weight).taken(order)
        total = float(rows.weight.sum())
        self.vectors_ = rows.vectors
        self.frequencies_ = (rows.weight @ rows.labels + 1) / (total + 2)
        self.forest_ = self._grown(rows)
        leaves = leaves_of(self.forest_, rows.X)
        self.leaf_mates_ = _mates(rows, leaves)
        self.smooth_ = None if self.smooth is None else self._fitted_smooth(rows)
        held_out = self._held_out(rows, leaves)
        # As much as Laplace's rule of succession gives to an event that has not occurred.
        chosen = Smoothing(temperatures[0], DEFAULT_SHRINKAGE, 1 / (total + 2))
        if held_out is not None:
            chosen = choose_smoothing(
                held_out, self.vectors_, self.frequencies_, temperatures, chosen.weight
            )
        self.temperature_, self.shrinkage_ = chosen.temperature, chosen.shrinkage
        self.smooth_weight_ = chosen.weight
        self._tell(
            f"{len(self.vectors_)} label vectors, temperature = {self.temperature_:.4g}, "
            f"shrinkage = {self.shrinkage_:.4g}, smooth_weight = {self.smooth_weight_:.4g}"
        )

    def _check_settings(self, sample_weight: Floats | None) -> tuple[float, ...]:
        """Check the parameters; return the temperatures to choose from."""
        check_whole_number(self.n_folds, "n_folds", 2)
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
        if self.smooth is not None and (
            isinstance(self.smooth, type) or not hasattr(self.smooth, "predict_joint")
        ):
            raise ValueError(
                "smooth must be None or an estimator of P(y|x) such as ClassifierChain(); "
                f"got {self.smooth!r}"
            )
        is_weighted = sample_weight is not None and self.smooth is not None
        if is_weighted and not has_fit_parameter(self.smooth, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, but smooth {self.smooth!r} does not support it"
            )
        if isinstance(self.temperature, str) and self.temperature == "cv":
            return TEMPERATURES
        return (check_number(self.temperature, "temperature", above=0, otherwise="'cv'"),)

    def _grown(self, rows: TrainingRows) -> Any:
        """Return a forest fitted to the rows."""
        target = self._target(rows)
        # Equal weights mean nothing to a forest, but its bootstrap samples would be others.
        weights = rows.weights() if np.ptp(rows.weight) > 0 else {}
        if self.estimator is None:
            weight = weights.get("sample_weight")
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
        return forest.fit(rows.X, target, **weights)

    def _target(self, rows: TrainingRows) -> Labels | Indices | sp.csr_array:
        """Return what the trees are to tell apart: a column, or the columns of a matrix."""
        if self.targets == "labels":
            return rows.labels if rows.labels.shape[1] > 1 else rows.labels[:, 0]
        if self.estimator is not None or len(rows.vectors) <= _MOST_CLASSES:
            return rows.place
        n = len(rows.place)
        ones, shape = np.ones(n, dtype=np.int8), (n, len(rows.vectors))
        return sp.csr_array((ones, rows.place, np.arange(n + 1)), shape=shape)

    def _fitted_smooth(self, rows: TrainingRows) -> Any:
        smooth = seeded_clone(self.smooth, self._seed())
        return smooth.fit(rows.X, rows.labels, **rows.weights())

    def _held_out(self, rows: TrainingRows, leaves: Indices) -> HeldOutRows | None:
        """Return the rows with what is said about them by models that have not seen them."""
        fold, n_folds = assign_folds(rows.X, rows.weight, self.n_folds, self._seed())
        unseen = unseen_by(self.forest_, len(fold))
        if n_folds < 2 and (unseen is None or self.smooth is not None):
            return None
        n_held_out = min(n_folds, math.ceil(_ENOUGH_HELD_OUT * n_folds / rows.weight.sum()))
        folds = [np.flatnonzero(fold == number) for number in range(n_held_out)]
        if unseen is not None:
            shares, judged = self.leaf_mates_.shares_without(
                leaves, unseen, rows.place, rows.weight
            )
            if self.smooth is not None:
                judged &= fold < n_held_out
            at = np.flatnonzero(judged)
            shares = shares[at]
        else:
            shares, at = self._shares_by_folds(rows, folds), np.concatenate(folds)
        if len(at) == 0:
            return None
        kept = rows.taken(at)
        smooth = None if self.smooth is None else self._log_smooth_by_folds(rows, folds)[at]
        return HeldOutRows(shares, kept.place, kept.labels, kept.weight, smooth)

    def _shares_by_folds(self, rows: TrainingRows, folds: list[Indices]) -> Shares:
        """Return the shares of the vectors in each fold by a forest fitted to all other rows."""
        parts = []
        for outside in steps("cross-fitting the forest", folds):
            others = rows.without(outside)
            forest = self._grown(others)
            mates = _mates(others, leaves_of(forest, others.X))
            parts.append(mates.shares(leaves_of(forest, rows.X[outside])))
        return sp.vstack(parts, format="csr")

    def _log_smooth_by_folds(self, rows: TrainingRows, folds: list[Indices]) -> Floats:
        """Return log P(labels) of the rows in the folds by smooth models fitted to all others."""
        out = np.zeros(len(rows.labels))
        for outside in steps("cross-fitting the smooth model", folds):
            smooth = self._fitted_smooth(rows.without(outside))
            out[outside] = smooth.predict_joint(rows.X[outside]).log_prob(rows.labels[outside])
        return out

    def _joint(self, X: Any) -> JointDistribution:
        shares = self.leaf_mates_.shares(leaves_of(self.forest_, X))
        shares = tempered(shares, self.temperature_)
        with np.errstate(divide="ignore"):
            listed = ListedJoint(self.vectors_, np.log(shares.toarray()))
        return MixtureJoint(
            [1 - self.smooth_weight_, self.smooth_weight_],
            [listed, self._smooth_joint(X, shares)],
            label_names=self._names(),
            row_ids=row_keys(X),
            n_threads=self._n_threads(),
        )

    def _smooth_joint(self, X: Any, shares: Shares) -> JointDistribution:
        if self.smooth_ is not None:
            joint: JointDistribution = self.smooth_.predict_joint(X)
            return joint
        marginals = listed_marginals(shares, self.vectors_)
        return IndependentJoint(shrunk_scores(marginals, self.frequencies_, self.shrinkage_))


def _mates(rows: TrainingRows, leaves: Indices) -> LeafMates:
    return LeafMates.of(leaves, rows.place, rows.weight, len(rows.vectors))
