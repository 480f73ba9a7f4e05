// The most probable label vector of a chain with linear conditionals, with a certificate (math.md, 2.2):
// best-first search over prefixes with the admissible interval bound.
//
// The search dives: it takes the open prefix with the best bound, follows its likelier continuation to the
// end and leaves the other branches open if their bound can still win. One pass to the end therefore costs about
// as much as greedy inference, good vectors are found early, and the best open bound is known at any time.
#pragma once

#include <chrono>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

struct SearchLimits {
    std::uint64_t budget;                            // prefixes to expand for each row
    std::size_t max_open;                            // prefixes that may wait; beyond, the search is depth-first
    double epsilon;                                  // stop at a vector within epsilon (nats) of the best
    std::chrono::steady_clock::time_point deadline;  // when to stop all rows
};

struct SearchResults {
    std::int8_t* labels;  // n_rows x n_labels: evidence on entry (-1: unknown), the best vector found on return
    double* log_prob;     // of labels, as log_prob computes it; never below the greedy vector's
    double* upper_bound;  // no vector that agrees with the evidence exceeds it; = log_prob if proven optimal
    std::int64_t* nodes;  // prefixes expanded
};

// floor[i]: vectors below it need not be found. log_mass[i]: log-probability of the evidence, or an upper bound of it.
// Every prefix that waits takes about 40 bytes and a bit for each label.
void best_first(const Chain& chain, const SearchLimits& limits, const double* floor, const double* log_mass,
                const SearchResults& out, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
