"""The weights of a tree's edges: how much each label gains from each other label as its parent."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from labelweave._common.arrays import Floats, Mask
from labelweave._common.checks import check_whole_number
from labelweave._common.progress import steps
from labelweave.logistic.edge_splits import as_splits

# With `screen="auto"`, all parents are fitted up to this many labels; beyond, this many per label.
_MANY_LABELS, _AUTO_SCREEN = 64, 20
#: Accuracy of edge weights that a single tree is learned from, as a share of each weight.
EDGE_TOLERANCE = 1e-3


@dataclass(frozen=True)
class EdgeWeights:
    """Held-out log-likelihood of every label given one other label, and given none.

    Attributes
    ----------
    pair : (L, L) array
        ``pair[j, i]`` is the sum over the held-out rows of ``w_n log P(y_i | x_n, y_j)``. For
        pairs that were not fitted it is ``alone[i]``, a gain of zero.
    alone : (L,) array
        The same without a parent.
    fitted : (L, L) bool array
        Which pairs were fitted; never the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from labelweave.logistic import EdgeWeights
    >>> pair = np.array([[-4.0, -1.0], [-3.0, -4.0]])
    >>> EdgeWeights(pair, np.array([-4.0, -4.0]), ~np.eye(2, dtype=bool)).gain
    array([[0., 3.],
           [1., 0.]])
    """

    pair: Floats
    alone: Floats
    fitted: Mask

    @property
    def gain(self) -> Floats:
        """The increase in log-likelihood by each parent of each label, (L, L)."""
        return self.pair - self.alone


def edge_weights(
    X: Any,
    Y: ArrayLike,
    *,
    C: ArrayLike,
    label_penalty: ArrayLike,
    held_out: ArrayLike,
    sample_weight: ArrayLike | None = None,
    candidates: ArrayLike | None = None,
    screen: int | str | None = None,
    tolerance: float = EDGE_TOLERANCE,
    n_threads: int = 1,
) -> EdgeWeights:
    """Fit P(y_i | x, y_j) for all pairs of labels and weigh them on held-out rows.

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    C : float or (L,) array
        Inverse penalty of the features, one for all labels or one per label.
    label_penalty : float or (L,) array
        Penalty of the parent's coefficient relative to the features'.
    held_out : (n,) or (F, n) bool array
        Rows on which the edges are weighed; the others fit the conditionals. The weights of several
        such splits (rows of the mask) are summed.
    sample_weight : (n,) array, optional
        Weight of each row, in fitting and in weighing.
    candidates : (L, L) bool array, optional
        ``candidates[j, i]``: whether j may be the parent of i; by default any other label may.
    screen : int, "auto" or None
        Fit only this many parents of each label, those with the largest score test: the squared
        slope of the loss in the parent's coefficient over its curvature, at the fit without a
        parent. "auto" fits all parents up to 64 labels and 20 per label beyond.
    tolerance : float
        Bound on the error of each weight, as a share of it (or of 1e-4 per held-out row, if that
        is more).
    n_threads : int
        Number of threads; 0 uses all cores. The result does not depend on it.

    Returns
    -------
    EdgeWeights
        A label that is constant in the training rows has the same smoothed constant conditional
        for every parent.

    Examples
    --------
    The second label equals the first, and the feature carries no information about either:

    >>> import numpy as np
    >>> from labelweave.logistic import edge_weights
    >>> X, held_out = np.zeros((8, 1)), np.arange(8) >= 4
    >>> Y = np.array([[0, 0], [1, 1]] * 4)
    >>> weights = edge_weights(X, Y, C=1.0, label_penalty=0.1, held_out=held_out)
    >>> weights.alone.round(2)
    array([-2.77, -2.77])
    >>> bool(weights.pair[0, 1] > weights.alone[1])
    True
    """
    splits = as_splits(X, Y, C, label_penalty, held_out, sample_weight)
    n_labels = splits[0].n_labels
    allowed = _allowed(candidates, n_labels)
    for split in steps("labels without a parent", splits):
        split.fit_alone(n_threads)
    kept = _screen(screen, n_labels)
    if kept < n_labels - 1:
        allowed = _best(np.sum([split.score_tests() for split in splits], axis=0), allowed, kept)
    weighed = [
        split.weigh(allowed, tolerance, n_threads) for split in steps("weighing edges", splits)
    ]
    n_failed = sum(failed for *_, failed in weighed)
    if n_failed:
        warnings.warn(
            f"{n_failed} of {len(splits) * (int(allowed.sum()) + n_labels)} edge weights are less "
            "accurate than promised: scale the features (for example with sklearn's "
            "StandardScaler), lower C or raise label_penalty",
            ConvergenceWarning,
            stacklevel=2,
        )
    return EdgeWeights(
        pair=np.sum([pair for pair, *_ in weighed], axis=0),
        alone=np.sum([alone for _, alone, _ in weighed], axis=0),
        fitted=allowed,
    )


def _allowed(candidates: ArrayLike | None, n_labels: int) -> Mask:
    others = ~np.eye(n_labels, dtype=bool)
    if candidates is None:
        return others
    given = np.asarray(candidates)
    if given.dtype != bool or given.shape != others.shape:
        raise ValueError(
            f"candidates must be boolean of shape ({n_labels}, {n_labels}): candidates[j, i] says "
            f"whether j may be the parent of i; got {given.dtype} of shape {given.shape}"
        )
    allowed: Mask = others & given
    return allowed


def _screen(screen: int | str | None, n_labels: int) -> int:
    """Return the maximum number of parents to fit per label."""
    if screen is None:
        return n_labels
    if screen == "auto":
        return n_labels if n_labels <= _MANY_LABELS else _AUTO_SCREEN
    return check_whole_number(screen, "screen", otherwise="None, 'auto'")


def _best(scores: Floats, allowed: Mask, n_kept: int) -> Mask:
    """Keep the allowed parents with the highest scores of each target; ties go to the first."""
    order = np.argsort(np.where(allowed, -scores, np.inf), axis=0, kind="stable")
    kept = np.zeros_like(allowed)
    np.put_along_axis(kept, order[:n_kept], True, axis=0)
    best: Mask = kept & allowed
    return best
