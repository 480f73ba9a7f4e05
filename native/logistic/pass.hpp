// One pass over the design matrix; every step of the solver consists of passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "design/column_sums.hpp"
#include "design/design.hpp"
#include "threads/thread_team.hpp"

namespace labelweave::logistic {

// Targets and weights of rows; each lane uses one row of both matrices.
struct Targets {
    const std::int8_t* labels = nullptr;  // n_labels x n_rows
    std::size_t n_labels = 0;
    const double* shares = nullptr;   // targets between zero and one, numbered after the labels
    const double* weights = nullptr;  // n_weights x n_rows, or null: all ones
    const double* total = nullptr;    // n_rows: the sum of a row's weight and its held-out weight
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
    const design::Design& design;
    const Targets& targets;
    std::array<std::int32_t, kLanes> target{}, weight{};  // rows of the target and weight matrices
    std::array<bool, kLanes> busy{}, evaluating{};
    const Lanes* direction = nullptr;    // width
    double* score = nullptr;             // kLanes x n_rows: a lane's scores lie together
    double* curvature = nullptr;         // the same for dense X, n_rows x kLanes for sparse X
    design::ColumnSums* sums = nullptr;  // of a sparse X that has not been transposed
};

// Room that a pass needs, in Lanes, and the pass itself; the team's size does not change the result.
std::size_t pass_room(const design::Design& design);
void run_pass(const Pass& pass, threads::ThreadTeam& team, Lanes* room, Lanes* gradient, Tally& tally);

// The two kinds of pass that run_pass chooses from.
// responses: n_rows, or a chunk of them where X has not been transposed.
std::size_t sparse_room(const design::Design& design);
void sparse_pass(const Pass& pass, Lanes* responses, Lanes* gradient, Tally& tally);
// Room a dense pass needs, in Lanes.
std::size_t dense_room(const design::Design& design);
void dense_pass(const Pass& pass, threads::ThreadTeam& team, Lanes* room, Lanes* gradient, Tally& tally);

}  // namespace labelweave::logistic
