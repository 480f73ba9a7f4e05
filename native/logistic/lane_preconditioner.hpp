// Preconditioned residuals of eight Newton systems: the factor or diagonal that problems share, corrected by the
// directions that each lane kept of its last system.
#pragma once

#include "logistic/limited_memory.hpp"
#include "logistic/newton_state.hpp"
#include "logistic/preconditioner.hpp"

namespace labelweave::logistic {

class LanePreconditioner {
  public:
    LanePreconditioner(const design::Design& design, Preconditioner& shared);

    // A lane begins a new problem.
    void forget(int lane) { memory_.forget(lane); }

    // Keep the directions that the lanes advanced along, where curvature is p'Hp; lanes that restart use those of
    // their last system from now on.
    void remember(const NewtonState& s, const Lanes& curvature);

    // Solve M y = residual for the lanes that advance or restart, with the factors of the given levels; returns
    // residual' y.
    Lanes apply(const NewtonState& s, const int (&levels)[kLanes]);

    const Lanes* solution() const { return solution_.data(); }

  private:
    Lanes apply_shared(const NewtonState& s, const int (&levels)[kLanes], const Lanes* r);

    Preconditioner& shared_;
    std::size_t order_;  // features and intercept, which factors are of
    LimitedMemory memory_;
    LaneArray solution_, projected_, scratch_, narrow_;
};

}  // namespace labelweave::logistic
