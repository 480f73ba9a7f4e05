// Linear scores X W' + b, computed row by row in a fixed order of operations: a row's scores have the same bits in any
// batch and with any number of threads, which BLAS does not guarantee.
#pragma once

#include <cstddef>

#include "design/design.hpp"

namespace labelweave::design {

// scores (n_rows x n_outputs) from weights (n_outputs x n_features) and intercepts (n_outputs).
void linear_scores(const Design& design, const double* weights, const double* intercept, std::size_t n_outputs,
                   double* scores, int n_threads);

}  // namespace labelweave::design
