// The conditionals of one row of a forest as numbers: logarithms for sums over labels, probabilities for products.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "simd/lane_math.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {

// zero[k] = log P(y = 0), one[k] = log P(y = 1) for log-odds z[k]. Both outputs have room for a multiple of eight.
void log_conditionals(const double* z, std::size_t count, double* zero, double* one);

// The same without the logarithm.
void conditionals(const double* z, std::size_t count, double* zero, double* one);

// log P(labels[k] | z[k]) added up over the n labels of each of n_rows rows of signed log-odds: z where the label is
// 1, -z where it is 0. z becomes scratch and has room for a multiple of eight.
void sum_log_likelihoods(double* signed_odds, std::size_t n_rows, std::size_t n_labels, double* log_prob);

// Conditionals of a row; those of label i with its parent at a stand at 2 i + a.
struct RowFactors {
    const double *zero, *one;
};

// Conditionals of some consecutive rows.
struct Factors {
    explicit Factors(std::size_t n_labels, std::size_t n_rows = 1)
        : zero((2 * n_labels * n_rows + kLanes - 1) / kLanes * kLanes), one(zero.size()), stride(2 * n_labels) {}

    void load_logs(const Tree& tree, std::size_t first, std::size_t count = 1) {
        log_conditionals(tree.row(first), count * stride, zero.data(), one.data());
    }
    void load(const Tree& tree, std::size_t first, std::size_t count = 1) {
        conditionals(tree.row(first), count * stride, zero.data(), one.data());
    }
    RowFactors row(std::size_t index = 0) const { return {zero.data() + index * stride, one.data() + index * stride}; }

    std::vector<double> zero, one;
    std::size_t stride;
};

// Rows to convert at a time: few enough to stay in the cache, enough to fill all lanes.
inline std::size_t rows_at_once(std::size_t n_labels) { return std::max<std::size_t>(1, 1024 / n_labels); }

// Conditionals of eight rows, one per lane.
struct LaneFactors {
    explicit LaneFactors(std::size_t n_labels) : zero(2 * n_labels), one(2 * n_labels), row_(n_labels) {}

    void load(const Tree& tree, std::size_t first, std::size_t size) {
        for (std::size_t lane = 0; lane < size; ++lane) {
            row_.load(tree, first + lane);
            for (std::size_t k = 0; k < 2 * tree.n_labels; ++k) {
                zero[k][lane] = row_.zero[k];
                one[k][lane] = row_.one[k];
            }
        }
    }

    LaneArray zero, one;

  private:
    Factors row_;
};

// The position of the factor of label i, given the labels of a vector. Only the lowest bit of a label counts, so there
// is no branch, and no input can cause a read outside the factors.
inline std::size_t factor_at(const std::int64_t* parents, const std::int8_t* labels, std::size_t i) {
    return 2 * i + (parents[i] < 0 ? 0 : static_cast<std::size_t>(labels[parents[i]] & 1));
}

// log P(labels), added up in the order of the labels as sum_log_likelihoods does, to the last bit.
inline double vector_log_prob(RowFactors logs, const std::int64_t* parents, const std::int8_t* labels,
                              std::size_t n_labels) {
    const double* by_value[2] = {logs.zero, logs.one};
    double total = 0.0;
    for (std::size_t i = 0; i < n_labels; ++i) total += by_value[labels[i] & 1][factor_at(parents, labels, i)];
    return total;
}

}  // namespace labelweave::tree
