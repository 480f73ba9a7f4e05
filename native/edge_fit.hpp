// The state of the fits that edges.cpp makes: a target, and fits of it given one parent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "curvature.hpp"
#include "line.hpp"
#include "products.hpp"

namespace labelweave {

using Vector = std::vector<double>;

constexpr std::int32_t kNoParent = -1;

// Rows of one label, with their weights.
inline void fill_rows(std::size_t n, const std::int8_t* labels, const double* weights, TargetRows& rows) {
    rows.target.assign(padded(n), 0.0);
    rows.weight.assign(padded(n), 0.0);
    std::copy_n(labels, n, rows.target.begin());
    std::copy_n(weights, n, rows.weight.begin());
}

// A target at its solution without a parent, or near it: what the fits of all its candidates start from.
struct Base {
    std::size_t target = 0;
    TargetRows train, held;
    CurvatureFactor factor;
    double penalty = 0, parent_penalty = 0;
    double weight = 0, held_mass = 0;           // held-out log-likelihood; sum of its residuals' sizes
    double floor = 0;                           // a weight this small need not be known better
    double newton_square = 0, held_square = 0;  // squared norms of the two gradients in M^-1
    Vector coef, gradient, newton, held_gradient, held_solved;  // over the columns; newton: M^-1 gradient
    Vector score, residual, curvature, newton_score;            // over the training rows
    Vector held_score, held_residual;                           // over the held-out rows

    Base(const Design& design, std::size_t n_held) : factor(design) {
        const std::size_t width = design.width(), n_train = design.n_rows;
        for (Vector* v : {&coef, &gradient, &newton, &held_gradient, &held_solved}) v->resize(padded(width));
        for (Vector* v : {&score, &residual, &curvature, &newton_score}) v->resize(padded(n_train));
        for (Vector* v : {&held_score, &held_residual}) v->resize(padded(n_held));
    }
};

enum class Phase { idle, bordering, first, iterating };

// One fit in progress: target given one parent, at (coef, v).
struct Fit {
    Base* base = nullptr;
    Phase phase = Phase::idle;
    std::int32_t parent = kNoParent;
    int iteration = 0, attempt = 0;
    double v = 0, v_gradient = 0, v_old = 0, v_direction = 0;
    double border = 0;  // curvature of the direction (-U, 1): what is left of the parent's column
    double held_norm = 0, rho = 0, slope = 0;  // norms of the two gradients; of the line
    double weight = 0;                         // what its error is measured by
    double size = 0, least = 1;                // of the direction in M's norm; least curvature seen, in units of M's
    Vector coef, gradient, old_gradient, direction, solved, border_solved;  // over the columns
    Vector column, score, change, residual, curvature;                      // over the training rows

    void resize(std::size_t width, std::size_t n_train) {
        for (Vector* v : {&coef, &gradient, &old_gradient, &direction, &solved, &border_solved}) v->resize(padded(width));
        for (Vector* v : {&column, &score, &change, &residual, &curvature}) v->resize(padded(n_train));
    }
};

// A fit that has ended and waits to be weighed.
struct Finished {
    Base* base = nullptr;
    std::int32_t parent = kNoParent;
    int attempt = 0;
    double v = 0, bound = 0;
    bool converged = false;
    Vector coef, score;
};

// A fit that has not begun.
struct Waiting {
    Base* base;
    std::int32_t parent;
    int attempt;
    double weight;  // what the fit's accuracy is measured by
};

}  // namespace labelweave
