// The truncated moments of the online kernels for an array of means: what the tests hold against other implementations.
#pragma once

#include <cstddef>

namespace labelweave::online {

// For N(d, 1) given that it exceeds the margin, or with probability `flip` falls below minus the margin: mean - d, and
// the variance.
void truncation_moments(const double* d, const double* margin, std::size_t n, double flip, double* shift, double* kept);

}  // namespace labelweave::online
