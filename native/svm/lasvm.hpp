// The online support vector machine of Bordes, Ertekin, Weston and Bottou (2005).
//
// The dual is: maximise sum_i alpha_i y_i - 1/2 sum_ij alpha_i alpha_j K_ij, where the alphas sum to zero
// and alpha_i lies between 0 and y_i C_i. g_i = y_i - sum_j alpha_j K_ij is its gradient. Only the rows of a
// working set, the members, have a gradient that is kept up to date; all others have alpha = 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "svm/kernel_cache.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::svm {

struct LasvmProblem {
    design::Design design;
    KernelFunction kernel;
    std::size_t n_labels = 0;
    const std::int8_t* labels = nullptr;  // n_rows x n_labels; every label has rows of both kinds
    const double* limits = nullptr;       // n_rows: C_i
    const std::int64_t* order = nullptr;  // n_passes x n_rows: the rows as each pass presents them
    std::size_t n_passes = 1;
    double tolerance = 1e-3;     // a pair whose gradients differ by less is as good as optimal
    std::int64_t max_steps = 0;  // of the finishing of a label
    std::size_t room = 0;        // bytes for kernel rows, all threads together
};

struct LasvmSolution {
    std::vector<std::int32_t> support;  // ascending rows with alpha other than zero
    std::vector<double> alpha;
    std::vector<double> weights;  // sum of alpha_i x_i; linear kernel only
    double intercept = 0.0, objective = 0.0;
    bool converged = false;
};

// One machine a label; threads share the labels.
std::vector<LasvmSolution> lasvm(const LasvmProblem& problem, int n_threads, threads::Interrupt& interrupt);

}  // namespace labelweave::svm
