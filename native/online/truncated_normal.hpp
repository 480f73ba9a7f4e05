// Moments of normal variables truncated from below, eight at a time.
#pragma once

#include "simd/lanes.hpp"

namespace labelweave::online {

// For d ~ N(mean, sd^2) given d > margin, with t = (mean - margin) / sd: the mean rises by sd V, V = phi(t) / Phi(t),
// and the variance becomes sd^2 (1 - W), W = V (V + t). Both W and kept = 1 - W are accurate, also where the other is
// almost one.
struct Truncation {
    Lanes v, w, kept;
};

// phi(x) / (1 - Phi(x)) - x for x >= 0. Times x + 4 it is smooth up to infinity, where it tends to one: a
// polynomial in q = (x - 4) / (x + 4) fitted at Chebyshev's points, relative error below 2e-10.
LABELWEAVE_INLINE Lanes hazard_excess(Lanes x) {
    const Lanes scale = 1.0 / (x + 4.0);
    const Lanes q = (x - 4.0) * scale, q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
    // Estrin's order: short chains keep the pipeline full.
    const Lanes a =
        (1.8048571559157687 - 1.1822045054339112 * q) + (0.40195670656931454 + 0.06751811648881796 * q) * q2;
    const Lanes b =
        (-0.13822462494285848 + 0.033701005131162615 * q) + (0.03165842461552768 - 0.020783471420662693 * q) * q2;
    const Lanes c =
        (-0.004500833156878164 + 0.007903470304227255 * q) + (-0.00033100530654073284 - 0.0023721171729619373 * q) * q2;
    const Lanes d =
        (0.0005085902092152476 + 0.0005353119828729633 * q) + (-0.0001846175363376532 - 6.693167965519081e-05 * q) * q2;
    return ((a + b * q4) + (c + (d + 2.9325362213738964e-05 * q4) * q4) * q8) * scale;
}

LABELWEAVE_INLINE Truncation truncate(const Lanes& t) {
    const Lanes x = abs(t);
    const Lanes excess = hazard_excess(x);
    const Lanes hazard = x + excess;
    // Far on the wrong side of the cut everything moves to it; on the right side V = phi / (1 - phi / hazard).
    const Lanes phi = exp_nonpositive(-0.5 * x * x) * 0.3989422804014327;
    const LaneMask wrong = t < 0.0;
    const Lanes v = select(wrong, hazard, phi * hazard / (hazard - phi));
    const Lanes w = v * select(wrong, excess, v + t);
    // 1 - W loses its digits far out: there it is x^-2 - 6 x^-4 + ..., and the excess is x^-1 - 2 x^-3 + ...
    const Lanes y = excess * excess;
    const Lanes kept = select(t < -300.0, y - 2.0 * y * y, 1.0 - w);
    return {v, w, kept};
}

}  // namespace labelweave::online
