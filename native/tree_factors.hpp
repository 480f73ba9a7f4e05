// The conditionals of one row of a forest as numbers: logarithms for sums over labels, probabilities for products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanes.hpp"
#include "tree.hpp"

namespace labelweave {

// zero[k] = log P(y = 0), one[k] = log P(y = 1) for log-odds z[k]. Both outputs have room for a multiple of eight.
void log_conditionals(const double* z, std::size_t count, double* zero, double* one);

// The same without the logarithm.
void conditionals(const double* z, std::size_t count, double* zero, double* one);

// Conditionals of a row; those of label i with its parent at a stand at 2 i + a.
struct Factors {
    explicit Factors(std::size_t n_labels)
        : zero((2 * n_labels + kLanes - 1) / kLanes * kLanes), one(zero.size()) {}

    void load_logs(const Tree& tree, std::size_t row) {
        log_conditionals(tree.row(row), 2 * tree.n_labels, zero.data(), one.data());
    }
    void load(const Tree& tree, std::size_t row) {
        conditionals(tree.row(row), 2 * tree.n_labels, zero.data(), one.data());
    }

    std::vector<double> zero, one;
};

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

// Where the factor of label i stands, given the labels of a vector.
inline std::size_t factor_at(const std::int64_t* parents, const std::int8_t* labels, std::size_t i) {
    return 2 * i + (parents[i] >= 0 && labels[parents[i]] != 0);
}

// log P(labels), added up in the order of the labels: the one sum that everything reported comes from.
inline double vector_log_prob(const Factors& logs, const std::int64_t* parents, const std::int8_t* labels,
                              std::size_t n_labels) {
    double total = 0.0;
    for (std::size_t i = 0; i < n_labels; ++i) {
        const std::size_t at = factor_at(parents, labels, i);
        total += labels[i] ? logs.one[at] : logs.zero[at];
    }
    return total;
}

}  // namespace labelweave
