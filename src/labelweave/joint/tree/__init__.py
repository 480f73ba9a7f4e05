"""Trees: P(y) = Π_i P(y_i | y_parent(i)), every label with at most one parent.

Formulas: docs/design/math.md, section 3. Marginals by sum-product, modes by max-sum, evidence by
clamped nodes: each pass takes time in proportion to the number of labels.

==============  ==================================================================================
`form`          `TreeJoint`: log-odds for both values of the parent, and its posterior
`parents`       parents as arrays: checks, and orders in which parents or children come first
`tree_mixture`  `TreeMixture`: Σ_k λ_k P_k(y) of trees, searched by compiled kernels
==============  ==================================================================================
"""

from labelweave.joint.tree.form import TreeJoint
from labelweave.joint.tree.tree_mixture import TreeMixture

__all__ = ["TreeJoint", "TreeMixture"]
