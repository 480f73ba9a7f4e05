// Best-first search for the most probable vector of flat chains, where the interval bound of best_first.hpp is loose:
// the bound of relaxation.hpp, fitted once to each row, becomes tighter with every decided label.
#pragma once

#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

struct RelaxedLimits {
    std::size_t steps;   // that lower the bound of a row; long chains get fewer
    std::size_t budget;  // partial vectors to extend in each row
};

struct RelaxedResults {
    std::int8_t* labels;  // n_rows x n_labels: a vector that agrees with the evidence on entry, the best one on return
    double* log_prob;     // of labels, as log_prob computes it
    double* upper_bound;  // no vector that agrees with the evidence exceeds it; infinite if nothing was tried
};

// known is n_rows x n_labels, -1 for unknown. A row with n unknown labels takes about steps * n^3 / 2 multiplications,
// and 50 bytes and n bits for each of `budget` partial vectors, of which at most 2^22 may wait. Rows with so many
// labels that there would be too few steps are left out.
void relaxed_search(const Chain& chain, const std::int8_t* known, const RelaxedLimits& limits,
                    const RelaxedResults& out, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
