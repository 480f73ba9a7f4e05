// The fitted bound of relaxation.hpp, in a form for deciding one label after the other.
#pragma once

#include <cstddef>
#include <vector>

#include "chain/relaxation.hpp"

namespace labelweave::chain {

// The fitted bound by causes: the effects of label k on the terms of later labels with value 1 or 0. While label k is
// undecided, the positive part of an effect counts; it counts wholly if label k is 1, and not at all if it is 0.
class RelaxedEffects {
  public:
    void load(const OpenRow& row, const Relaxation& fitted);
    std::size_t stride() const { return stride_; }
    // Of all vectors.
    double root_bound() const { return root_bound_; }
    // The constant part of the bound, and the part of label k.
    double constant() const { return constant_; }
    double own(std::size_t k) const { return own_[k]; }
    const double* of(std::size_t k, bool one) const { return effects_.data() + (2 * k + one) * stride_; }
    // The terms when the first k labels are 0.
    const double* after_zeros(std::size_t k, bool one) const { return after_zeros_.data() + (2 * k + one) * stride_; }

  private:
    void add_term(const OpenRow& row, const Relaxation& fitted, std::size_t j);

    std::size_t stride_ = 0;
    double root_bound_ = 0.0, constant_ = 0.0, size_ = 0.0;
    std::vector<double> effects_, after_zeros_, own_;
};

}  // namespace labelweave::chain
