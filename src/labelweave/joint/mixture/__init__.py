"""Mixtures: P(y) = Σ_k λ_k P_k(y) of components of any form.

Formulas: docs/design/math.md, section 3. Evidence e turns the weights into responsibilities,
λ_k P_k(e) / Σ_l λ_l P_l(e), and every component into its own posterior.

==============  ==================================================================================
`form`          weights, probabilities, quantities and draws
`evidence`      conditioning: responsibilities, and the components' posteriors
`search`        `MixtureJoint`: greedy, merged lists, and how `mode` and `top` combine them
`list_merging`  the threshold algorithm over the components' lists of vectors
`listed_part`   what components that list all their vectors make exact
==============  ==================================================================================
"""

from labelweave.joint.mixture.search import MixtureJoint

__all__ = ["MixtureJoint"]
