"""Newton's method for the convex objectives of a field.

The logistic engine solves regressions that do not know of each other. A field's conditionals share
their couplings, and its likelihood is no sum of regressions at all, so neither can be handed to it;
it gives the start, from where a few Newton steps remain. Each is found by conjugate gradients.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave._common.arrays import Floats
from labelweave.baselines._field_objectives import FieldObjective
from labelweave.baselines._field_preconditioner import BlockInverse

# Half the decrement g·H⁻¹g is about how far the value is above its minimum; at this share of the
# value further steps move no probability in its first eight digits.
TOLERANCE = 1e-18
MAX_STEPS = 60
MAX_PRODUCTS = 500
# Far from the minimum a step's squared residual need only shrink by this factor; near it, a step
# leaves about `_QUADRATIC` times the squared share of the value that it gains, and more accuracy
# than that would not arrive. The logistic engine goes by the same rule.
_FORCING = 0.09
_QUADRATIC = 10.0
# After a step that gains a smaller share of the value, the curvature is much the same.
_STALE = 0.1


def minimise(objective: FieldObjective, start: Floats) -> Floats:
    """Return the parameters at which the objective is smallest."""
    # The products are small, and on several threads their last bits would depend on the number.
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
        "the field's likelihood is not at its maximum after "
        f"{MAX_STEPS} Newton steps: scale the features (for example with sklearn's StandardScaler) "
        "or lower C",
        ConvergenceWarning,
        stacklevel=3,
    )
    return parameters


def _newton_direction(
    objective: FieldObjective, precondition: BlockInverse, value: float, gradient: Floats
) -> Floats:
    """Solve Newton's system by preconditioned conjugate gradients, as well as it is worth."""
    direction, residual = np.zeros_like(gradient), -gradient
    solved = precondition(residual)
    along, rho = solved, float(residual @ solved)
    scale = max(value, 1.0)
    arriving = _QUADRATIC * rho / scale
    needed = 0.5 * TOLERANCE * scale / rho if rho > 0 else 1.0
    enough = min(_FORCING, max(arriving, needed)) * rho
    # An inexact direction is a direction of descent, too: running out of products is no failure.
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
    """Go as far along the direction as the value falls; length zero if it falls no more."""
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
