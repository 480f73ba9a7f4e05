// The vectors of eight Newton iterations in progress, and the sweeps over them between two passes.
#pragma once

#include <cstddef>

#include "design/design.hpp"

namespace labelweave::logistic {

// Eight problems in progress. Arrays are feature-major, one row of Lanes per column of the design.
struct NewtonState {
    explicit NewtonState(const design::Design& design)
        : n_features(design.n_features), n_extras(design.n_extras), coef(design.width()), step(design.width()),
          residual(design.width()), direction(design.width()), gradient(design.width()), extra_mask(design.n_extras) {}

    std::size_t n_features, n_extras;
    LaneArray coef, step, residual, direction, gradient, extra_mask;
    Lanes lambda{}, extra_lambda{};  // penalties of features and extras
    Lanes alpha{}, beta{};           // of conjugate gradients
    Lanes scale{};                   // mean curvature, for the diagonal preconditioner
    Lanes first_trial{};             // which part of the step is tried first
    Lanes backtrack{};               // back from there to its half, then its quarter, ...
    LaneMask evaluating{}, advancing{}, restarting{}, retrying{};
};

// Call visit(row, penalty, mask) for every column; mask is zero where a lane leaves an extra column out.
template <class Visit>
LABELWEAVE_INLINE void for_columns(const NewtonState& s, Visit&& visit) {
    const Lanes one = broadcast(1.0);
    for (std::size_t f = 0; f < s.n_features; ++f) visit(f, s.lambda, one);
    visit(s.n_features, Lanes{}, one);
    for (std::size_t e = 0; e < s.n_extras; ++e) visit(s.n_features + 1 + e, s.extra_lambda, s.extra_mask[e]);
}

struct Norms {
    Lanes features{}, extras{};
};

// Move the coefficients of the lanes that evaluate; squared norms of what is penalised.
void move_coefficients(NewtonState& s, Norms& norms);

// Step and residual of the lanes that advance; fresh residual of the lanes that restart.
void update_residual(NewtonState& s);

// Columns from `begin` on of y = M^-1 r with the diagonal preconditioner; adds their part of r'y to rho.
void precondition_diagonal(const NewtonState& s, const double* squares, std::size_t begin, const Lanes* r, Lanes* y,
                           Lanes& rho);

// Divide the first columns of y by the mean curvature, which factors do not include; add their part of r'y to rho.
void rescale(const NewtonState& s, std::size_t end, const Lanes* r, Lanes* y, Lanes& rho);

// Next direction of every lane, and its p' penalty p.
void update_direction(NewtonState& s, const Lanes* y, Lanes& energy);

}  // namespace labelweave::logistic
