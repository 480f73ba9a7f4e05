// Stable logistic functions of one number.
#pragma once

#include <cmath>

#include "simd/registers.hpp"

namespace labelweave::simd {

// log(1 + e^z) without overflow.
LABELWEAVE_INLINE double log1pexp(double z) { return (z > 0 ? z : 0.0) + std::log1p(std::exp(-std::fabs(z))); }

// 1 / (1 + e^-z) without overflow.
LABELWEAVE_INLINE double sigmoid(double z) {
    const double e = std::exp(-std::fabs(z));
    return (z >= 0 ? 1.0 : e) / (1.0 + e);
}

// log P(y | log-odds z) = y z - log(1 + e^z).
LABELWEAVE_INLINE double bernoulli_log_prob(int y, double z) { return -log1pexp(y ? -z : z); }

}  // namespace labelweave::simd
