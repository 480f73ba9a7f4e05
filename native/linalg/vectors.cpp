#include "linalg/vectors.hpp"

#include "simd/lanes.hpp"

namespace labelweave::linalg {

LABELWEAVE_KERNEL void add_scaled(std::size_t n, double a, const double* x, double* y) {
    for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// Sums go over eight parts side by side; vectors shorter than a multiple of eight end with a few terms more.
LABELWEAVE_KERNEL double dot(std::size_t n, const double* a, const double* b) {
    Lanes even{}, odd{};
    std::size_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
        even += load(a + i) * load(b + i);
        odd += load(a + i + kLanes) * load(b + i + kLanes);
    }
    double rest = 0;
    for (; i < n; ++i) rest += a[i] * b[i];
    return sum(even + odd) + rest;
}

LABELWEAVE_KERNEL double weighted_dot(std::size_t n, const double* weight, const double* a, const double* b) {
    Lanes total{};
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) total += load(weight + i) * load(a + i) * load(b + i);
    double rest = 0;
    for (; i < n; ++i) rest += weight[i] * a[i] * b[i];
    return sum(total) + rest;
}

}  // namespace labelweave::linalg
