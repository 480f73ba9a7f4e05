// Cholesky factors in single precision: accurate enough to precondition conjugate gradients.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/lanes.hpp"

namespace labelweave::linalg {

// A positive definite matrix S^-1 L L' S^-1, scaled to a unit diagonal so that single precision can hold
// features of any size. L is packed: row i starts at i (i + 1) / 2.
struct CholeskyFactor {
    std::vector<float> lower;
    std::vector<double> scale;
};

constexpr std::size_t packed(std::size_t i, std::size_t j) { return i * (i + 1) / 2 + j; }

// In-place Cholesky factor of a packed matrix of unit diagonal. Directions without curvature get a small
// pivot.
void factorise(float* matrix, std::size_t order);

// squares = r' matrix^-1 r for eight vectors r; work has room for order * kLanes.
void factored_squares(const CholeskyFactor& factor, std::size_t order, const Lanes* r, float* work, Lanes& squares);

// solution = matrix^-1 r for eight right-hand sides; work has room for order * kLanes.
void solve_factored(const CholeskyFactor& factor, std::size_t order, const Lanes* r, float* work, Lanes* solution);

}  // namespace labelweave::linalg
