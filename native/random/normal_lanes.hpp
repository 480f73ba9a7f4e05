// Standard normal numbers that belong to a key, eight at a time.
#pragma once

#include "random/uniform_lanes.hpp"

namespace labelweave::random {

// sin(x) for |x| <= pi/2; Taylor's series ends below 3e-16.
LABELWEAVE_INLINE Lanes sine_quarter(const Lanes& x) {
    const Lanes x2 = x * x;
    Lanes p = broadcast(-1.0 / 121645100408832000.0);
    p = p * x2 + 1.0 / 355687428096000.0;
    p = p * x2 - 1.0 / 1307674368000.0;
    p = p * x2 + 1.0 / 6227020800.0;
    p = p * x2 - 1.0 / 39916800.0;
    p = p * x2 + 1.0 / 362880.0;
    p = p * x2 - 1.0 / 5040.0;
    p = p * x2 + 1.0 / 120.0;
    p = p * x2 - 1.0 / 6.0;
    return x + x * x2 * p;
}

// Box and Muller's sqrt(-2 log u) cos(2 pi v), u and v being the random words of (seed, row, draw, label) for labels
// first, ..., first + 7.
LABELWEAVE_INLINE Lanes normal_lanes(std::uint64_t seed, std::uint64_t row, std::uint32_t draw, std::uint32_t first) {
    constexpr std::uint64_t lane[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7};
    LaneBits c0 = LaneBits::load(lane) + first, c1 = draw, c2 = row & 0xFFFFFFFFu, c3 = row >> 32;
    philox_lanes(seed, c0, c1, c2, c3);
    const Lanes radius = square_root(-2.0 * log_positive(unit_interval(c0, c1)));
    return radius * sine_quarter(6.283185307179586 * (0.25 - abs(unit_interval(c2, c3) - 0.5)));
}

}  // namespace labelweave::random
