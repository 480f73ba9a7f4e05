// Populations of weighted prefixes that stand for all label vectors of a chain (math.md, 2.4).
#pragma once

#include <cstddef>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// How many populations each row gets, independent of one another, and of how many prefixes at most.
struct PopulationSizes {
    std::size_t n_populations, size;
};

// What populations find; all arrays are by row and population first. Labels that are not in `order` are left alone.
struct Populations {
    double* marginals;     // by label: P(y_j = 1 | evidence on earlier labels); 0 or 1 for a known label
    double* log_evidence;  // log-probability of the known labels
    double* quantum;       // the largest weight given to a prefix that was drawn; 0 if none was: all is exact
    std::int8_t* labels;   // by prefix and label: the vectors left at the end; may be null
    double* log_weight;    // by prefix: their share of the evidence; -inf for no prefix; may be null
};

// Walk the chain with at most `size` prefixes. Each is extended by both values of a label; as soon as there are too
// many, those heavier than a threshold are kept, and the others drawn in proportion to their weights so that the
// expected weight of each is its own (Fearnhead and Clifford, 2003). From then on a continuation that is lighter than
// what was drawn before is drawn before it takes a place. Random numbers are keyed by (seed, rows[i], draw, label),
// draws 2 r and 2 r + 1 for population r. known is n_rows x n_labels, -1 for unknown.
void populations(const Chain& chain, const std::int8_t* known, const std::int64_t* rows, std::uint64_t seed,
                 const PopulationSizes& sizes, const Populations& out, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
