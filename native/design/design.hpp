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
#include <vector>

#include "simd/lanes.hpp"
#include "threads/thread_team.hpp"

namespace labelweave {

struct Csr {
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;
    const double* values = nullptr;  // null: every value is one, and nothing has to be read

    double value(std::int64_t k) const { return values ? values[k] : 1.0; }
};

struct Design {
    std::size_t n_rows = 0, n_features = 0, n_extras = 0;
    const double* dense = nullptr;  // n_rows x n_features, or null when `sparse` holds X
    Csr sparse, extras;             // extras.indptr is null when there are none
    Csr sparse_columns;             // `sparse` transposed: what the backward product reads

    std::size_t width() const { return n_features + n_extras + 1; }
    std::size_t intercept() const { return n_features; }
    std::size_t first_extra() const { return n_features + 1; }
};

// What a row is asked for, one row of the target and weight matrices per lane.
struct Targets {
    const std::int8_t* labels = nullptr;  // n_targets x n_rows
    const double* weights = nullptr;      // n_weights x n_rows, or null: all ones
    const double* total = nullptr;        // n_rows: what a row's weight and its held-out weight add up to
};

// Sums over rows, per lane.
struct Tally {
    Lanes loss{}, held_out{}, curvature{};
    Lanes product{};  // v' A' D A v of the lanes that ask for a Hessian product

    void operator+=(const Tally& other) {
        loss += other.loss;
        held_out += other.held_out;
        curvature += other.curvature;
        product += other.product;
    }
};

// One pass: u = A v, then per row and lane either the Hessian's curvature * u, or (lanes in
// `evaluating`) score += u with loss, curvature and residual at the new score; then gradient = A' r.
struct Pass {
    const Design& design;
    const Targets& targets;
    std::array<std::int32_t, kLanes> target{}, weight{};  // rows of the target and weight matrices
    std::array<bool, kLanes> busy{}, evaluating{};
    const Lanes* direction = nullptr;  // width
    double* score = nullptr;           // kLanes x n_rows: a lane's scores lie together
    double* curvature = nullptr;       // the same for dense X, n_rows x kLanes for sparse X
};

// Room that a pass needs, in Lanes, and the pass itself; the team's size does not change the result.
std::size_t pass_room(const Design& design);
void run_pass(const Pass& pass, Team& team, Lanes* room, Lanes* gradient, Tally& tally);

// A CSR matrix together with the arrays it points to.
struct OwnedCsr {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> values;
    Csr view() const { return {indptr.data(), indices.data(), values.empty() ? nullptr : values.data()}; }
};
// The same matrix, with its values left out where they are all one (sets of words, labels).
Csr without_unit_values(Csr matrix, std::size_t n_rows);
OwnedCsr transpose(const Csr& matrix, std::size_t n_rows, std::size_t n_columns);

// Where sums of squares end; larger features still have a (rough) preconditioner.
constexpr double kLargestSquare = 1e306;

// Sum of squares of every column, the intercept's included.
void column_squares(const Design& design, double* squares);

}  // namespace labelweave
