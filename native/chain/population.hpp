// Populations of weighted prefixes that represent all label vectors of a chain (math.md, 2.4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// The number of independent populations of each row, and the most prefixes of each population.
struct PopulationSizes {
    std::size_t n_populations, size;
};

// The results of populations; the first axes of all arrays are row and population. Labels not in `order` are unchanged.
struct Populations {
    double* marginals;     // by label: P(y_j = 1 | evidence on earlier labels); 0 or 1 for a known label
    double* log_evidence;  // log-probability of the known labels
    double* quantum;       // the largest weight given to a drawn prefix; 0 if none was drawn, so that all is exact
    std::int8_t* labels;   // by prefix and label: the final vectors; may be null
    double* log_weight;    // by prefix: their share of the evidence; -inf for no prefix; may be null
};

// Walk the chain with at most `size` prefixes. Each is extended by both values of a label. As soon as there are too
// many, prefixes heavier than a threshold are kept, and the others are drawn in proportion to their weights, so that
// every prefix keeps its expected weight (Fearnhead and Clifford, 2003). From then on, continuations lighter than the
// largest weight drawn so far are first drawn among themselves. Random numbers are keyed by (seed, rows[i], draw,
// label), draws 2 r and 2 r + 1 for population r. known is n_rows x n_labels, -1 for unknown.
void populations(const Chain& chain, const std::int8_t* known, const std::int64_t* rows, std::uint64_t seed,
                 const PopulationSizes& sizes, const Populations& out, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
