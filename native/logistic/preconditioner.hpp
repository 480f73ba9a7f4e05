// Preconditioners for the Newton systems X'DX + penalty of many problems that share X.
//
// Replacing the row curvatures D by their mean makes the system d (A'A + ridge I): one Gram matrix
// and a handful of Cholesky factors (ridges rounded to powers of four) serve all problems. A sample of
// the rows and single precision are accurate enough to precondition conjugate gradients. If the Gram matrix would cost
// more than it saves (sparse or wide X), its diagonal replaces it.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "design/design.hpp"
#include "linalg/cholesky.hpp"
#include "threads/thread_team.hpp"

namespace labelweave::logistic {

class Preconditioner {
  public:
    Preconditioner(const design::Design& design, threads::ThreadTeam& team);

    bool factored() const { return !correlations_.empty(); }
    const double* squares() const { return squares_.data(); }
    // Whether some features are too large to be squared: residuals are then measured wrongly.
    bool overflowed() const { return overflowed_; }

    // The power of four nearest to a ridge, as the exponent that names its factor.
    static int level(double ridge);

    // The factor of a level, made on first use; safe to call from several threads.
    const linalg::CholeskyFactor& factor(int level);

  private:
    void correlate(const design::Design& design, threads::ThreadTeam& team);

    std::size_t order_ = 0;  // features and intercept
    bool overflowed_ = false;
    std::vector<double> squares_;
    std::vector<float> correlations_;  // packed A'A with columns scaled to length one
    std::vector<double> norms_;        // the lengths they had
    std::map<int, linalg::CholeskyFactor> factors_;
    std::mutex mutex_;
};

}  // namespace labelweave::logistic
