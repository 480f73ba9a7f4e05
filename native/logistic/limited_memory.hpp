// Limited-memory preconditioners: the directions of one Newton system's conjugate gradients speed up the next system.
//
// Let S hold the last directions of a solved system H, each of unit length p'Hp, and Y = H S. Then
//     (I - S Y') M^-1 (I - Y S') + S S'
// is positive definite for any S and Y, leaves the preconditioner M unchanged outside the corrected directions, and
// inverts H on the span of S (Gratton, Sartenaer and Tshimanga, 2011). Newton systems change little from one to the
// next.
#pragma once

#include <cstddef>
#include <vector>

#include "logistic/newton_state.hpp"
#include "simd/lane_floats.hpp"

namespace labelweave::logistic {

class LimitedMemory {
  public:
    // Only dense passes cost so much that it pays to save some of them.
    explicit LimitedMemory(const design::Design& design);

    bool enabled() const { return width_ > 0; }

    // Keep the directions of the lanes that advance; curvature is p'Hp of each.
    void record(const NewtonState& s, const Lanes& curvature);

    // A lane begins a new system: what was recorded of the last one is used from now on.
    void begin_system(int lane);

    // A lane begins a new problem.
    void forget(int lane);

    // right = (I - Y S') r, for M^-1 to be applied to.
    void project(const Lanes* r, Lanes* right);

    // x = M^-1 right becomes the preconditioned residual; returns r'x.
    Lanes correct(const Lanes* r, Lanes* x) const;

  private:
    static constexpr int kDirections = 3;

    // S and Y, one row of Lanes in single precision per column of the design.
    struct Directions {
        std::vector<float> s[kDirections], y[kDirections];
    };
    void clear(Directions& of, int slot, int lane);

    std::size_t width_;
    Directions used_, recorded_;
    Lanes along_[kDirections]{};  // S'r
    int next_[kLanes]{};          // slot of the next direction of a lane
};

}  // namespace labelweave::logistic
