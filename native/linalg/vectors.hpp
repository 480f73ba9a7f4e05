// Products of vectors in double precision.
#pragma once

#include <cstddef>

namespace labelweave::linalg {

// y += a x
void add_scaled(std::size_t n, double a, const double* x, double* y);
double dot(std::size_t n, const double* a, const double* b);
double weighted_dot(std::size_t n, const double* weight, const double* a, const double* b);
inline double weighted_square(std::size_t n, const double* weight, const double* a) {
    return weighted_dot(n, weight, a, a);
}

}  // namespace labelweave::linalg
