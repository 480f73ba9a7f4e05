"""Fields: P(y) ∝ exp(s·y + ½ yᵀVy), labels coupled in pairs without a direction.

Formulas: docs/design/math.md, section 5 (the joint of a pairwise CRF). Fields whose coupled labels
form a forest become trees; fields with cycles are enumerated or estimated and searched.

=====================  ===========================================================================
`form`                 energies, normaliser, probabilities and draws
`evidence`             conditioning: evidence moves into the scores of the labels coupled to it
`search`               the mode: climbing, and branch and bound under an upper bound
`pairwise`             `FieldJoint`, the form as users make it
`forest`               the strongest forest of a field, and a forest as a tree of labels
`annealed_importance`  weighted draws that estimate the normaliser (Neal, 2001)
`relaxation`           the upper bound: couplings split into terms of single labels
`branch_and_bound`     search over partial vectors under that bound, and hill climbing
=====================  ===========================================================================
"""

from labelweave.joint.field.pairwise import FieldJoint

__all__ = ["FieldJoint"]
