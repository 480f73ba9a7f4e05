// Products of [X | 1] with up to eight vectors, each in its own memory.
#pragma once

#include "design/design.hpp"

namespace labelweave::design {

// Vectors over the rows and over the columns are padded to whole Lanes.
constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

// A design without extras in the forms that products read: a sparse X with its transpose, the rows of a
// dense X in whole vectors, zero-padded.
struct ProductDesign {
    explicit ProductDesign(const Design& given);
    ProductDesign(const ProductDesign&) = delete;

    Design design;
    OwnedCsr columns;
    LaneArray rows;
};

// The room that one thread needs for its products.
class Products {
  public:
    explicit Products(const ProductDesign& x);

    // u_k = [X | 1] v_k. Padding of u is overwritten with finite numbers.
    void forward(int n, const double* const* v, double* const* u);
    // g_k = [X | 1]' r_k. Padding of g stays unchanged.
    void backward(int n, const double* const* r, double* const* g);

  private:
    const ProductDesign& x_;
    LaneArray columns_, rows_;
};

}  // namespace labelweave::design
