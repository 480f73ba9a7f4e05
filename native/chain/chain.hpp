// Chains with linear conditionals: log P(y) = sum_j log P(y_j | z_j), where the log-odds of label j is
// z_j = scores_j + sum of coupling_jk over the earlier labels k that are positive (math.md 2: y_j z_j - softplus(z_j)).
//
// All kernels walk the labels in chain order and keep the scores of the later labels, so that a positive label costs
// one vector addition and a negative one nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelweave::chain {

// A batch of chains over one coupling. `order` lists the labels to walk, each at most once; it may leave
// labels out as long as no label it names depends on them (an ancestral set): they are summed out.
struct Chain {
    const double* scores;       // n_rows x n_labels, by label
    const double* coupling;     // n_labels x n_labels: [j, k] = effect of label k on label j
    const std::int64_t* order;  // length labels, the earliest first
    std::size_t n_rows, n_labels, length;
};

// log P(labels) of each row; labels is n_rows x n_labels.
void log_prob(const Chain& chain, const std::int8_t* labels, double* log_prob, int n_threads);

// The sum over the labels of log P(y_j | parents), which is log P(labels) if the graph of the coupling is acyclic. It
// needs no order and is several times faster than the walk above, but rounds differently from the searches.
void conditional_log_prob(const double* scores, const double* coupling, const std::int8_t* labels, std::size_t n_rows,
                          std::size_t n_labels, double* log_prob, int n_threads);

// Replace every -1 in labels by the likelier value given the labels before it. log_prob is the log-probability of the
// whole vector; upper_bound is at least that of every vector that agrees with the given labels.
void greedy(const Chain& chain, std::int8_t* labels, double* log_prob, double* upper_bound, int n_threads);

// The log-probability of every vector that agrees with known (n_rows x n_labels, -1 for unknown).
// slot[j] is the bit of label j in the column index, or -1 for a label that is known in all rows;
// out is n_rows x n_columns and -inf where a column contradicts known.
void table(const Chain& chain, const std::int8_t* known, const std::int64_t* slot, std::size_t n_columns, double* out,
           int n_threads);

// Replace every -1 in labels (n_rows x n_draws x n_labels) by an ancestral draw, keyed by
// (seed, rows[i], draw, label). log_weight (n_rows x n_draws) is the log-probability of the labels
// that were given, each conditioned on the labels before it: the weight of likelihood weighting.
void sample(const Chain& chain, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws, std::int8_t* labels,
            double* log_weight, int n_threads);

}  // namespace labelweave::chain
