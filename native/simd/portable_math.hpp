// Logarithm and exponential of one number with the same bits on every CPU; those of the C library have other last bits
// where it finds fused operations.
#pragma once

#include "simd/lane_math.hpp"

namespace labelweave::simd {

LABELWEAVE_INLINE double first_lane(const Lanes& lanes) {
    double values[kLanes];
    store(values, lanes);
    return values[0];
}

LABELWEAVE_INLINE double portable_log(double positive) { return first_lane(log_positive(broadcast(positive))); }

LABELWEAVE_INLINE double portable_exp(double nonpositive) {
    return first_lane(exp_nonpositive(broadcast(nonpositive)));
}

}  // namespace labelweave::simd
