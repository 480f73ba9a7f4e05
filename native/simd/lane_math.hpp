// Mathematics on eight lanes that samplers need: logarithms, log(1 + e^z), keyed uniform numbers.
#pragma once

#include "simd/lanes.hpp"

namespace labelweave {

// A whole number below 2^52 in every lane, as a double: it becomes the mantissa of 2^52 + number.
LABELWEAVE_INLINE Lanes small_to_double(LaneBits number) {
    return from_bits(number | 0x4330000000000000u) - 0x1p52;
}

// Split positive normal numbers: x becomes its mantissa in [1, 2), the power of two is returned.
LABELWEAVE_INLINE Lanes take_exponent(Lanes& x) {
    const LaneBits bits = bits_of(x);
    x = from_bits((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    return small_to_double(bits >> 52) - 1023.0;
}

// log(a / b) for positive normal numbers, as 2 artanh((m - n) / (m + n)) of their mantissas m and n, the one
// halved or doubled so that m / n is in [0.7, 1.4]; the series in s^2 <= 1/32 ends below 1e-17.
LABELWEAVE_INLINE Lanes log_ratio(Lanes a, Lanes b) {
    const Lanes exponent = take_exponent(a) - take_exponent(b);
    const LaneMask large = a > 1.4 * b, small = a < 0.7 * b;
    const Lanes m = select(large, 0.5 * a, select(small, 2.0 * a, a));
    const Lanes e = select(large, exponent + 1.0, select(small, exponent - 1.0, exponent));
    const Lanes s = (m - b) / (m + b), s2 = s * s;
    // Estrin's order, as in exp_nonpositive.
    const Lanes s4 = s2 * s2, s8 = s4 * s4;
    const Lanes low = (2.0 / 3 + s2 * (2.0 / 5)) + (2.0 / 7 + s2 * (2.0 / 9)) * s4;
    const Lanes middle = (2.0 / 11 + s2 * (2.0 / 13)) + (2.0 / 15 + s2 * (2.0 / 17)) * s4;
    const Lanes high = 2.0 / 19 + s2 * (2.0 / 21);
    return e * 0.6931471805599453 + (2.0 * s + s * s2 * (low + s8 * (middle + s8 * high)));
}

LABELWEAVE_INLINE Lanes log_positive(Lanes x) { return log_ratio(x, broadcast(1.0)); }

// log(1 + e^z) without overflow.
LABELWEAVE_INLINE Lanes softplus(Lanes z) {
    return select(z > 0.0, z, broadcast(0.0)) + log1p_unit(exp_nonpositive(-abs(z)));
}

// The products of words below 2^32.
LABELWEAVE_INLINE LaneBits multiply_words(const LaneBits& a, const LaneBits& b) {
    return LaneBits::made([&](int p) { return multiply_low_halves(a.part[p], b.part[p]); });
}

// philox() of numerics.hpp on eight counters at once.
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

// uniform(seed, row, draw, label) of numerics.hpp for eight rows, given by the halves of their ids.
LABELWEAVE_INLINE Lanes uniform_lanes(std::uint64_t seed, LaneBits row_low, LaneBits row_high, std::uint32_t draw,
                                      std::uint32_t label) {
    LaneBits c0 = label, c1 = draw, c2 = row_low, c3 = row_high;
    philox_lanes(seed, c0, c1, c2, c3);
    return unit_interval(c0, c1);
}

}  // namespace labelweave
