// Single precision beside Lanes: eight or sixteen floats, and the way from one precision to the other.
#pragma once

#include <utility>

#include "simd/lanes.hpp"

namespace labelweave::simd {

using LaneFloats = Pack<float, kLanes>;
using WideFloats = Pack<float, 2 * kLanes>;  // one cache line

// x where it lies between the limits, else the nearer limit.
LABELWEAVE_INLINE WideFloats bounded(const WideFloats& x, const WideFloats& least, const WideFloats& most) {
    return WideFloats::made([&](int p) { return at_least(at_most(x.part[p], most.part[p]), least.part[p]); });
}

LABELWEAVE_INLINE WideFloats at_least(const WideFloats& x, const WideFloats& least) {
    return WideFloats::made([&](int p) { return at_least(x.part[p], least.part[p]); });
}

// The numbers of a register from the given one on, as many as make a part of Lanes.
template <class R, int... I>
LABELWEAVE_INLINE Register<float, Lanes::kWidth> slice(const R& x, int first, std::integer_sequence<int, I...>) {
#if defined(LABELWEAVE_HAS_SHUFFLE)
    constexpr int n = sizeof(R) / sizeof(float), w = Lanes::kWidth;
    if constexpr (n == w) return x;
    if constexpr (n == 2 * w || n == 4 * w) {
        if (first == 0) return __builtin_shufflevector(x, x, I...);
        if (first == w) return __builtin_shufflevector(x, x, (w + I)...);
    }
    if constexpr (n == 4 * w) {
        if (first == 2 * w) return __builtin_shufflevector(x, x, (2 * w + I)...);
        return __builtin_shufflevector(x, x, (3 * w + I)...);
    }
#endif
    Register<float, Lanes::kWidth> result;  // GCC 11: through memory
    std::memcpy(&result, reinterpret_cast<const float*>(&x) + first, sizeof result);
    return result;
}

// Numbers 8 `which`, ..., 8 `which` + 7 in double precision.
template <int N>
LABELWEAVE_INLINE Lanes widen(const Pack<float, N>& x, int which = 0) {
    return Lanes::made([&](int p) {
        constexpr int width = Pack<float, N>::kWidth;
        const int at = which * kLanes + p * Lanes::kWidth;
        return __builtin_convertvector(
            slice(x.part[at / width], at % width, std::make_integer_sequence<int, Lanes::kWidth>()), Lanes::Part);
    });
}

LABELWEAVE_INLINE void store_narrow(float* to, const Lanes& x) {
    typedef Register<float, Lanes::kWidth> Narrow;
    Lanes::each([&](int p) {
        const auto narrow = __builtin_convertvector(x.part[p], Narrow);
        std::memcpy(to + p * Lanes::kWidth, &narrow, sizeof narrow);
    });
}

}  // namespace labelweave::simd
