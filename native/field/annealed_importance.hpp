// Annealed importance sampling (Neal, 2001) of fields with pairwise couplings.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.hpp"

namespace labelweave::field {

// Energy of y: scores·y + ½ yᵀ(inside + outside)y over labels whose entry in `known` is negative.
// Both couplings are symmetric with zero diagonal.
struct Field {
    const double* scores;      // n_rows x n_labels
    const double* inside;      // n_labels x n_labels: couplings that the draws already follow
    const double* outside;     // n_labels x n_labels: couplings still to be turned on
    const std::int8_t* known;  // n_rows x n_labels
    std::size_t n_rows, n_labels;
};

// Turn the outside couplings on in n_steps equal steps. Each step adds to the log-weight of a draw what
// it adds to its energy, then draws every label anew given the others, with the numbers of
// (seeds[step], rows[i], draw, label).
void anneal(const Field& field, const std::int64_t* rows, const std::uint64_t* seeds, std::size_t n_steps,
            std::size_t n_draws, std::int8_t* labels, double* log_weight, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::field
