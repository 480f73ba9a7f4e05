// Preconditioners for the Newton systems X'DX + penalty of many problems that share X.
//
// Replacing the row curvatures D by their mean makes the system d (A'A + ridge I): one Gram matrix
// and a handful of Cholesky factors (ridges rounded to powers of four) serve all problems. A sample of
// the rows and single precision are good enough to steer conjugate gradients by. Where the Gram matrix
// would cost more than it saves (sparse or wide X), its diagonal stands in.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "design.hpp"

namespace labelweave {

// Packed lower-triangular Cholesky factor: row i starts at i (i + 1) / 2.
using Factor = std::vector<float>;

class Preconditioner {
  public:
    Preconditioner(const Design& design, int n_threads);

    bool factored() const { return !gram_.empty(); }
    const double* squares() const { return squares_.data(); }

    // The power of four nearest to a ridge, as the exponent that names its factor.
    static int level(double ridge);

    // The factor of a level, made on first use; safe to call from several threads.
    const Factor& factor(int level);

  private:
    std::size_t order_ = 0;  // features and intercept
    std::vector<double> squares_;
    std::vector<float> gram_;
    std::map<int, Factor> factors_;
    std::mutex mutex_;
};

// solution = (L L')^-1 r for eight right-hand sides, in single precision; work has room for order * kLanes.
void solve_factored(const Factor& factor, std::size_t order, const Lanes* r, float* work, Lanes* solution);

}  // namespace labelweave
