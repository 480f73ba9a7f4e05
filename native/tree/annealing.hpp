// Simulated annealing on the joint distribution of a mixture of forests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "threads/interrupt.hpp"
#include "tree/mixture.hpp"

namespace labelweave::tree {

// Simulated annealing by single flips: at step s a label that is not known is proposed and its flip is taken with
// probability min(1, exp(gain / temperatures[s])). labels holds the start and becomes the best vector visited.
// Random numbers are keyed by (seed, rows[i], step, 0 for the label and 1 for the acceptance).
struct AnnealingRun {
    const double* temperatures;
    std::size_t n_steps;
    const std::int8_t* known;  // n_rows x n_labels, -1 where a label may flip
    const std::int64_t* rows;
    std::uint64_t seed;
};
void anneal(const Mixture& mixture, const AnnealingRun& run, std::int8_t* labels, int n_threads,
            threads::Interrupt& interrupt);

}  // namespace labelweave::tree
