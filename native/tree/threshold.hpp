// The most probable label vectors of forests and of mixtures of forests, with a bound on all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads/interrupt.hpp"
#include "tree/tree.hpp"

namespace labelweave {

// What a search for n_best vectors a row fills. A row with fewer possible vectors ends in labels -1 and
// log-probabilities -inf.
struct RankedVectors {
    std::size_t n_best;
    std::int8_t* labels;   // n_rows x n_best x n_labels
    double* log_prob;      // n_rows x n_best, decreasing
};

// The n_best most probable vectors of a forest.
void tree_top(const Tree& tree, const RankedVectors& out, int n_threads, Interrupt& interrupt);

// Forests over the same rows and labels, weighted: log_weights is n_rows x K.
struct TreeMixture {
    std::vector<Tree> trees;
    const double* log_weights;

    std::size_t n_rows() const { return trees[0].n_rows; }
    std::size_t n_labels() const { return trees[0].n_labels; }
};

// The n_best most probable vectors of a mixture: the forests' lists are walked, always the one that contributes
// most to the bound sum_k weight_k P_k(current vector of list k) on all vectors not seen, until the worst of the
// best vectors seen reaches the bound or every list its depth. upper_bound (n_rows) bounds the vectors left out;
// listed (n_rows) counts the vectors taken from lists.
void tree_threshold(const TreeMixture& mixture, std::size_t depth, const RankedVectors& out, double* upper_bound,
                    std::int64_t* listed, int n_threads, Interrupt& interrupt);

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
void tree_annealing(const TreeMixture& mixture, const AnnealingRun& run, std::int8_t* labels, int n_threads,
                    Interrupt& interrupt);

}  // namespace labelweave
