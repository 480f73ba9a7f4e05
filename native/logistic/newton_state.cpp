#include "logistic/newton_state.hpp"

namespace labelweave::logistic {
LABELWEAVE_KERNEL void move_coefficients(NewtonState& s, Norms& norms) {
    for_columns(s, [&](std::size_t row, Lanes, Lanes) {
        const Lanes w = s.coef[row] + select(s.evaluating, s.direction[row], Lanes{});
        s.coef[row] = w;
        if (row < s.n_features) norms.features += w * w;
        if (row > s.n_features) norms.extras += w * w;
    });
}

LABELWEAVE_KERNEL void update_residual(NewtonState& s) {
    for_columns(s, [&](std::size_t row, Lanes penalty, Lanes mask) {
        const Lanes p = s.direction[row], g = s.gradient[row];
        const Lanes moved = s.residual[row] - s.alpha * mask * (g + penalty * p);
        const Lanes fresh = -mask * (g + penalty * s.coef[row]);
        s.residual[row] = select(s.restarting, fresh, select(s.advancing, moved, s.residual[row]));
        s.step[row] = select(s.restarting, Lanes{}, s.step[row] + select(s.advancing, s.alpha * p, Lanes{}));
    });
}

LABELWEAVE_KERNEL void precondition_diagonal(const NewtonState& s, const double* squares, std::size_t begin,
                                             const Lanes* r, Lanes* y, Lanes& rho) {
    Lanes total = rho;
    for_columns(s, [&](std::size_t row, Lanes penalty, Lanes) {
        if (row < begin) return;
        // An empty column without penalty has no curvature and no gradient.
        const Lanes curvature = s.scale * squares[row] + penalty;
        y[row] = select(curvature > 0.0, r[row] / curvature, Lanes{});
        total += r[row] * y[row];
    });
    rho = total;
}

LABELWEAVE_KERNEL void rescale(const NewtonState& s, std::size_t end, const Lanes* r, Lanes* y, Lanes& rho) {
    Lanes total = rho;
    for (std::size_t row = 0; row < end; ++row) {
        y[row] /= s.scale;
        total += r[row] * y[row];
    }
    rho = total;
}

LABELWEAVE_KERNEL void update_direction(NewtonState& s, const Lanes* y, Lanes& energy) {
    Lanes total{};
    const LaneMask moving = s.advancing | s.restarting | s.retrying;
    for_columns(s, [&](std::size_t row, Lanes penalty, Lanes) {
        const Lanes p = s.direction[row];
        Lanes next = y[row] + select(s.restarting, Lanes{}, s.beta * p);
        next = select(s.evaluating, s.first_trial * s.step[row], next);
        next = select(s.retrying, s.backtrack * p, next);
        next = select(moving, next, Lanes{});
        s.direction[row] = next;
        total += penalty * next * next;
    });
    energy = total;
}

}  // namespace labelweave::logistic
