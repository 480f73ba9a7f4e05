// The fitted bound of relaxation.hpp in the form that deciding one label after the other needs.
#pragma once

#include <cstddef>
#include <vector>

#include "chain/relaxation.hpp"

namespace labelweave::chain {

// The fitted bound by causes: what label k means for the terms of later labels, if these are 1 or 0. While it is
// undecided it gives them the positive part of that, when it is 0 nothing, when it is 1 all of it.
class RelaxedEffects {
  public:
    void load(const OpenRow& row, const Relaxation& fitted);
    std::size_t stride() const { return stride_; }
    // Of all vectors.
    double root_bound() const { return root_bound_; }
    // What is in the bound whatever the labels are, and what comes in with label k.
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
