// Passive-aggressive learning (PA-I; Crammer et al., 2006) of many labels in one pass over the rows.
//
// Weights are feature-major: the weights of one feature for all labels lie together, eight labels a vector.
// The row after the last feature holds the weights of a feature that is always one, the intercepts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "design/design.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::svm {

struct PassiveAggressive {
    design::Design design;
    std::size_t n_labels = 0, width = 0;  // width: labels rounded up to whole vectors
    const std::int8_t* labels = nullptr;  // n_rows x n_labels
    const double* limits = nullptr;       // n_rows: the longest step, C times the row's weight
    const std::int64_t* order = nullptr;  // n_steps rows, as they are presented
    std::size_t n_steps = 0;
    bool intercept = true;
    double* weights = nullptr;  // (n_features + 1) x width
    double* scores = nullptr;   // n_steps x n_labels or null: the score of each row before it was learned
};

// Threads share the labels; each of them sees all rows.
void passive_aggressive(const PassiveAggressive& problem, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::svm
