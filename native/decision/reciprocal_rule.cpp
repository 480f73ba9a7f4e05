#include "decision/reciprocal_rule.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave::decision {
namespace {

// The exponents of x = (1 - w^3)^6 below.
constexpr long double kInner = 3, kOuter = 6;

// The number of nodes that gives 4e-15, found by trial for each octave.
std::size_t n_nodes(std::size_t largest) {
    std::size_t octaves = 0;
    while ((std::size_t{1} << octaves) < largest) ++octaves;
    return std::max(8 * std::max<std::size_t>(5, octaves), 16 * std::max<std::size_t>(9, octaves) - 72);
}

struct Legendre {
    long double value, slope;
};

// The Legendre polynomial of degree n at y.
Legendre legendre(std::size_t n, long double y) {
    long double before = 1, value = y;
    for (std::size_t m = 2; m <= n; ++m) {
        const long double next = ((2 * m - 1) * y * value - (m - 1) * before) / m;
        before = value;
        value = next;
    }
    return {value, n * (before - y * value) / (1 - y * y)};
}

}  // namespace

// 1/a is the integral of x^(a-1) over [0, 1]. Substituting x = (1 - w^3)^6 moves the nodes towards x = 1, where high
// powers are large, and makes fractional powers smooth at x = 0. Gauss-Legendre quadrature then suffices.
ReciprocalRule::ReciprocalRule(std::size_t largest) : rates(n_nodes(largest)), weights(rates.size()) {
    const std::size_t n = rates.size();
    const long double pi = std::acos(-1.0L);
    for (std::size_t i = 0; i < n; ++i) {
        long double y = std::cos(pi * (i + 0.75L) / (n + 0.5L));
        for (int step = 0; step < 6; ++step) {
            const Legendre at = legendre(n, y);
            y -= at.value / at.slope;
        }
        const long double slope = legendre(n, y).slope, gauss = 1 / ((1 - y * y) * slope * slope);
        const long double w = (1 + y) / 2, base = 1 - std::pow(w, kInner);
        rates[i] = static_cast<double>(-kOuter * std::log(base));
        weights[i] = static_cast<double>(gauss * kOuter * kInner * std::pow(w, kInner - 1) / base);
    }
}

}  // namespace labelweave::decision
