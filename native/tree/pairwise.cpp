#include <algorithm>
#include <vector>

#include "simd/transpose.hpp"
#include "threads/parallel.hpp"
#include "tree/factors.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {
namespace {

// Eight rows. One label after the other is the source. Its joint probabilities with its ancestors are computed on the
// way up, those with all other labels on the way down. All terms are positive, so small probabilities keep their
// digits.
struct PairsBlock {
    explicit PairsBlock(const Tree& forest)
        : tree(forest), factors(forest.n_labels), zero(forest.n_labels), one(forest.n_labels),
          with_zero(forest.n_labels), with_one(forest.n_labels + kLanes), above(forest.n_labels) {}

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

// square[i][j] and square[j][i] are what source i finds for j >= i, so that both are equal to the last bit. Sources
// come in groups of eight, whose rows and columns are then written a whole vector at a time.
class PairsWriter {
  public:
    explicit PairsWriter(std::size_t n_labels)
        : n_(n_labels), stride_((n_labels + kLanes - 1) / kLanes * kLanes), rows_(kLanes * stride_) {}

    // Keep the results of a source, one row for each lane; `found` has room for whole vectors.
    LABELWEAVE_KERNEL void keep(std::size_t source, const LaneArray& found) {
        for (std::size_t i = source / kLanes * kLanes; i < n_; i += kLanes) {
            Lanes by_lane[kLanes];
            transpose(found.data() + i, by_lane);
            for (int lane = 0; lane < kLanes; ++lane)
                rows_[(lane * stride_ + i) + source % kLanes] = smaller(by_lane[lane], 1.0);
        }
    }

    // Write the rows and columns of the sources from `first` on to the square of each lane.
    LABELWEAVE_KERNEL void write(std::size_t first, std::size_t n_lanes, double* squares) {
        const std::size_t n_sources = std::min<std::size_t>(kLanes, n_ - first);
        for (std::size_t lane = 0; lane < n_lanes; ++lane)
            for (std::size_t i = first; i < n_; i += kLanes) {
                Lanes* row = rows_.data() + lane * stride_ + i;
                if (i == first) mirror_triangle(row);
                Lanes columns[kLanes];
                transpose(row, columns);
                double* square = squares + lane * n_ * n_;
                for (std::size_t s = 0; s < n_sources; ++s) store_some(row[s], square + (first + s) * n_ + i, n_ - i);
                if (i == first) continue;
                for (std::size_t k = i; k < std::min(n_, i + kLanes); ++k)
                    store_some(columns[k - i], square + k * n_ + first, n_ - first);
            }
    }

  private:
    // Rounding may leave a probability above one.
    LABELWEAVE_INLINE static Lanes smaller(const Lanes& a, const Lanes& b) { return select(a < b, a, b); }

    static void mirror_triangle(Lanes* square) {
        for (int i = 0; i < kLanes; ++i)
            for (int j = 0; j < i; ++j) square[i][j] = square[j][i];
    }

    LABELWEAVE_INLINE static void store_some(const Lanes& x, double* to, std::size_t most) {
        if (most >= kLanes) return store(to, x);
        for (std::size_t i = 0; i < most; ++i) to[i] = x[i];
    }

    std::size_t n_, stride_;
    LaneArray rows_;  // [lane, vector of labels, source]: eight by eight numbers together
};

}  // namespace

void pairwise(const Tree& tree, double* pairwise, int n_threads) {
    const std::size_t n = tree.n_labels;
    threads::parallel_rows(tree.n_rows, 4 * kLanes, n_threads, [&](std::size_t begin, std::size_t end) {
        PairsBlock block(tree);
        PairsWriter writer(n);
        for (std::size_t first = begin; first < end; first += kLanes) {
            const std::size_t size = std::min<std::size_t>(kLanes, end - first);
            block.factors.load(tree, first, size);
            fill_marginals(block);
            for (std::size_t source = 0; source < n; ++source) {
                fill_from(block, source);
                writer.keep(source, block.with_one);
                if (source % kLanes == kLanes - 1 || source == n - 1)
                    writer.write(source / kLanes * kLanes, size, pairwise + first * n * n);
            }
        }
    });
}

}  // namespace labelweave::tree
