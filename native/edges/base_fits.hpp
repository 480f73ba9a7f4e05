// The targets that a thread of edges.cpp works on, each at the point its fits start from.
#pragma once

#include <deque>
#include <vector>

#include "edges/parent_fit.hpp"
#include "edges/edge_weights.hpp"
#include "design/products.hpp"

namespace labelweave::edges {

class BaseFits {
  public:
    BaseFits(const Problems& problems, const design::ProductDesign& train, const design::ProductDesign& held, std::size_t group);

    // Take on these targets, up to a group of them, where they are said to start.
    void take(const std::size_t* targets, std::size_t n_targets);
    // Everything that follows from the coefficients of the bases, the factors only where asked for.
    void settle(bool factorise);
    // Far from its base a fit is steered badly: let it go on from where it is, with the curvature there. This
    // becomes the only base in work.
    BaseFit& recentre(const StalledFit& stuck);

    std::vector<BaseFit*>::const_iterator begin() const { return in_work_.begin(); }
    std::vector<BaseFit*>::const_iterator end() const { return in_work_.end(); }

    design::Products train, held;

  private:
    void load(std::size_t target, BaseFit& base) const;
    // Products of a vector of every base.
    void forward(design::Products& products, Vector BaseFit::*from, Vector BaseFit::*to);
    void backward(design::Products& products, Vector BaseFit::*from, Vector BaseFit::*to);
    void gather(Vector BaseFit::*from, Vector BaseFit::*to);

    const Problems& p_;
    std::size_t n_, n_held_, width_;
    std::deque<BaseFit> room_;  // for a group, and last for a fit that goes on alone
    std::vector<BaseFit*> in_work_;
    const double* in_[kLanes];
    double* out_[kLanes];
};

}  // namespace labelweave::edges
