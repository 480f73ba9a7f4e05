// The targets that a thread of edges.cpp works on, each at the point its fits start from.
#pragma once

#include <deque>
#include <vector>

#include "edges/parent_fit.hpp"
#include "edges/edge_weights.hpp"
#include "design/products.hpp"

namespace labelweave {

class EdgeBases {
  public:
    EdgeBases(const EdgeProblems& problems, const ProductDesign& train, const ProductDesign& held, std::size_t group);

    // Take on these targets, up to a group of them, where they are said to start.
    void take(const std::size_t* targets, std::size_t n_targets);
    // Everything that follows from the coefficients of the bases, the factors only where asked for.
    void settle(bool factorise);
    // Far from its base a fit is steered badly: let it go on from where it is, with the curvature there. This
    // becomes the only base in work.
    Base& recentre(const Stuck& stuck);

    std::vector<Base*>::const_iterator begin() const { return in_work_.begin(); }
    std::vector<Base*>::const_iterator end() const { return in_work_.end(); }

    Products train, held;

  private:
    void load(std::size_t target, Base& base) const;
    // Products of a vector of every base.
    void forward(Products& products, Vector Base::*from, Vector Base::*to);
    void backward(Products& products, Vector Base::*from, Vector Base::*to);
    void gather(Vector Base::*from, Vector Base::*to);

    const EdgeProblems& p_;
    std::size_t n_, n_held_, width_;
    std::deque<Base> room_;  // for a group, and last for a fit that goes on alone
    std::vector<Base*> in_work_;
    const double* in_[kLanes];
    double* out_[kLanes];
};

}  // namespace labelweave
