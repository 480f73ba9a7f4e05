// Products of [X | 1] with up to eight vectors that each lie in memory of their own.
#pragma once

#include "design.hpp"

namespace labelweave {

// Vectors over the rows and over the columns are padded to whole Lanes.
constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// The room that one thread needs for its products; the design must have no extras.
class Products {
  public:
    explicit Products(const Design& design);

    const Design& design() const { return design_; }

    // u_k = [X | 1] v_k. Padding of u is overwritten with anything finite.
    void forward(int n, const double* const* v, double* const* u);
    // g_k = [X | 1]' r_k. Padding of g is left alone.
    void backward(int n, const double* const* r, double* const* g);

  private:
    const Design& design_;
    LaneArray columns_, rows_;
};

}  // namespace labelweave
