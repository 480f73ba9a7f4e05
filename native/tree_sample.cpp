#include <algorithm>

#include "lane_math.hpp"
#include "parallel.hpp"
#include "tree.hpp"
#include "tree_factors.hpp"

namespace labelweave {
namespace {

// Eight rows at a time, for the random numbers cost more than all the rest.
struct SampleBlock {
    explicit SampleBlock(const Tree& forest) : tree(forest), factors(forest.n_labels), y(forest.n_labels) {}

    const Tree& tree;
    LaneFactors factors;
    LaneArray y;  // 0 or 1
    LaneBits row_low{}, row_high{};

    void load(std::size_t first, std::size_t size, const std::int64_t* rows) {
        factors.load(tree, first, size);
        for (std::size_t lane = 0; lane < size; ++lane) {
            const auto id = static_cast<std::uint64_t>(rows[first + lane]);
            row_low[lane] = id & 0xFFFFFFFFu;
            row_high[lane] = id >> 32;
        }
    }
};

LABELWEAVE_KERNEL void draw(SampleBlock& b, std::uint64_t seed, std::uint32_t number) {
    const Lanes none{}, certain = broadcast(1.0);
    for (std::size_t t = 0; t < b.tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(b.tree.order[t]);
        const std::int64_t parent = b.tree.parents[i];
        Lanes probability = b.factors.one[2 * i];
        if (parent >= 0) probability = select(b.y[parent] > 0.5, b.factors.one[2 * i + 1], probability);
        const Lanes u = uniform_lanes(seed, b.row_low, b.row_high, number, static_cast<std::uint32_t>(i));
        b.y[i] = select(u < probability, certain, none);
    }
}

}  // namespace

void tree_sample(const Tree& tree, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws,
                 std::int8_t* labels, int n_threads) {
    parallel_rows(tree.n_rows, kLanes, n_threads, [&](std::size_t begin, std::size_t end) {
        SampleBlock block(tree);
        block.load(begin, end - begin, rows);
        for (std::size_t number = 0; number < n_draws; ++number) {
            draw(block, seed, static_cast<std::uint32_t>(number));
            for (std::size_t row = begin; row < end; ++row) {
                std::int8_t* to = labels + (row * n_draws + number) * tree.n_labels;
                for (std::size_t i = 0; i < tree.n_labels; ++i) to[i] = block.y[i][row - begin] > 0.5;
            }
        }
    });
}

}  // namespace labelweave
