// A pass over sparse X: SIMD over the lanes of a block.
#include <algorithm>

#include "design/gather.hpp"
#include "logistic/evaluation.hpp"
#include "logistic/pass.hpp"

namespace labelweave::logistic {
namespace {

// Rows go through a pass in chunks that stay in the cache.
constexpr std::size_t kSparseChunk = 128;

LABELWEAVE_INLINE void respond_sparse(const Pass& pass, std::size_t first, std::size_t n, const Lanes* u, Lanes* r,
                                      Tally& tally) {
    const Lanes* curvature = reinterpret_cast<const Lanes*>(pass.curvature) + first;
    Lanes total = tally.product;
    for (std::size_t i = 0; i < n; ++i) {
        r[i] = curvature[i] * u[i];
        total += r[i] * u[i];
    }
    tally.product = total;
    for (int lane = 0; lane < kLanes; ++lane)
        if (pass.evaluating[lane])
            evaluate_lane<kSparseChunk, kLanes>(pass, lane, first, n, reinterpret_cast<const double*>(u) + lane,
                                                reinterpret_cast<double*>(r) + lane, tally);
}

}  // namespace

std::size_t sparse_room(const design::Design& design) {
    return design.sparse_columns.indptr ? design.n_rows : kSparseChunk;
}

LABELWEAVE_KERNEL void sparse_pass(const Pass& pass, Lanes* responses, Lanes* gradient, Tally& tally) {
    const design::Design& design = pass.design;
    const Lanes* extra_direction = pass.direction + design.first_extra();
    Lanes* extra_gradient = gradient + design.first_extra();
    Lanes u[kSparseChunk], total{};
    if (pass.sums) pass.sums->clear();
    std::fill(extra_gradient, extra_gradient + design.n_extras, Lanes{});
    for (std::size_t first = 0; first < design.n_rows; first += kSparseChunk) {
        const std::size_t n = std::min(kSparseChunk, design.n_rows - first);
        Lanes* r = pass.sums ? responses : responses + first;
        for (std::size_t i = 0; i < n; ++i) {
            u[i] = design::gather(design.sparse, first + i, pass.direction, pass.direction[design.intercept()]);
            if (design.n_extras) u[i] = design::gather(design.extras, first + i, extra_direction, u[i]);
        }
        respond_sparse(pass, first, n, u, r, tally);
        for (std::size_t i = 0; i < n; ++i) {
            if (pass.sums) pass.sums->add(first + i, r[i]);
            if (design.n_extras) design::scatter(design.extras, first + i, r[i], extra_gradient);
            total += r[i];
        }
    }
    if (pass.sums)
        pass.sums->write(gradient);
    else
        for (std::size_t f = 0; f < design.n_features; ++f)
            gradient[f] = design::gather(design.sparse_columns, f, responses, Lanes{});
    gradient[design.intercept()] = total;
}

}  // namespace labelweave::logistic
