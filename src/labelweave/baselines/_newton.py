"""Newton's method with conjugate gradients for the convex objectives of a field.

The logistic engine solves independent regressions. The conditionals of a field have tied couplings,
and its likelihood is not a sum of regressions at all, so neither problem fits the engine; but it
provides a start from which a few Newton steps remain.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats
from labelweave.baselines._field_objectives import FieldObjective
from labelweave.baselines._field_preconditioner import BlockInverse

# Half the Newton decrement g·H⁻¹g estimates the distance to the minimum; below this share of the
# value, further steps change no probability in its first eight digits.
TOLERANCE = 1e-18
MAX_STEPS = 60
MAX_PRODUCTS = 500
# Forcing terms of inexact Newton, as in the logistic engine: far from the minimum the squared
# residual need only shrink by this factor; near it, quadratic convergence leaves about `_QUADRATIC`
# times the squared relative decrease, and a more accurate direction would be wasted.
_FORCING = 0.09
_QUADRATIC = 10.0
# After a step of smaller relative decrease, the preconditioner is still good.
_STALE = 0.1


def minimise(objective: FieldObjective, start: Floats) -> Floats:
    """Return the parameters at which the objective is smallest."""
    # The products are small, and with several threads their last bits would depend on the number.
    with threadpool_limits(limits=1, user_api="blas"):
        return _minimise(objective, start)


def _minimise(objective: FieldObjective, start: Floats) -> Floats:
    parameters = start
    value, gradient = objective.value_and_gradient(parameters)
    decrement = np.inf
    for _ in range(MAX_STEPS):
        if not gradient.any():
            return parameters
        if decrement > _STALE * max(value, 1.0):
            precondition = objective.preconditioner()
        direction = _newton_direction(objective, precondition, value, gradient)
        decrement = -float(gradient @ direction)
        parameters, value, gradient, length = _step(
            objective, parameters, value, direction, decrement
        )
        if decrement <= TOLERANCE * max(value, 1.0) or length == 0:
            return parameters
    warnings.warn(
        f"the likelihood of the field did not converge in {MAX_STEPS} Newton steps: scale the "
        "features (for example with sklearn's StandardScaler) or lower C",
        ConvergenceWarning,
        stacklevel=3,
    )
    return parameters


def _newton_direction(
    objective: FieldObjective, precondition: BlockInverse, value: float, gradient: Floats
) -> Floats:
    """Solve the Newton system by preconditioned conjugate gradients, to the forcing tolerance."""
    direction, residual = np.zeros_like(gradient), -gradient
    solved = precondition(residual)
    along, rho = solved, float(residual @ solved)
    scale = max(value, 1.0)
    arriving = _QUADRATIC * rho / scale
    needed = 0.5 * TOLERANCE * scale / rho if rho > 0 else 1.0
    enough = min(_FORCING, max(arriving, needed)) * rho
    # An inexact solution is a descent direction too: running out of products is not a failure.
    for _ in range(MAX_PRODUCTS):
        product = objective.hessian_product(along)
        curvature = float(along @ product)
        if not curvature > 0:
            break
        direction += rho / curvature * along
        residual -= rho / curvature * product
        solved = precondition(residual)
        before, rho = rho, float(residual @ solved)
        if not rho > enough:
            break
        along = solved + rho / before * along
    return direction


def _step(
    objective: FieldObjective, start: Floats, value: float, direction: Floats, decrement: float
) -> tuple[Floats, float, Floats, float]:
    """Backtrack along the direction until the value decreases; length zero if it never does."""
    rounding = 1e-13 * max(abs(value), 1.0)
    length = 1.0
    while length > 1e-10:
        parameters = start + length * direction
        new_value, gradient = objective.value_and_gradient(parameters)
        if new_value <= value - 1e-4 * length * decrement + rounding:
            return parameters, new_value, gradient, length
        length /= 2
    value, gradient = objective.value_and_gradient(start)
    return start, value, gradient, 0.0
