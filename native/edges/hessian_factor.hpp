// The Hessian A'DA + penalty of one logistic loss, A = [X | 1], by its Cholesky factor as far as that pays.
//
// Features whose curvature is small beside their penalty hardly interact: for them the diagonal is enough. The others,
// at most kLargestOrder of them, and the intercept are the core, which is factorised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "design/design.hpp"
#include "linalg/cholesky.hpp"

namespace labelweave::edges {

// The rows of a sparse X with only the features of a core, by their ranks in it.
struct CoreRows {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> ranks;
    std::vector<float> values;  // empty when they are all one
};

class HessianFactor {
  public:
    explicit HessianFactor(const design::Design& design);

    // Factorise for these row curvatures (n_rows) and this penalty of every feature.
    void make(const double* curvature, double penalty);

    // x_k = M^-1 r_k for up to eight vectors over the columns of A.
    void solve(int n, const double* const* r, double* const* x);

    // squares[k] = r_k' M^-1 r_k, for half the work.
    void norms(int n, const double* const* r, double* squares);

  private:
    void gather_core(int n, const double* const* r);
    void measure(const double* curvature);
    void choose_core(double penalty);
    void correlate_dense(const double* curvature);
    void correlate_sparse(const double* curvature);

    const design::Design& design_;
    std::vector<double> squares_, sums_;  // X'DX's diagonal and X'D1
    double total_ = 0;                    // 1'D1
    std::vector<std::size_t> core_;       // its columns in increasing order, the intercept last
    std::vector<std::int32_t> rank_;      // of every feature in the core, or -1
    std::vector<double> diagonal_;
    linalg::CholeskyFactor factor_;
    std::vector<float> work_;
    LaneArray r_, x_;
    CoreRows rows_;
    std::vector<std::int32_t> n_before_;
};

}  // namespace labelweave::edges
