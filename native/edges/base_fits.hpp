// The targets that a thread works on, each fitted without a parent. The fits with a parent start from these fits.
#pragma once

#include <deque>
#include <vector>

#include "design/products.hpp"
#include "edges/edge_weights.hpp"
#include "edges/parent_fit.hpp"

namespace labelweave::edges {

class BaseFits {
  public:
    BaseFits(const Problems& problems, const design::ProductDesign& train, const design::ProductDesign& held,
             std::size_t group);

    // Start with these targets, up to a group of them, at the given coefficients.
    void take(const std::size_t* targets, std::size_t n_targets);
    // Scores, gradients and norms at the coefficients of the bases, and if asked for the factors of their Hessians.
    void evaluate(bool factorise);
    // Far from its base a fit is preconditioned badly: it continues from its present point, with the Hessian there.
    // This point becomes the only current base.
    BaseFit& recentre(const StalledFit& stalled);

    std::vector<BaseFit*>::const_iterator begin() const { return current_.begin(); }
    std::vector<BaseFit*>::const_iterator end() const { return current_.end(); }

    design::Products train, held;

  private:
    void load(std::size_t target, BaseFit& base) const;
    // Products of a vector of every base.
    void forward(design::Products& products, Vector BaseFit::* from, Vector BaseFit::* to);
    void backward(design::Products& products, Vector BaseFit::* from, Vector BaseFit::* to);
    void gather(Vector BaseFit::* from, Vector BaseFit::* to);

    const Problems& p_;
    std::size_t n_, n_held_, width_;
    std::deque<BaseFit> room_;  // for a group, and last for a fit that goes on alone
    std::vector<BaseFit*> current_;
    const double* in_[kLanes];
    double* out_[kLanes];
};

}  // namespace labelweave::edges
