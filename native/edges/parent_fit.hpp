// Fits of one target: without a parent, and given one parent, whose column borders the Newton system.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "design/products.hpp"
#include "edges/hessian_factor.hpp"
#include "edges/line_search.hpp"
#include "linalg/vectors.hpp"

namespace labelweave::edges {

using Vector = std::vector<double>;

constexpr std::int32_t kNoParent = -1;

// Rows of one label, with their weights.
inline void fill_rows(std::size_t n, const std::int8_t* labels, const double* weights, TargetRows& rows) {
    rows.target.assign(design::padded(n), 0.0);
    rows.weight.assign(design::padded(n), 0.0);
    std::copy_n(labels, n, rows.target.begin());
    std::copy_n(weights, n, rows.weight.begin());
}

// One label's values, or null for that of no parent.
inline const std::int8_t* labels_of(const std::int8_t* labels, std::size_t n, std::int32_t label) {
    return label == kNoParent ? nullptr : labels + label * n;
}

// score += v labels
inline void add_labels(std::size_t n, double v, const std::int8_t* labels, double* score) {
    for (std::size_t i = 0; labels && i < n; ++i) score[i] += v * labels[i];
}

// A target at or near its solution without a parent, from which the fits of all its candidates start.
struct BaseFit {
    std::size_t target = 0;
    TargetRows train, held;
    HessianFactor factor;
    double penalty = 0, parent_penalty = 0;
    std::int32_t parent = kNoParent;                  // where a single fit goes on from here: its parent, and
    double v = 0;                                     // that column's coefficient, otherwise zero
    double share = 0;                                 // of the held-out rows' weight in the training rows'
    double weight = 0;                                // held-out log-likelihood
    double floor = 0;                                 // a weight this small need not be known better
    double newton_square = 0, held_square = 0;        // squared norms of the two gradients in M^-1
    Vector coef, gradient, newton, held_gradient;     // over the columns; newton: M^-1 gradient
    Vector score, residual, curvature, newton_score;  // over the training rows
    Vector held_score, held_residual;                 // over the held-out rows

    BaseFit(const design::Design& design, std::size_t n_held) : factor(design) {
        const std::size_t width = design.width(), n_train = design.n_rows;
        for (Vector* v : {&coef, &gradient, &newton, &held_gradient}) v->resize(design::padded(width));
        for (Vector* v : {&score, &residual, &curvature, &newton_score}) v->resize(design::padded(n_train));
        for (Vector* v : {&held_score, &held_residual}) v->resize(design::padded(n_held));
    }
};

// A fit that has not begun.
struct PendingFit {
    BaseFit* base;
    std::int32_t parent;
    int attempt;
    double weight;     // the weight that sets the fit's accuracy
    double held_norm;  // of the held-out gradient at its end, or zero where nothing is known
};

enum class Phase { idle, bordering, first, iterating };

// One fit in progress: target given one parent, at (coef, v).
struct ParentFit {
    std::size_t width = 0, n_train = 0;
    BaseFit* base = nullptr;
    Phase phase = Phase::idle;
    std::int32_t parent = kNoParent;
    int iteration = 0, attempt = 0;
    double v = 0, v_gradient = 0, v_old = 0, v_direction = 0, v_solved = 0;
    double border = 0;  // curvature of the direction (-U, 1): what is left of the parent's column
    double held_norm = 0, rho = 0, slope = 0;  // norms of the two gradients; of the line
    double weight = 0;                         // the weight that sets its accuracy
    double size = 0, least = 1;                // of the direction in M's norm; least curvature seen, in units of M's
    Vector coef, gradient, old_gradient, direction, solved, border_solved;  // over the columns
    Vector column, border_score, score, change, residual, curvature;        // over the training rows

    // Start from a base; labels are the parent's, or null.
    void begin(const PendingFit& next, const std::int8_t* labels);
    // The bordered Newton direction, given U = M^-1 A'Dy in border_solved and its scores in change.
    void bordered_newton_step(std::size_t n_held, const std::int8_t* held_labels);
    // Exact line search: Newton's method in the step length, safeguarded by bisection.
    void line_search();
    // The least curvature here, in units of M's, in the plane of the direction just taken, along which it is
    // given, and of the border (-U, 1): a parent that makes rows certain flattens the loss there.
    double least_curvature(double along) const;
    // With M^-1 of the features' gradient in `solved`: complete it for the whole gradient, and compute its norm and the
    // share of the last direction to keep.
    double precondition_gradient();
    // The next direction of nonlinear conjugate gradients.
    void update_direction(double beta);

    void resize(std::size_t n_columns, std::size_t n_rows) {
        width = n_columns;
        n_train = n_rows;
        for (Vector* v : {&coef, &gradient, &old_gradient, &direction, &solved, &border_solved})
            v->resize(design::padded(width));
        for (Vector* v : {&column, &border_score, &score, &change, &residual, &curvature})
            v->resize(design::padded(n_train));
    }
};

// Error of a weight: |h' H^-1 g| <= |h| |g| in the norm of H^-1 to first order, and to second order half the
// held-out curvature of that step, for which the training rows' stands, times the share of the held-out rows.
// h is the held-out gradient, rho the square of |g|, both with M in place of H; H may be as small as `least` M.
double weight_error(double held_norm, double rho, double least, double share);

// Held-out gradient along a parent's column.
double held_slope(std::size_t n, const std::int8_t* labels, const double* residual);

// A fit that has ended and waits to be weighed.
struct FinishedFit {
    BaseFit* base = nullptr;
    std::int32_t parent = kNoParent;
    int attempt = 0;
    double v = 0, rho = 0, least = 1, border = 0;  // as in the fit
    double held_square = 0;                        // squared norm of the held-out gradient in M^-1, without border
    bool converged = false;
    Vector coef, border_solved, held_gradient;  // over the columns
    Vector score;                               // over the held-out rows, then their residuals

    void resize(std::size_t width, std::size_t n_held) {
        for (Vector* v : {&coef, &border_solved, &held_gradient}) v->resize(design::padded(width));
        score.resize(design::padded(n_held));
    }
};

// A fit that has not reached its accuracy, at (coef, v).
struct StalledFit {
    std::size_t target;
    std::int32_t parent;
    int attempt;
    double v, weight;
    Vector coef;
};

}  // namespace labelweave::edges
