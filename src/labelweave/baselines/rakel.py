"""RAkEL: label powersets of small random labelsets."""

from __future__ import annotations

from itertools import chain, combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from scipy.special import logit

from labelweave._common.archives import check_positions, check_shape
from labelweave._common.arrays import Floats, Indices, Labels
from labelweave._common.checks import check_choice, check_flag
from labelweave._common.engine import processes
from labelweave._common.presets import Presets, published
from labelweave._common.row_keys import row_keys
from labelweave.baselines.label_powerset import LabelPowerset, feature_penalty
from labelweave.decision.losses import Decision
from labelweave.joint import IndependentJoint, JointDistribution
from labelweave.models import MultiLabelClassifier
from labelweave.models.base_classifier import check_base_classifier

OUTPUTS = ("probability", "label")


class RAkEL(MultiLabelClassifier):
    """Random k-labelsets (Tsoumakas and Vlahavas, 2007): small label powersets, averaged.

    Each member is a `LabelPowerset` on a few random labels, of which every combination has many
    rows. The members' outputs for a label are averaged, and labels are taken as independent.

    Parameters
    ----------
    labelset_size : int, default=3
        Number of labels per member, k in the paper; all labels if there are fewer.
    n_labelsets : int, optional
        Number of members, each with a different labelset: by default 2L, or all labelsets if there
        are fewer. Labels in none of them are put into further ones. Ignored unless `overlapping`.
    overlapping : bool, default=True
        Whether labelsets are drawn from all sets of their size or form a random partition of the
        labels (RAkEL-d).
    outputs : {"probability", "label"}, default="probability"
        What members output for a label: its marginal probability, or a vote of 0 or 1, as in
        ``RAkEL.preset("published")``. Vote shares are smoothed by one more vote for and against,
        so that none is 0 or 1.
    estimator : scikit-learn classifier, optional
        As in `LabelPowerset`.
    C : float or "cv", default="cv"
        As in `LabelPowerset`; chosen once, for all members.
    decision : {"subset", "hamming", "f1", "macro_f1", ...} or callable, default="hamming"
        The loss that `predict` minimises; for independent labels both give the same labels.
    n_jobs : int, optional
        Number of processes that share the members; -1 uses all cores. Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seeds the labelsets, the folds of ``C="cv"`` and every unset `random_state` of `estimator`.
        None means 0.
    verbose : int, default=0
        If positive, print the chosen penalty and the number of labelsets.

    Attributes
    ----------
    labelsets_ : list of (k,) arrays
        The labels of each member.
    estimators_ : list of LabelPowerset
        The members.
    C_ : float
        The penalty used; only without `estimator`.

    Examples
    --------
    >>> from labelweave.baselines import RAkEL
    >>> from labelweave.datasets import load_emotions
    >>> from sklearn.preprocessing import scale
    >>> data = load_emotions()
    >>> X = scale(data.X)
    >>> model = RAkEL(C=0.01, overlapping=False).fit(X[:400], data.Y[:400])
    >>> [labelset.tolist() for labelset in model.labelsets_]
    [[0, 1, 2], [3, 4, 5]]
    >>> model.predict(X[400:402])
    array([[0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 1]])
    """

    presets: ClassVar[Presets] = published(
        labelset_size=3, n_labelsets=None, overlapping=True, outputs="label"
    )

    def __init__(
        self,
        *,
        labelset_size: int = 3,
        n_labelsets: int | None = None,
        overlapping: bool = True,
        outputs: str = "probability",
        estimator: Any = None,
        C: float | str = "cv",
        decision: str | Decision = "hamming",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.labelset_size = labelset_size
        self.n_labelsets = n_labelsets
        self.overlapping = overlapping
        self.outputs = outputs
        self.estimator = estimator
        self.C = C
        self.decision = decision
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, labels: Labels, sample_weight: Floats | None) -> None:
        check_choice(self.outputs, "outputs", OUTPUTS)
        self._votes = self.outputs == "label"
        seed, C = self._seed(), 1.0
        self.labelsets_ = self._draw_labelsets(np.random.default_rng(seed))
        if self.estimator is None:
            self.C_ = C = feature_penalty(self, X, labels, sample_weight)
        else:
            check_base_classifier(self.estimator, sample_weight)
        self.estimators_ = list(
            processes(self.n_jobs)(
                delayed(
                    LabelPowerset(estimator=self.estimator, C=C, random_state=seed + number).fit
                )(X, labels[:, labelset], sample_weight)
                for number, labelset in enumerate(self.labelsets_)
            )
        )
        self._tell(f"{len(self.labelsets_)} labelsets")

    def _draw_labelsets(self, random: np.random.Generator) -> list[Indices]:
        n_labels, size = self.n_labels_, min(self._count("labelset_size"), self.n_labels_)
        check_flag(self.overlapping, "overlapping")
        wanted = 2 * n_labels if self.n_labelsets is None else self._count("n_labelsets")
        drawn: set[tuple[int, ...]] = set()
        if self.overlapping and comb(n_labels, size) <= wanted:
            drawn.update(combinations(range(n_labels), size))
        while self.overlapping and len(drawn) < wanted and len(drawn) < comb(n_labels, size):
            drawn.add(tuple(sorted(random.choice(n_labels, size, replace=False).tolist())))
        left = random.permutation(sorted(set(range(n_labels)) - set(chain(*drawn))))
        drawn.update(tuple(sorted(left[i : i + size])) for i in range(0, len(left), size))
        return [np.array(labelset) for labelset in sorted(drawn)]

    def _check_learned(self) -> None:
        super()._check_learned()
        members = zip(
            getattr(self, "labelsets_", ()), getattr(self, "estimators_", ()), strict=True
        )
        for labelset, member in members:
            check_positions(labelset, self.n_labels_, "labelsets_")
            check_shape(labelset, (member.n_labels_,), "labelsets_")

    def _joint(self, X: Any) -> JointDistribution:
        return IndependentJoint(
            logit(self._averaged(X)),
            label_names=self._names(),
            row_ids=row_keys(X),
            n_threads=self._n_threads(),
        )

    def _averaged(self, X: Any) -> Floats:
        """Return the average output for each label over the members that have it, (n, L)."""
        total = np.zeros((X.shape[0], self.n_labels_))
        count = np.zeros(self.n_labels_)
        for labelset, member in zip(self.labelsets_, self.estimators_, strict=True):
            total[:, labelset] += member.predict(X) if self._votes else member.predict_proba(X)
            count[labelset] += 1
        return (total + 1) / (count + 2) if self._votes else total / count
