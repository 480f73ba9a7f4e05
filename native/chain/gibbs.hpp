// Gibbs sampling of chains with linear conditionals (P2CG, Algorithm 2; math.md, 2.1).
//
// A sweep resamples the labels one after the other along the chain. The log-odds of label j given all
// others is  z_j + sum over k > j of [ y_k V_kj + log (1 + E_k) - log (1 + E_k F_kj) ]  with the odds
// E_k = e^(z_k) when y_j = 0 and F_kj = e^(V_kj): the loop over k multiplies and needs no exponential.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chain/chain.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::chain {

// The inputs and results of a run of the sampler. Labels are by label, not by chain position.
struct GibbsRun {
    const std::int8_t* known;  // n_rows x n_labels: labels that are never resampled; -1 for all others
    const std::int64_t* rows;  // row ids
    std::uint64_t seed;
    std::uint32_t first_draw;  // sweep s uses the numbers of (seed, row, first_draw + s, label)
    std::size_t n_sweeps, n_kept;
    std::int8_t* labels;   // n_rows x n_labels: the start; afterwards the last state
    std::int8_t* best;     // n_rows x n_labels: the most probable state visited
    double* best_gain;     // n_rows x n_sweeps: log P(best so far) - log P(start) after each sweep
    std::int8_t* samples;  // n_rows x n_kept x n_labels: the states after the last n_kept sweeps
};

// A state counts as more probable than another only if its log-probability is higher by more than this. So rounding
// does not decide between equals, and the first one visited stays.
constexpr double kGibbsTie = 1e-9;

// chain.order must name every label.
void gibbs(const Chain& chain, const GibbsRun& run, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::chain
