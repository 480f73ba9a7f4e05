// Forests of labels: P(y) = prod_i P(y_i | y_parent(i)), the conditionals given as log-odds.
//
// Conditionals point away from the roots, so that marginals, samples and pairs need one pass from the roots
// to the leaves; the mode and evidence need one pass from the leaves first. No pass recurses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace labelweave::tree {

// A batch of forests with the same parents. A root reads the log-odds of parent value 0.
struct Tree {
    const double* logits;         // n_rows x n_labels x 2: log-odds of a label, its parent being 0 or 1
    const std::int64_t* parents;  // n_labels; -1 for a root
    const std::int64_t* order;    // the labels, each after its parent
    std::size_t n_rows, n_labels;

    const double* row(std::size_t i) const { return logits + i * 2 * n_labels; }
};

// log P of n_vectors label vectors a row; labels is n_rows x n_vectors x n_labels.
void log_prob(const Tree& tree, const std::int8_t* labels, std::size_t n_vectors, double* log_prob, int n_threads);

// The most probable vector of each row (max-sum), 0 among equals, and its log-probability.
void mode(const Tree& tree, std::int8_t* labels, double* log_prob, int n_threads);

// P(y_i = 1), n_rows x n_labels.
void marginals(const Tree& tree, double* marginals, int n_threads);

// P(y_i = 1, y_j = 1), n_rows x n_labels x n_labels.
void pairwise(const Tree& tree, double* pairwise, int n_threads);

// Ancestral draws keyed by (seed, rows[i], draw, label); labels is n_rows x n_draws x n_labels.
void sample(const Tree& tree, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws, std::int8_t* labels,
            int n_threads);

// The posterior given known (n_rows x n_labels, -1: unknown) is a forest with the same parents: its log-odds go
// to posterior (as logits), the log-probability of the evidence to log_prob. Known labels become certain.
// A row whose evidence is impossible has log_prob -inf and some valid posterior.
void condition(const Tree& tree, const std::int8_t* known, double* posterior, double* log_prob, int n_threads);

// The log-probability of every vector: bit t of the column is label free[t], all other labels are as in known.
// out is n_rows x 2^n_free.
void table(const Tree& tree, const std::int8_t* known, const std::int64_t* free, std::size_t n_free, double* out,
           int n_threads);

// P(|y| = s), n_rows x (n_labels + 1).
void cardinality(const Tree& tree, double* cardinality, int n_threads);

// P(y_i = 1, |y| = s), n_rows x n_labels x (n_labels + 1).
void cardinality_by_label(const Tree& tree, double* out, int n_threads);

}  // namespace labelweave::tree
