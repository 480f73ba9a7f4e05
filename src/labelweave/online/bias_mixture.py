"""Labels that share an uncertain bias, as a mixture of independent ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr

from labelweave._common.arrays import Floats, Indices
from labelweave.joint import IndependentJoint, MixtureJoint
from labelweave.online.latent import Latent

# No less of a label's variance is its own: between the nodes of the quadrature, labels that depend
# on the bias alone would be contradicted at every node, with log-probabilities of -10^30.
_LEAST_OWN = 0.05


def bias_mixture(
    latent: Latent,
    *,
    nodes: int,
    label_names: Sequence[str] | None = None,
    row_ids: Indices | None = None,
    n_threads: int = 1,
) -> MixtureJoint:
    """Return P(y) = ∫ Π_c P(y_c | ζ) N(ζ) dζ by Gauss–Hermite quadrature over the bias ζ.

    Given ζ the labels are independent: P(y_c = 1 | ζ) = Φ((z_c − ρ_c ζ) / √(1 − ρ_c²)). The
    marginals have a closed form, and the mixture has exactly those, however small they are: where a
    few nodes miss one, its probabilities at all nodes are moved by the same share. Labels whose
    variance is nearly all that of the bias, as in rows without features, count as a little less
    dependent than they are.

    Parameters
    ----------
    latent : Latent
        z and ρ of every label.
    nodes : int
        Number of components.
    label_names, row_ids, n_threads
        As in `JointDistribution`.

    Examples
    --------
    A bias as uncertain as the scores: one label makes the other twice as likely as not.

    >>> import numpy as np
    >>> latent = Latent(np.zeros((1, 2)), np.full((1, 2), np.sqrt(0.5)))
    >>> joint = bias_mixture(latent, nodes=16)
    >>> joint.marginals()
    array([[0.5, 0.5]])
    >>> joint.condition({0: 1}).marginals().round(4)
    array([[1.    , 0.6667]])
    """
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    z, loading = latent
    own = np.maximum(1.0 - loading**2, _LEAST_OWN)
    at_nodes = [(z - np.sqrt(1.0 - own) * point) / np.sqrt(own) for point in points]
    # Work with the rarer value of each label, whose probability has all its digits.
    sign = np.where(z < 0, 1.0, -1.0)
    found = np.full_like(z, -np.inf)
    for log_weight, t in zip(np.log(weights), at_nodes, strict=True):
        found = np.logaddexp(found, log_weight + log_ndtr(sign * t))
    components = [
        IndependentJoint(
            sign * _moved(sign * t, log_ndtr(sign * z), found),
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
        for t in at_nodes
    ]
    return MixtureJoint(weights, components, n_threads=n_threads)


def _moved(t: Floats, wanted: Floats, found: Floats) -> Floats:
    """Log-odds of Φ(t), moved by the share that takes the average from `found` to `wanted`.

    Both are logarithms: probabilities of scores far from the bias are too small for floats.
    """
    log_yes, log_no = log_ndtr(t), log_ndtr(-t)
    # Too much: a share of every probability goes. Too little: a share of what is left comes.
    less = np.minimum(wanted - found, 0.0)
    down = less + log_yes - np.logaddexp(_log_rest(less), less + log_no)
    more = wanted + _log_rest(np.minimum(found - wanted, 0.0)) - _log_rest(found)
    stays = _log_rest(wanted) - _log_rest(found)
    up = np.logaddexp(log_yes, more + log_no) - (np.minimum(stays, 0.0) + log_no)
    return np.where(wanted < found, down, up)


def _log_rest(log_p: Floats) -> Floats:
    """Return log(1 − p)."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(log_p))
