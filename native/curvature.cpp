#include "curvature.hpp"

#include <algorithm>
#include <cmath>

namespace labelweave {
namespace {

// Beyond this order a factor no longer fits the cache.
constexpr std::size_t kLargestOrder = 1024;
// Share of its penalty above which a feature's curvature makes it part of the core.
constexpr double kCoreShare = 0.05;
constexpr std::size_t kRowBlock = 128;
constexpr double kLeastDiagonal = 1e-290;

LABELWEAVE_KERNEL void dense_moments(const Design& design, const double* curvature, double* squares, double* sums) {
    for (std::size_t row = 0; row < design.n_rows; ++row) {
        const double* x = design.dense + row * design.n_features;
        const double d = curvature[row];
        for (std::size_t f = 0; f < design.n_features; ++f) {
            const double dx = d * x[f];
            sums[f] += dx;
            squares[f] += dx * x[f];
        }
    }
}

void sparse_moments(const Design& design, const double* curvature, double* squares, double* sums) {
    const Csr& columns = design.sparse_columns;
    for (std::size_t f = 0; f < design.n_features; ++f)
        for (std::int64_t k = columns.indptr[f]; k < columns.indptr[f + 1]; ++k) {
            const double x = columns.value(k), dx = curvature[columns.indices[k]] * x;
            sums[f] += dx;
            squares[f] += dx * x;
        }
}

// row += weight * the entries of one row of X that are in the core up to `last`.
LABELWEAVE_INLINE void add_row(const std::int32_t* ranks, const float* values, std::int64_t begin, std::int64_t end,
                               std::int32_t last, float weight, float* row) {
    for (std::int64_t k = begin; k < end && ranks[k] < last; ++k) row[ranks[k]] += weight * values[k];
}

}  // namespace

CurvatureFactor::CurvatureFactor(const Design& design)
    : design_(design), squares_(design.n_features), sums_(design.n_features), rank_(design.n_features),
      diagonal_(design.n_features) {}

void CurvatureFactor::make(const double* curvature, double penalty) {
    measure(curvature);
    choose_core(penalty);
    const std::size_t order = core_.size();
    factor_.scale.resize(order);
    for (std::size_t f = 0; f < design_.n_features; ++f) diagonal_[f] = std::min(squares_[f], kLargestSquare) + penalty;
    for (std::size_t i = 0; i + 1 < order; ++i) factor_.scale[i] = 1.0 / std::sqrt(diagonal_[core_[i]]);
    factor_.scale[order - 1] = 1.0 / std::sqrt(std::max(total_, kLeastDiagonal));
    factor_.lower.assign(packed(order, 0), 0.0f);
    if (design_.dense)
        correlate_dense(curvature);
    else
        correlate_sparse(curvature);
    for (std::size_t i = 0; i < order; ++i) factor_.lower[packed(i, i)] = 1.0f;
    factorise(factor_.lower.data(), order);
    work_.resize(order * kLanes);
    if (r_.size() < order) r_ = LaneArray(order), x_ = LaneArray(order);
}

void CurvatureFactor::measure(const double* curvature) {
    std::fill(squares_.begin(), squares_.end(), 0.0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    total_ = 0;
    for (std::size_t row = 0; row < design_.n_rows; ++row) total_ += curvature[row];
    if (design_.dense)
        dense_moments(design_, curvature, squares_.data(), sums_.data());
    else
        sparse_moments(design_, curvature, squares_.data(), sums_.data());
}

void CurvatureFactor::choose_core(double penalty) {
    core_.clear();
    for (std::size_t f = 0; f < design_.n_features; ++f)
        if (squares_[f] > kCoreShare * penalty) core_.push_back(f);
    if (core_.size() >= kLargestOrder) {
        const auto last = core_.begin() + (kLargestOrder - 1);
        std::nth_element(core_.begin(), last, core_.end(), [&](std::size_t a, std::size_t b) {
            return squares_[a] != squares_[b] ? squares_[a] > squares_[b] : a < b;
        });
        core_.erase(last, core_.end());
        std::sort(core_.begin(), core_.end());
    }
    std::fill(rank_.begin(), rank_.end(), -1);
    for (std::size_t i = 0; i < core_.size(); ++i) rank_[core_[i]] = static_cast<std::int32_t>(i);
    core_.push_back(design_.intercept());
}

// Rows scaled by the roots of their curvatures turn A'DA into a plain Gram matrix.
void CurvatureFactor::correlate_dense(const double* curvature) {
    const std::size_t order = core_.size(), stride = order + kTileRows + kTileColumns;
    row_block_.assign(kRowBlock * stride, 0.0);
    const double* rows[kRowBlock];
    for (std::size_t i = 0; i < kRowBlock; ++i) rows[i] = row_block_.data() + i * stride;
    for (std::size_t begin = 0; begin < design_.n_rows; begin += kRowBlock) {
        const std::size_t n = std::min(kRowBlock, design_.n_rows - begin);
        for (std::size_t i = 0; i < n; ++i) {
            const double* x = design_.dense + (begin + i) * design_.n_features;
            const double root = std::sqrt(curvature[begin + i]);
            double* row = row_block_.data() + i * stride;
            for (std::size_t k = 0; k + 1 < order; ++k) row[k] = root * x[core_[k]];
            row[order - 1] = root;
        }
        for (std::size_t i0 = 0; i0 < order; i0 += kTileRows)
            for (std::size_t j0 = 0; j0 < i0 + kTileRows; j0 += kTileColumns)
                correlate_tile(rows, n, i0, j0, factor_.scale, factor_.lower.data());
    }
}

void CurvatureFactor::correlate_sparse(const double* curvature) {
    const Csr &x = design_.sparse, &columns = design_.sparse_columns;
    core_indptr_.assign(1, 0);
    core_ranks_.clear();
    core_values_.clear();
    for (std::size_t row = 0; row < design_.n_rows; ++row) {
        for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k) {
            const std::int32_t rank = rank_[x.indices[k]];
            if (rank < 0) continue;
            core_ranks_.push_back(rank);
            core_values_.push_back(static_cast<float>(x.value(k) * factor_.scale[rank]));
        }
        core_indptr_.push_back(static_cast<std::int64_t>(core_ranks_.size()));
    }
    const std::size_t last = core_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
        float* lower = factor_.lower.data() + packed(i, 0);
        for (std::int64_t k = columns.indptr[core_[i]]; k < columns.indptr[core_[i] + 1]; ++k) {
            const std::int32_t row = columns.indices[k];
            const auto weight = static_cast<float>(curvature[row] * columns.value(k) * factor_.scale[i]);
            if (weight != 0.0f)
                add_row(core_ranks_.data(), core_values_.data(), core_indptr_[row], core_indptr_[row + 1],
                        static_cast<std::int32_t>(i), weight, lower);
        }
        factor_.lower[packed(last, i)] = static_cast<float>(sums_[core_[i]] * factor_.scale[i] * factor_.scale[last]);
    }
}

void CurvatureFactor::solve(int n, const double* const* r, double* const* x) {
    const std::size_t order = core_.size();
    for (std::size_t i = 0; i < order; ++i)
        for (int k = 0; k < n; ++k) r_[i][k] = r[k][core_[i]];
    solve_factored(factor_, order, r_.data(), work_.data(), x_.data());
    for (int k = 0; k < n; ++k) {
        for (std::size_t f = 0; f < design_.n_features; ++f) x[k][f] = r[k][f] / diagonal_[f];
        for (std::size_t i = 0; i < order; ++i) x[k][core_[i]] = x_[i][k];
    }
}

}  // namespace labelweave
