// The label vectors of largest expected F-measure (docs/design/math.md, 6).
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.hpp"

namespace labelweave::decision {

// A larger vector must be better by more than rounding errors.
constexpr double kBetter = 1.0 + 0x1p-44;

// by_label: P(y_j = 1, |y| = s), rows x L x (L + 1); cardinality: P(|y| = s), rows x (L + 1). Writes the best labels,
// rows x L. Among vectors that are equally good up to rounding, the smallest wins, then the one with the first labels.
void best_f_measure(const double* by_label, const double* cardinality, std::size_t n_rows, std::size_t n_labels,
                    double beta, std::int8_t* labels, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::decision
