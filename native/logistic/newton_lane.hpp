// One Newton iteration in progress, and the constants that steer it.
#pragma once

#include <cstddef>
#include <limits>

namespace labelweave::logistic {

// Conjugate gradients stop once the preconditioned residual has shrunk by this factor: enough for
// Newton to converge fast, and cheaper overall than solving each system accurately. Close to the optimum, a step leaves
// about kQuadratic times the squared share of the objective that it gains, and systems are solved to this accuracy,
// because every restart of conjugate gradients loses their directions. The number of passes varies by a few percent for
// values between 3 and 100.
constexpr double kForcing = 0.3, kQuadratic = 10;
constexpr int kMaxConjugate = 200, kMaxHalvings = 40;
// A step that was halved more often than this was so long that its rounding errors are left in the scores.
constexpr int kManyHalvings = 5;
constexpr double kArmijo = 1e-4, kRounding = 1e-13;
// Far from the optimum, where rows are flat, Newton steps are too long by many orders of magnitude. The
// loss cannot fall below zero, so a step that promises more than this many times the objective is not tried.
constexpr double kMostPromised = 100;
// A factor serves problems whose ridges differ by up to this many powers of four.
constexpr int kLevelsApart = 3;
// Where every row is fitted perfectly the curvature vanishes; preconditioners need some.
constexpr double kLeastCurvature = 1e-290;

enum class Phase { idle, conjugate, evaluate };
// The treatment of a lane by the sweeps after a pass.
enum class Move { none, advance, restart, retry, afresh };

struct NewtonLane {
    Phase phase = Phase::idle;
    Move move = Move::none;
    std::size_t problem = 0, stage = 0;
    bool first = true, last = false, stalled = false;
    bool solved = false;  // whether the step in hand solves its Newton system
    int newton = 0, conjugate = 0, halvings = 0;
    double objective = 0, decrease = 0, step = 1;  // decrease: of the quadratic model so far
    double rho = 0, rho_start = 0;                 // squared preconditioned residual, now and at the start
    double mean_curvature = 0.25;
    int level = 0;  // of the preconditioner's factor
    double held_out = std::numeric_limits<double>::infinity();
    int n_worse = 0;  // stages in a row whose held-out loss rose
};

}  // namespace labelweave::logistic
