"""Many small quadratic programs over the box [0, 1]^L that share their matrix.

Decoding solves one per row, with the same matrix and a different linear term. Libraries solve one
program at a time; coordinate descent solves all rows in the same few hundred vector operations, and
the result of a row does not depend on the others.
"""

from __future__ import annotations

import numpy as np

from labelweave._common.arrays import Floats


def solve_boxes(
    Q: Floats,
    linear: Floats,
    start: Floats | None = None,
    *,
    tolerance: float = 1e-9,
    max_sweeps: int = 1000,
) -> Floats:
    """Minimise yᵀQy − 2 cᵀy over [0, 1]^L for every row c of ``linear``, (n, L).

    Parameters
    ----------
    Q : (L, L) array
        Symmetric and positive semidefinite.
    linear : (n, L) array
    start : (n, L) array, optional
        Initial point; by default the centre of the box.
    tolerance : float
        A row has converged when a sweep moves none of its coordinates by more than this.
    max_sweeps : int
        Maximum number of sweeps.
    """
    solution = np.full(linear.shape, 0.5) if start is None else start.copy()
    rows = np.arange(len(linear))
    y = solution.copy()
    slope = -linear  # half the gradient
    for j in range(len(Q)):
        slope += y[:, j, None] * Q[j]
    for _ in range(max_sweeps):
        moved = np.zeros(len(rows))
        for j, curvature in enumerate(np.diag(Q)):
            if curvature > 0:
                best = np.clip(y[:, j] - slope[:, j] / curvature, 0.0, 1.0)
            else:  # a zero on the diagonal is a row of zeros: the program is linear in y_j
                best = np.where(slope[:, j] > 0, 0.0, np.where(slope[:, j] < 0, 1.0, y[:, j]))
            change = best - y[:, j]
            y[:, j] = best
            slope += change[:, None] * Q[j]
            np.maximum(moved, np.abs(change), out=moved)
        done = moved <= tolerance
        solution[rows[done]] = y[done]
        rows, y, slope = rows[~done], y[~done], slope[~done]
        if not len(rows):
            return solution
    solution[rows] = y
    return solution
