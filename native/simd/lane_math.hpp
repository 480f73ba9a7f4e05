// Logarithms, log(1 + e^z) and probabilities of log-odds on eight lanes.
#pragma once

#include "simd/lanes.hpp"

namespace labelweave::simd {

// A whole number below 2^52 in every lane, as a double: it becomes the mantissa of 2^52 + number.
LABELWEAVE_INLINE Lanes small_to_double(LaneBits number) { return from_bits(number | 0x4330000000000000u) - 0x1p52; }

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

// e^-size; zero where exp_nonpositive would stop short of it, so that infinite log-odds are certain.
LABELWEAVE_INLINE Lanes tail_odds(Lanes size) { return select(size > 708.0, Lanes{}, exp_nonpositive(-size)); }

// P(y = 0) and P(y = 1).
struct Bernoulli {
    Lanes zero, one;
};

// The probabilities for log-odds z; the smaller one keeps all its digits.
LABELWEAVE_INLINE Bernoulli bernoulli(Lanes z) {
    const Lanes odds = tail_odds(abs(z));
    const Lanes likely = 1.0 / (1.0 + odds), unlikely = odds * likely;
    return {select(z > 0.0, unlikely, likely), select(z > 0.0, likely, unlikely)};
}
LABELWEAVE_INLINE Lanes positive_conditional(Lanes z) { return bernoulli(z).one; }

}  // namespace labelweave::simd
