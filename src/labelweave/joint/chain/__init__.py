"""Chains: P(y) = Π_j P(y_j | earlier labels), along an order of the labels.

Formulas: docs/design/math.md, section 2. With linear conditionals the log-odds of label j are
z_j = s_j + Σ_k V_jk y_k over the earlier labels k, and log P(y) = Σ_j [y_j z_j − softplus(z_j)].

========================  ========================================================================
`form`                    the chain rule: what a kind of conditionals has to provide
`evidence`                conditioning: the ancestors of the evidence are enumerated or weighted
`population`              weighted prefixes that stand for all label vectors
`estimates`               marginals and other quantities of long chains, from populations
`search`                  the mode: greedy, best-first, beam, and how `mode` combines them
`linear`                  `ChainJoint`: linear conditionals, evaluated by compiled kernels
`general`                 `GeneralChain`: conditionals that only a Python function can evaluate
`steps`, `prefix_search`  walks, beam and best-first search over prefixes for the latter
========================  ========================================================================
"""

from labelweave.joint.chain.general import GeneralChain
from labelweave.joint.chain.linear import ChainJoint

__all__ = ["ChainJoint", "GeneralChain"]
