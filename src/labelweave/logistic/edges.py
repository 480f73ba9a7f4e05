"""How much every label would gain from every other as its parent: the weights of a tree's edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from labelweave._common.arrays import Floats, Mask
from labelweave._common.checks import check_whole_number
from labelweave.logistic.edge_splits import as_splits

# With `screen="auto"` all parents are fitted up to so many labels, then the best of them.
_MANY_LABELS, _AUTO_SCREEN = 64, 20


@dataclass(frozen=True)
class EdgeWeights:
    """Held-out log-likelihood of every label given one other label, or none.

    Attributes
    ----------
    pair : (L, L) array
        ``pair[j, i]`` is the sum over the held-out rows of ``w_n log P(y_i | x_n, y_j)``. Where
        nothing was fitted it is ``alone[i]``: no gain is known.
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
        """What each parent adds to the log-likelihood of each label, (L, L)."""
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
    n_threads: int = 1,
) -> EdgeWeights:
    """Fit P(y_i | x, y_j) for all pairs of labels and weigh them on held-out rows.

    Parameters
    ----------
    X : (n, D) array or sparse matrix
    Y : (n, L) array of 0/1
    C : float or (L,) array
        Inverse penalty of the features, for all labels or for each.
    label_penalty : float or (L,) array
        Penalty of the parent's column relative to the features'.
    held_out : (n,) or (F, n) bool array
        Which rows weigh the edges; the others fit them. The weights of several such splits add up.
    sample_weight : (n,) array, optional
        Weight of every row, in fitting and in weighing.
    candidates : (L, L) bool array, optional
        ``candidates[j, i]``: whether j may be the parent of i; by default any other label may.
    screen : int, "auto" or None
        Fit only so many parents of every label, those with the best score test: the squared slope
        of the loss along the parent's column over its curvature, where the label has no parent.
        "auto" fits all parents of up to 64 labels and 20 parents each of more.
    n_threads : int
        Threads; 0 uses all cores. The result does not depend on it.

    Returns
    -------
    EdgeWeights
        Accurate to a thousandth of each weight (or to 1e-7 of each held-out row, if that is more).
        A label that is constant in the rows that fit has the same smoothed constant conditional
        whatever its parent.

    Examples
    --------
    The second label repeats the first, which the feature says nothing about:

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
    for split in splits:
        split.fit_alone(n_threads)
    kept = _screen(screen, n_labels)
    if kept < n_labels - 1:
        allowed = _best(np.sum([split.score_tests() for split in splits], axis=0), allowed, kept)
    weighed = [split.weigh(allowed, n_threads) for split in splits]
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
    """Parents to be fitted for every label, at most."""
    if screen is None:
        return n_labels
    if screen == "auto":
        return n_labels if n_labels <= _MANY_LABELS else _AUTO_SCREEN
    return check_whole_number(screen, "screen", otherwise="None, 'auto'")


def _best(scores: Floats, allowed: Mask, n_kept: int) -> Mask:
    """Of every target's allowed parents those with the highest scores; of equals the first."""
    order = np.argsort(np.where(allowed, -scores, np.inf), axis=0, kind="stable")
    kept = np.zeros_like(allowed)
    np.put_along_axis(kept, order[:n_kept], True, axis=0)
    best: Mask = kept & allowed
    return best
