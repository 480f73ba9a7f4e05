// Keyed uniform numbers, eight at a time.
#pragma once

#include "simd/lane_math.hpp"

namespace labelweave::random {

// The products of words below 2^32.
LABELWEAVE_INLINE LaneBits multiply_words(const LaneBits& a, const LaneBits& b) {
    return LaneBits::made([&](int p) { return multiply_low_halves(a.part[p], b.part[p]); });
}

// philox() of philox.hpp on eight counters at once.
LABELWEAVE_INLINE void philox_lanes(std::uint64_t seed, LaneBits& c0, LaneBits& c1, LaneBits& c2, LaneBits& c3) {
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const LaneBits p0 = multiply_words(c0, 0xD2511F53u), p1 = multiply_words(c2, 0xCD9E8D57u);
        c0 = (p1 >> 32) ^ c1 ^ k0;
        c1 = p1 & 0xFFFFFFFFu;
        c2 = (p0 >> 32) ^ c3 ^ k1;
        c3 = p0 & 0xFFFFFFFFu;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

// A number in (0, 1) from two random words.
LABELWEAVE_INLINE Lanes unit_interval(LaneBits high, LaneBits low) {
    return (small_to_double((high << 32 | low) >> 12) + 0.5) * 0x1p-52;
}

// uniform(seed, row, draw, label) of philox.hpp for eight rows, given by the halves of their ids.
LABELWEAVE_INLINE Lanes uniform_lanes(std::uint64_t seed, LaneBits row_low, LaneBits row_high, std::uint32_t draw,
                                      std::uint32_t label) {
    LaneBits c0 = label, c1 = draw, c2 = row_low, c3 = row_high;
    philox_lanes(seed, c0, c1, c2, c3);
    return unit_interval(c0, c1);
}

}  // namespace labelweave::random
