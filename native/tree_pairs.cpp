#include <algorithm>
#include <vector>

#include "simd/lanes.hpp"
#include "parallel.hpp"
#include "tree.hpp"
#include "tree_factors.hpp"

namespace labelweave {
namespace {

// Eight rows. One label after the other is the source: what it says about its ancestors is found on the way up,
// what it says about everything else on the way down. All terms are positive: small probabilities keep their digits.
struct PairsBlock {
    explicit PairsBlock(const Tree& forest)
        : tree(forest), factors(forest.n_labels), zero(forest.n_labels), one(forest.n_labels),
          with_zero(forest.n_labels), with_one(forest.n_labels), above(forest.n_labels) {}

    const Tree& tree;
    LaneFactors factors;
    LaneArray zero, one;            // [i]: P(y_i = 0), P(y_i = 1)
    LaneArray with_zero, with_one;  // the same together with y_source = 1
    std::vector<char> above;        // whether a label is the source or an ancestor of it
};

// value(y_i) from value(y_parent), for y_i = 0 and 1.
LABELWEAVE_INLINE void pass_down(const PairsBlock& b, std::size_t i, LaneArray& zero, LaneArray& one) {
    const auto parent = static_cast<std::size_t>(b.tree.parents[i]);
    const Lanes p0 = zero[parent], p1 = one[parent];
    one[i] = p0 * b.factors.one[2 * i] + p1 * b.factors.one[2 * i + 1];
    zero[i] = p0 * b.factors.zero[2 * i] + p1 * b.factors.zero[2 * i + 1];
}

LABELWEAVE_KERNEL void fill_marginals(PairsBlock& b) {
    for (std::size_t t = 0; t < b.tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(b.tree.order[t]);
        if (b.tree.parents[i] >= 0) {
            pass_down(b, i, b.zero, b.one);
        } else {
            b.zero[i] = b.factors.zero[2 * i];
            b.one[i] = b.factors.one[2 * i];
        }
    }
}

LABELWEAVE_KERNEL void fill_from(PairsBlock& b, std::size_t source) {
    std::fill(b.above.begin(), b.above.end(), 0);
    Lanes given_zero{}, given_one = broadcast(1.0);  // P(y_source = 1 | y_i), i on the way up
    for (auto i = static_cast<std::int64_t>(source); i >= 0; i = b.tree.parents[i]) {
        b.above[i] = 1;
        b.with_zero[i] = b.zero[i] * given_zero;
        b.with_one[i] = b.one[i] * given_one;
        const Lanes when_zero = b.factors.zero[2 * i] * given_zero + b.factors.one[2 * i] * given_one;
        given_one = b.factors.zero[2 * i + 1] * given_zero + b.factors.one[2 * i + 1] * given_one;
        given_zero = when_zero;
    }
    for (std::size_t t = 0; t < b.tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(b.tree.order[t]);
        if (b.above[i]) continue;
        if (b.tree.parents[i] >= 0) {
            pass_down(b, i, b.with_zero, b.with_one);
        } else {
            b.with_zero[i] = b.zero[i] * b.one[source];
            b.with_one[i] = b.one[i] * b.one[source];
        }
    }
}

// Copy the upper triangle to the lower one, tile by tile: whole columns would miss the cache at every step.
void mirror(double* square, std::size_t n) {
    constexpr std::size_t kTile = 16;
    for (std::size_t i0 = 0; i0 < n; i0 += kTile)
        for (std::size_t j0 = 0; j0 <= i0; j0 += kTile)
            for (std::size_t i = i0; i < std::min(n, i0 + kTile); ++i)
                for (std::size_t j = j0; j < std::min(i, j0 + kTile); ++j) square[i * n + j] = square[j * n + i];
}

}  // namespace

void tree_pairwise(const Tree& tree, double* pairwise, int n_threads) {
    const std::size_t n = tree.n_labels;
    parallel_rows(tree.n_rows, 4 * kLanes, n_threads, [&](std::size_t begin, std::size_t end) {
        PairsBlock block(tree);
        for (std::size_t first = begin; first < end; first += kLanes) {
            const std::size_t size = std::min<std::size_t>(kLanes, end - first);
            double* out = pairwise + first * n * n;
            block.factors.load(tree, first, size);
            fill_marginals(block);
            for (std::size_t source = 0; source < n; ++source) {
                fill_from(block, source);
                for (std::size_t lane = 0; lane < size; ++lane)
                    for (std::size_t i = source; i < n; ++i)  // rounding may leave a probability above one
                        out[(lane * n + source) * n + i] = std::min(1.0, block.with_one[i][lane]);
            }
            for (std::size_t lane = 0; lane < size; ++lane) mirror(out + lane * n * n, n);
        }
    });
}

}  // namespace labelweave
