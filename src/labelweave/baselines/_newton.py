"""Newton's method for the convex objectives of a field.

The logistic engine solves regressions that do not know of each other. A field's conditionals share
their couplings, and its likelihood is no sum of regressions at all, so neither can be handed to it;
it gives the start, from where a few Newton steps remain. Each is found by conjugate gradients.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from labelweave.baselines._field_objectives import FieldObjective, Floats

# Half the decrement g·H⁻¹g is about how far the value is above its minimum; at this share of the
# value further steps move no probability in its first eight digits.
TOLERANCE = 1e-18
MAX_STEPS = 60


def minimise(objective: FieldObjective, start: Floats) -> Floats:
    """Return the parameters at which the objective is smallest."""
    # The products are small, and on several threads their last bits would depend on the number.
    with threadpool_limits(limits=1, user_api="blas"):
        return _minimise(objective, start)


def _minimise(objective: FieldObjective, start: Floats) -> Floats:
    parameters = start
    value, gradient = objective.value_and_gradient(parameters)
    accuracy = 0.1
    for _ in range(MAX_STEPS):
        if not gradient.any():
            return parameters
        direction = _newton_direction(objective, gradient, accuracy)
        decrement = -float(gradient @ direction)
        parameters, value, gradient, length = _step(
            objective, parameters, value, direction, decrement
        )
        if decrement <= TOLERANCE * max(value, 1.0) or length == 0:
            return parameters
        # The nearer the minimum, the more of a step's accuracy arrives.
        accuracy = min(0.1, max(1e-10, decrement / max(value, 1.0)))
    warnings.warn(
        "the field's likelihood is not at its maximum after "
        f"{MAX_STEPS} Newton steps: scale the features (for example with sklearn's StandardScaler) "
        "or lower C",
        ConvergenceWarning,
        stacklevel=3,
    )
    return parameters


def _newton_direction(objective: FieldObjective, gradient: Floats, accuracy: float) -> Floats:
    size = len(gradient)
    inverse = 1 / np.maximum(objective.diagonal(), np.finfo(float).tiny)
    hessian = LinearOperator((size, size), matvec=objective.hessian_product, dtype=np.float64)
    scaled = LinearOperator((size, size), matvec=lambda r: inverse * r, dtype=np.float64)
    # An inexact direction is a direction of descent, too: running out of iterations is no failure.
    direction, _ = cg(hessian, -gradient, rtol=accuracy, maxiter=500, M=scaled)
    return np.asarray(direction)


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
