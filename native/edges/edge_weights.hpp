// Held-out log-likelihood of every label given one other label: the edge weights of tree structures.
//
// All candidate parents of a target share its features, and their solutions lie around its solution without
// a parent. There the curvature is factorised once (HessianFactor); bordered by the parent's column it
// preconditions the fits of all candidates. Each fit is a nonlinear conjugate gradient iteration whose first
// step is the bordered Newton step with an exact line search; most need one or two more. A fit ends when
// its error of the weight, bounded by the norms of the gradients of the fit and of the held-out log-likelihood, is
// below a share of the weight. The held-out gradient is estimated during the fit, and computed at its end before the
// weight is accepted. If the bound is not met (a parent that nearly determines the label takes the fit far from its
// start), the curvature is factorised again at the point reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "design/design.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::edges {

struct Problems {
    design::Design train, held;  // rows that fit and rows that weigh, without extras
    std::size_t n_labels = 0;
    const std::int8_t *train_labels = nullptr, *held_labels = nullptr;  // n_labels x rows
    const double *train_weights = nullptr, *held_weights = nullptr;     // rows
    const double *C = nullptr, *label_penalty = nullptr;                // n_labels
    const double* start = nullptr;             // n_labels x (features + 1): near the fits without a parent
    const std::uint8_t* targets = nullptr;     // n_labels: which are to be fitted
    const std::uint8_t* candidates = nullptr;  // n_labels (target) x n_labels (parent)
};

struct Settings {
    double tolerance = 9e-4;   // of a weight, relative
    int max_iterations = 200;  // of a fit with one factor
    int n_threads = 1;
};

struct Weights {
    double* alone = nullptr;           // n_labels
    double* pair = nullptr;            // n_labels (target) x n_labels (parent), the candidates' only
    std::int32_t* n_failed = nullptr;  // n_labels: fits of the target that did not reach the tolerance
};

void weigh(const Problems& problems, const Settings& settings, const Weights& weights, threads::Interrupt& interrupt);

}  // namespace labelweave::edges
