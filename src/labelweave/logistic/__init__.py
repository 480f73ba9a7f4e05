"""Many penalised logistic regressions that share X, solved at once (MATH section 1).

`problem` says what is to be solved, `solver` solves it with the native engine, `path` chooses
penalties by cross-validation, `conditionals` fits the linear conditionals of chains and trees.
"""

from labelweave.logistic.problem import LogisticProblems
from labelweave.logistic.solver import Solutions, solve, solve_problems

__all__ = ["LogisticProblems", "Solutions", "solve", "solve_problems"]
