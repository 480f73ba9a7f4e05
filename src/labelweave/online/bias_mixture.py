"""Labels that share an uncertain bias, as a mixture of independent ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, ndtr

from labelweave._common.arrays import Floats, Indices
from labelweave.joint import IndependentJoint, MixtureJoint
from labelweave.online.latent import Latent

# No less of a label's uncertainty is its own: given the bias, it still has finite log-odds.
_SMALLEST_VARIANCE = 1e-24
# Below this, probabilities are too small to be compared.
_SMALLEST_PROBABILITY = 1e-300


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
    marginals have a closed form, and the mixture has exactly those: where a few nodes miss one (a
    bias much less certain than the scores), its probabilities at all nodes are moved by the same
    share.

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
    own = np.sqrt(np.maximum(1.0 - loading**2, _SMALLEST_VARIANCE))
    at_nodes = [(z - loading * point) / own for point in points]
    # Work with the rarer value of each label, whose probability has all its digits.
    sign = np.where(z < 0, 1.0, -1.0)
    rare, found = ndtr(sign * z), np.zeros_like(z)
    for weight, t in zip(weights, at_nodes, strict=True):
        found += weight * ndtr(sign * t)
    components = [
        IndependentJoint(
            sign * _moved(sign * t, rare, found),
            label_names=label_names,
            row_ids=row_ids,
            n_threads=n_threads,
        )
        for t in at_nodes
    ]
    return MixtureJoint(weights, components, n_threads=n_threads)


def _moved(t: Floats, wanted: Floats, found: Floats) -> Floats:
    """Log-odds of Φ(t), moved by the share that takes the average from `found` to `wanted`."""
    wanted = np.maximum(wanted, _SMALLEST_PROBABILITY)
    found = np.maximum(found, _SMALLEST_PROBABILITY)
    log_yes, log_no = log_ndtr(t), log_ndtr(-t)
    with np.errstate(divide="ignore"):
        # Too much: a share of every probability goes. Too little: a share of what is left comes.
        less = np.log(np.minimum(1.0, wanted / found))
        gone = np.log(np.maximum(0.0, found - wanted) / found)
        more = np.log(np.maximum(0.0, wanted - found) / (1.0 - found))
        stays = np.log(np.minimum(1.0, (1.0 - wanted) / (1.0 - found)))
    down = less + log_yes - np.logaddexp(gone, less + log_no)
    up = np.logaddexp(log_yes, more + log_no) - (stays + log_no)
    return np.where(wanted < found, down, up)
