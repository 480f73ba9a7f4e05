#include <algorithm>

#include "random/uniform_lanes.hpp"
#include "simd/lane_math.hpp"
#include "threads/parallel.hpp"
#include "tree/factors.hpp"
#include "tree/tree.hpp"

namespace labelweave::tree {
namespace {

constexpr std::size_t kRowBlock = 64;

// Eight rows at a time, for the random numbers cost more than all the rest.
struct SampleBlock {
    explicit SampleBlock(const Tree& forest)
        : tree(forest), logits(2 * forest.n_labels), one(2 * forest.n_labels), y(forest.n_labels) {}

    const Tree& tree;
    LaneArray logits;
    LaneArray one;  // [i, a]: P(y_i = 1 | parent at a)
    LaneArray y;    // 0 or 1
    LaneBits row_low{}, row_high{};

    void load(std::size_t first, std::size_t size, const std::int64_t* rows) {
        for (std::size_t lane = 0; lane < size; ++lane) {
            const double* z = tree.row(first + lane);
            for (std::size_t k = 0; k < logits.size(); ++k) logits[k][lane] = z[k];
            const auto id = static_cast<std::uint64_t>(rows[first + lane]);
            row_low[lane] = id & 0xFFFFFFFFu;
            row_high[lane] = id >> 32;
        }
    }
};

LABELWEAVE_KERNEL void convert(SampleBlock& b) {
    for (std::size_t k = 0; k < b.logits.size(); ++k) b.one[k] = positive_conditional(b.logits[k]);
}

// A single draw needs the conditional of one value of each parent only.
LABELWEAVE_KERNEL void draw_once(SampleBlock& b, std::uint64_t seed, std::uint32_t number) {
    const Lanes none{}, certain = broadcast(1.0);
    for (std::size_t t = 0; t < b.tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(b.tree.order[t]);
        const std::int64_t parent = b.tree.parents[i];
        Lanes z = b.logits[2 * i];
        if (parent >= 0) z = select(b.y[parent] > 0.5, b.logits[2 * i + 1], z);
        const Lanes u = random::uniform_lanes(seed, b.row_low, b.row_high, number, static_cast<std::uint32_t>(i));
        b.y[i] = select(u < positive_conditional(z), certain, none);
    }
}

LABELWEAVE_KERNEL void draw(SampleBlock& b, std::uint64_t seed, std::uint32_t number) {
    const Lanes none{}, certain = broadcast(1.0);
    for (std::size_t t = 0; t < b.tree.n_labels; ++t) {
        const auto i = static_cast<std::size_t>(b.tree.order[t]);
        const std::int64_t parent = b.tree.parents[i];
        Lanes probability = b.one[2 * i];
        if (parent >= 0) probability = select(b.y[parent] > 0.5, b.one[2 * i + 1], probability);
        const Lanes u = random::uniform_lanes(seed, b.row_low, b.row_high, number, static_cast<std::uint32_t>(i));
        b.y[i] = select(u < probability, certain, none);
    }
}

}  // namespace

void sample(const Tree& tree, const std::int64_t* rows, std::uint64_t seed, std::size_t n_draws, std::int8_t* labels,
            int n_threads) {
    threads::parallel_rows(tree.n_rows, kRowBlock, n_threads, [&](std::size_t begin, std::size_t end) {
        SampleBlock block(tree);
        for (std::size_t first = begin; first < end; first += kLanes) {
            const std::size_t size = std::min<std::size_t>(kLanes, end - first);
            block.load(first, size, rows);
            if (n_draws > 1) convert(block);
            for (std::size_t number = 0; number < n_draws; ++number) {
                (n_draws > 1 ? draw : draw_once)(block, seed, static_cast<std::uint32_t>(number));
                for (std::size_t lane = 0; lane < size; ++lane) {
                    std::int8_t* to = labels + ((first + lane) * n_draws + number) * tree.n_labels;
                    for (std::size_t i = 0; i < tree.n_labels; ++i) to[i] = block.y[i][lane] > 0.5;
                }
            }
        }
    });
}

}  // namespace labelweave::tree
