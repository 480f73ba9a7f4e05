"""Many penalised logistic regressions that share X, solved at once (math.md, section 1).

`problem` states the problems, `solver` solves them with the native engine (`blocks`),
`penalty_selection` chooses penalties by cross-validation (`cross_validation`, `loss_curve`,
`problem_sample`), `conditionals` fits the linear conditionals of chains and trees, `stacking` those
given estimates of the labels, `class_weights` weights rare labels, and `edges` (`edge_splits`,
`edge_blocks`) weighs all pairs of labels as edges of a tree. Inside `spread_over` (`spreading`),
blocks of fits go to the workers of an engine.
"""

from labelweave.logistic.conditionals import (
    LinearConditionals,
    fit_conditionals,
    fit_structures,
    structure_losses,
    structure_penalties,
)
from labelweave.logistic.edges import EDGE_TOLERANCE, EdgeWeights, edge_weights
from labelweave.logistic.penalty_selection import PenaltyChoice, choose_penalties
from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve, solve_problems
from labelweave.logistic.spreading import spread_over
from labelweave.logistic.stacking import fit_cross_fitted, fit_on_estimates

__all__ = [
    "EDGE_TOLERANCE",
    "EdgeWeights",
    "LinearConditionals",
    "LogisticProblems",
    "PenaltyChoice",
    "Solutions",
    "choose_penalties",
    "edge_weights",
    "fit_conditionals",
    "fit_cross_fitted",
    "fit_on_estimates",
    "fit_structures",
    "solve",
    "solve_problems",
    "spread_over",
    "structure_losses",
    "structure_penalties",
]
