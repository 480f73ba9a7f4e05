// Expected F-measures where labels are independent given the row (docs/design/math.md, 6).
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.hpp"

namespace labelweave::decision {

// scores: log-odds, rows x L, infinite where a label is certain. Writes the labels of largest expected F-measure, rows
// x L. Among vectors that are equally good up to rounding, the smallest wins, then the one with the first labels.
void best_independent_f_measure(const double* scores, std::size_t n_rows, std::size_t n_labels, double beta,
                                std::int8_t* labels, int n_threads, threads::Interrupt& interrupt);

// The expected F-measure of the given labels, rows x L, in each row.
void expected_independent_f_measure(const double* scores, const std::int8_t* labels, std::size_t n_rows,
                                    std::size_t n_labels, double beta, double* expected, int n_threads,
                                    threads::Interrupt& interrupt);

}  // namespace labelweave::decision
