#include "design/linear_scores.hpp"

#include <algorithm>
#include <vector>

#include "threads/parallel.hpp"

namespace labelweave::design {
namespace {

constexpr std::size_t kRowBlock = 256;

// Weights feature-major, outputs padded to whole vectors: row f holds the weights of feature f.
LaneArray by_feature(const Design& design, const double* weights, std::size_t n_outputs, std::size_t n_vectors) {
    LaneArray packed(design.n_features * n_vectors);
    for (std::size_t k = 0; k < n_outputs; ++k)
        for (std::size_t f = 0; f < design.n_features; ++f)
            packed[f * n_vectors + k / kLanes][k % kLanes] = weights[k * design.n_features + f];
    return packed;
}

// One vector of outputs for eight rows of dense X.
LABELWEAVE_INLINE void dense_tile(const double* const* x, std::size_t n_features, const Lanes* weights,
                                  std::size_t stride, const Lanes& start, Lanes* out) {
    Lanes sums[kLanes];
    for (int i = 0; i < kLanes; ++i) sums[i] = start;
    for (std::size_t f = 0; f < n_features; ++f) {
        const Lanes w = weights[f * stride];
        for (int i = 0; i < kLanes; ++i) sums[i] += x[i][f] * w;
    }
    for (int i = 0; i < kLanes; ++i) out[i] = sums[i];
}

LABELWEAVE_KERNEL void dense_scores(const Design& design, const Lanes* weights, const Lanes* intercept,
                                    std::size_t n_vectors, std::size_t begin, std::size_t end, Lanes* out) {
    for (std::size_t first = begin; first < end; first += kLanes) {
        const double* x[kLanes];
        for (std::size_t i = 0; i < kLanes; ++i) x[i] = design.dense + std::min(first + i, end - 1) * design.n_features;
        for (std::size_t v = 0; v < n_vectors; ++v) {
            Lanes tile[kLanes];
            dense_tile(x, design.n_features, weights + v, n_vectors, intercept[v], tile);
            for (std::size_t i = 0; i < kLanes && first + i < end; ++i)
                out[(first - begin + i) * n_vectors + v] = tile[i];
        }
    }
}

LABELWEAVE_KERNEL void sparse_scores(const Design& design, const Lanes* weights, const Lanes* intercept,
                                     std::size_t n_vectors, std::size_t begin, std::size_t end, Lanes* out) {
    const Csr& x = design.sparse;
    for (std::size_t row = begin; row < end; ++row) {
        Lanes* sums = out + (row - begin) * n_vectors;
        for (std::size_t v = 0; v < n_vectors; ++v) sums[v] = intercept[v];
        for (std::int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k)
            for (std::size_t v = 0; v < n_vectors; ++v) sums[v] += x.values[k] * weights[x.indices[k] * n_vectors + v];
    }
}

}  // namespace

void linear_scores(const Design& design, const double* weights, const double* intercept, std::size_t n_outputs,
                   double* scores, int n_threads) {
    const std::size_t n_vectors = (n_outputs + kLanes - 1) / kLanes;
    const LaneArray packed = by_feature(design, weights, n_outputs, n_vectors);
    LaneArray start(n_vectors);
    std::copy_n(intercept, n_outputs, reinterpret_cast<double*>(start.data()));
    threads::parallel_rows(design.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        LaneArray out((end - begin) * n_vectors);
        (design.dense ? dense_scores : sparse_scores)(design, packed.data(), start.data(), n_vectors, begin, end,
                                                      out.data());
        for (std::size_t row = begin; row < end; ++row)
            std::copy_n(reinterpret_cast<const double*>(&out[(row - begin) * n_vectors]), n_outputs,
                        scores + row * n_outputs);
    });
}

}  // namespace labelweave::design
