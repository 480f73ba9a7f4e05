// The design matrix [X | 1 | extras] shared by many logistic problems, and the one pass over it
// that every step of the solver is made of.
//
// Coefficients of eight problems are stored feature-major: row f of an array of Lanes holds the
// coefficient of column f in all of them. X is dense (row-major) or CSR, the extra columns (labels of
// other problems) are CSR. Columns are ordered features, intercept, extras.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lanes.hpp"

namespace labelweave {

struct Csr {
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;
    const double* values = nullptr;
};

struct Design {
    std::size_t n_rows = 0, n_features = 0, n_extras = 0;
    const double* dense = nullptr;  // n_rows x n_features, or null when `sparse` holds X
    Csr sparse, extras;             // extras.indptr is null when there are none

    std::size_t width() const { return n_features + n_extras + 1; }
    std::size_t intercept() const { return n_features; }
    std::size_t first_extra() const { return n_features + 1; }
};

// What a row is asked for, one column of the target and weight matrices per lane.
struct Targets {
    const std::int8_t* labels = nullptr;  // n_rows x n_targets
    std::size_t n_targets = 0;
    const double* weights = nullptr;  // n_rows x n_weights, or null: all ones
    std::size_t n_weights = 0;
    const double* total = nullptr;  // n_rows: what a row's weight and its held-out weight add up to
};

// Sums over rows, per lane.
struct Tally {
    Lanes loss{}, held_out{}, curvature{};
    Lanes product{};  // v' A' D A v of the lanes that ask for a Hessian product
};

// One pass: u = A v, then per row and lane either the Hessian's curvature * u, or (lanes in
// `evaluating`) score += u with loss, curvature and residual at the new score; then gradient += A' r.
struct Pass {
    const Design& design;
    const Targets& targets;
    std::array<std::int32_t, kLanes> target{}, weight{};  // columns of each lane
    LaneMask evaluating{};
    bool any_evaluating = false;
    const Lanes* direction = nullptr;  // width
    Lanes* score = nullptr;            // n_rows
    Lanes* curvature = nullptr;        // n_rows
};

// Rows [begin, end) of the pass; `gradient` (width) and `tally` are added to.
void run_pass(const Pass& pass, std::size_t begin, std::size_t end, Lanes* gradient, Tally& tally);

// Sum of squares of every column, the intercept's included.
void column_squares(const Design& design, double* squares);

}  // namespace labelweave
