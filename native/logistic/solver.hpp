// Many L2-penalised logistic regressions that share a design matrix, solved side by side.
//
// A problem minimises  sum_n w_n [softplus(z_n) - t_n z_n] + (|w_x|^2 + kappa |w_e|^2) / (2 C),
// z = X w_x + E w_e + b, along a path of penalties (C, kappa), each solution starting the next.
// Every problem runs its own Newton iteration with preconditioned conjugate gradients. Eight of them
// occupy the lanes of a block; each round is one pass over the rows in which every lane gets what it
// needs next (a Hessian product or an evaluation), and a lane whose problem is solved takes the next
// one from the queue. So no lane waits for the slowest problem, and no result depends on its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>

#include "design/design.hpp"
#include "logistic/pass.hpp"
#include "threads/interrupt.hpp"

namespace labelweave::logistic {

struct Problems {
    design::Design design;
    Targets targets;
    std::size_t n_problems = 0, n_stages = 1;
    const std::int32_t* target = nullptr;      // n_problems: row of targets.labels, or of targets.shares
    const std::int32_t* weight = nullptr;      // n_problems: row of targets.weights, or null
    const double* C = nullptr;                 // n_problems x n_stages
    const double* extra_penalty = nullptr;     // n_problems x n_stages: kappa
    const std::uint8_t* extra_mask = nullptr;  // n_problems x n_extras: which extra columns take part
    const double* start = nullptr;             // n_problems x width, or null: zero
    const double* start_intercept = nullptr;   // n_problems, when start is null
};

struct Settings {
    double tolerance = 1e-7;  // relative decrease promised by the last Newton step
    int max_newton = 100;     // per stage
    int patience = 0;         // leave a path after so many rises of the held-out loss; 0: never
    int n_threads = 1;
    // Bytes of a transposed sparse X up to which it is made. It speeds up the passes over a small X; a large one, which
    // may lie in a file, is read row by row. Both give the same bits.
    std::size_t largest_transpose = 0;
};

struct Solutions {
    double* coef = nullptr;             // n_problems x width, or null when only the losses matter
    double* objective = nullptr;        // n_problems x n_stages, divided by C
    double* held_out = nullptr;         // n_problems x n_stages
    std::int32_t* passes = nullptr;     // n_problems
    std::uint8_t* converged = nullptr;  // n_problems
};

void solve(Problems problems, const Settings& settings, const Solutions& solutions, threads::Interrupt& interrupt);

}  // namespace labelweave::logistic
