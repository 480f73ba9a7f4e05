#include "edges/hessian_factor.hpp"

#include <algorithm>
#include <cmath>

#include "linalg/gram.hpp"

namespace labelweave::edges {
namespace {

// Beyond this order a factor no longer fits the cache.
constexpr std::size_t kLargestOrder = 1024;
// Share of its penalty above which a feature's curvature makes it part of the core.
constexpr double kCoreShare = 0.1;
constexpr double kLeastDiagonal = 1e-290;

LABELWEAVE_KERNEL void dense_moments(const design::Design& design, const double* curvature, double* squares,
                                     double* sums) {
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

void sparse_moments(const design::Design& design, const double* curvature, double* squares, double* sums) {
    const design::Csr& columns = design.sparse_columns;
    for (std::size_t f = 0; f < design.n_features; ++f)
        for (std::int64_t k = columns.indptr[f]; k < columns.indptr[f + 1]; ++k) {
            const double x = columns.value(k), dx = curvature[columns.indices[k]] * x;
            sums[f] += dx;
            squares[f] += dx * x;
        }
}

// Row i of X'DX up to its diagonal, for the core of a sparse X: sums over the rows that have feature i of
// their entries before it. `n_before` counts them; features are taken in turn, so that it grows by one.
template <bool Unit>
LABELWEAVE_INLINE void add_products(const CoreRows& x, const design::Csr& columns, std::size_t feature,
                                    const double* curvature, std::int32_t* n_before, float* sums) {
    for (std::int64_t k = columns.indptr[feature]; k < columns.indptr[feature + 1]; ++k) {
        const std::int32_t row = columns.indices[k];
        const std::int32_t n = n_before[row]++;
        const std::int32_t* ranks = x.ranks.data() + x.indptr[row];
        const float* values = Unit ? nullptr : x.values.data() + x.indptr[row];
        const auto weight = static_cast<float>(curvature[row] * columns.value(k));
        for (std::int32_t i = 0; i < n; ++i) sums[ranks[i]] += Unit ? weight : weight * values[i];
    }
}

LABELWEAVE_KERNEL void core_products(const CoreRows& x, const design::Csr& columns,
                                     const std::vector<std::size_t>& core, const double* curvature,
                                     std::int32_t* n_before, float* lower) {
    for (std::size_t i = 0; i + 1 < core.size(); ++i) {
        if (columns.values)
            add_products<false>(x, columns, core[i], curvature, n_before, lower + linalg::packed(i, 0));
        else
            add_products<true>(x, columns, core[i], curvature, n_before, lower + linalg::packed(i, 0));
    }
}

}  // namespace

HessianFactor::HessianFactor(const design::Design& design)
    : design_(design), squares_(design.n_features), sums_(design.n_features), rank_(design.n_features),
      diagonal_(design.n_features) {}

void HessianFactor::make(const double* curvature, double penalty) {
    measure(curvature);
    choose_core(penalty);
    const std::size_t order = core_.size();
    factor_.scale.resize(order);
    for (std::size_t f = 0; f < design_.n_features; ++f)
        diagonal_[f] = std::min(squares_[f], design::kLargestSquare) + penalty;
    for (std::size_t i = 0; i + 1 < order; ++i) factor_.scale[i] = 1.0 / std::sqrt(diagonal_[core_[i]]);
    factor_.scale[order - 1] = 1.0 / std::sqrt(std::max(total_, kLeastDiagonal));
    factor_.lower.assign(linalg::packed(order, 0), 0.0f);
    if (design_.dense)
        correlate_dense(curvature);
    else
        correlate_sparse(curvature);
    for (std::size_t i = 0; i < order; ++i) factor_.lower[linalg::packed(i, i)] = 1.0f;
    linalg::factorise(factor_.lower.data(), order);
    work_.resize(order * kLanes);
    if (r_.size() < order) r_ = LaneArray(order), x_ = LaneArray(order);
}

void HessianFactor::measure(const double* curvature) {
    std::fill(squares_.begin(), squares_.end(), 0.0);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    total_ = 0;
    for (std::size_t row = 0; row < design_.n_rows; ++row) total_ += curvature[row];
    if (design_.dense)
        dense_moments(design_, curvature, squares_.data(), sums_.data());
    else
        sparse_moments(design_, curvature, squares_.data(), sums_.data());
}

void HessianFactor::choose_core(double penalty) {
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
void HessianFactor::correlate_dense(const double* curvature) {
    const std::size_t order = core_.size();
    linalg::GramBlock block(order);
    for (std::size_t begin = 0; begin < design_.n_rows; begin += linalg::GramBlock::kRows) {
        block.read(std::min(linalg::GramBlock::kRows, design_.n_rows - begin), [&](std::size_t row) {
            const double root = std::sqrt(curvature[begin + row]);
            const double* x = design_.dense + (begin + row) * design_.n_features;
            return [=](std::size_t k) { return root * factor_.scale[k] * (k + 1 < order ? x[core_[k]] : 1.0); };
        });
        for (std::size_t t = 0; t < block.n_tile_rows(); ++t) block.add_tile_row(t, factor_.lower.data());
    }
}

void HessianFactor::correlate_sparse(const double* curvature) {
    const design::Csr& x = design_.sparse;
    const std::size_t last = core_.size() - 1;
    rows_.indptr.assign(1, 0);
    rows_.ranks.clear();
    rows_.values.clear();
    for (std::size_t row = 0; row < design_.n_rows; ++row) {
        for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k) {
            const std::int32_t rank = rank_[x.indices[k]];
            if (rank < 0) continue;
            rows_.ranks.push_back(rank);
            if (x.values) rows_.values.push_back(static_cast<float>(x.values[k]));
        }
        rows_.indptr.push_back(static_cast<std::int64_t>(rows_.ranks.size()));
    }
    n_before_.assign(design_.n_rows, 0);
    core_products(rows_, design_.sparse_columns, core_, curvature, n_before_.data(), factor_.lower.data());
    for (std::size_t i = 0; i < last; ++i) {
        float* row = factor_.lower.data() + linalg::packed(i, 0);
        for (std::size_t j = 0; j < i; ++j) row[j] *= static_cast<float>(factor_.scale[i] * factor_.scale[j]);
        factor_.lower[linalg::packed(last, i)] =
            static_cast<float>(sums_[core_[i]] * factor_.scale[i] * factor_.scale[last]);
    }
}

void HessianFactor::gather_core(int n, const double* const* r) {
    for (std::size_t i = 0; i < core_.size(); ++i)
        for (int k = 0; k < n; ++k) r_[i][k] = r[k][core_[i]];
}

void HessianFactor::norms(int n, const double* const* r, double* squares) {
    gather_core(n, r);
    Lanes core_squares;
    linalg::factored_squares(factor_, core_.size(), r_.data(), work_.data(), core_squares);
    for (int k = 0; k < n; ++k) {
        squares[k] = core_squares[k];
        for (std::size_t f = 0; f < design_.n_features; ++f)
            if (rank_[f] < 0) squares[k] += r[k][f] * (r[k][f] / diagonal_[f]);
    }
}

void HessianFactor::solve(int n, const double* const* r, double* const* x) {
    const std::size_t order = core_.size();
    gather_core(n, r);
    linalg::solve_factored(factor_, order, r_.data(), work_.data(), x_.data());
    for (int k = 0; k < n; ++k) {
        for (std::size_t f = 0; f < design_.n_features; ++f) x[k][f] = r[k][f] / diagonal_[f];
        for (std::size_t i = 0; i < order; ++i) x[k][core_[i]] = x_[i][k];
    }
}

}  // namespace labelweave::edges
