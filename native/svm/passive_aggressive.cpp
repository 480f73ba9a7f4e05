#include "svm/passive_aggressive.hpp"

#include <algorithm>
#include <vector>

#include "design/row_entries.hpp"
#include "simd/lane_math.hpp"
#include "threads/parallel.hpp"

namespace labelweave::svm {
namespace {

// Rows between two looks at the interrupt.
constexpr std::size_t kRowsBetweenChecks = 64;

// The labels of some consecutive vectors, and room for what one row gives them.
struct Share {
    std::size_t first = 0, n_vectors = 0;
    LaneArray score, step;
    std::vector<std::size_t> moved;  // vectors in which a label takes a step
};

LABELWEAVE_INLINE void add_scores(const design::RowEntries& x, const PassiveAggressive& p, Share& share) {
    for (std::size_t v = 0; v < share.n_vectors; ++v)
        share.score[v] = load(p.weights + p.design.n_features * p.width + (share.first + v) * kLanes);
    for (std::size_t k = 0; k < x.size; ++k) {
        const double value = x.values[k];
        const double* weights = p.weights + x.column(k) * p.width + share.first * kLanes;
        for (std::size_t v = 0; v < share.n_vectors; ++v) share.score[v] += value * load(weights + v * kLanes);
    }
}

// step = min(C, loss / |x|^2) y: the shortest step that leaves no loss, limited by C.
LABELWEAVE_INLINE void choose_steps(const PassiveAggressive& p, std::size_t row, double square, Share& share) {
    share.moved.clear();
    const Lanes limit = broadcast(p.limits[row]), none = broadcast(0.0);
    for (std::size_t v = 0; v < share.n_vectors; ++v) {
        const std::size_t label = (share.first + v) * kLanes;
        Lanes sign{};  // stays 0 where there is no label: no step
        for (std::size_t lane = 0; lane < std::min<std::size_t>(kLanes, p.n_labels - label); ++lane)
            sign[lane] = p.labels[row * p.n_labels + label + lane] ? 1.0 : -1.0;
        const Lanes loss = 1.0 - sign * share.score[v];
        const Lanes whole = loss / square;
        const Lanes size = select(loss > 0.0, select(whole < limit, whole, limit), none);
        share.step[v] = size * sign;
        if (any(abs(share.step[v]) > 0.0)) share.moved.push_back(v);
    }
}

LABELWEAVE_INLINE void take_steps(const design::RowEntries& x, const PassiveAggressive& p, const Share& share) {
    for (std::size_t k = 0; k < x.size; ++k) {
        double* weights = p.weights + x.column(k) * p.width + share.first * kLanes;
        for (const std::size_t v : share.moved)
            store(weights + v * kLanes, load(weights + v * kLanes) + x.values[k] * share.step[v]);
    }
    if (!p.intercept) return;
    double* weights = p.weights + p.design.n_features * p.width + share.first * kLanes;
    for (const std::size_t v : share.moved) store(weights + v * kLanes, load(weights + v * kLanes) + share.step[v]);
}

LABELWEAVE_KERNEL void learn_rows(const PassiveAggressive& p, std::size_t begin, std::size_t end, Share& share) {
    for (std::size_t t = begin; t < end; ++t) {
        const auto row = static_cast<std::size_t>(p.order[t]);
        const design::RowEntries x = design::row_entries(p.design, row);
        double square = p.intercept ? 1.0 : 0.0;
        for (std::size_t k = 0; k < x.size; ++k) square += x.values[k] * x.values[k];
        add_scores(x, p, share);
        choose_steps(p, row, square, share);
        if (p.scores) {
            const std::size_t label = share.first * kLanes;
            const std::size_t n = std::min(share.n_vectors * kLanes, p.n_labels - label);
            const auto* score = reinterpret_cast<const double*>(share.score.data());
            std::copy(score, score + n, p.scores + t * p.n_labels + label);
        }
        if (!share.moved.empty()) take_steps(x, p, share);
    }
}

}  // namespace

void passive_aggressive(const PassiveAggressive& p, int n_threads, threads::Interrupt& interrupt) {
    const std::size_t n_vectors = p.width / kLanes;
    const std::size_t n_shares = std::min<std::size_t>(threads::resolve_threads(n_threads), n_vectors);
    threads::parallel_for(n_shares, n_threads, [&](std::size_t s) {
        interrupt.run([&] {
            Share share;
            share.first = s * n_vectors / n_shares;
            share.n_vectors = (s + 1) * n_vectors / n_shares - share.first;
            share.score = LaneArray(share.n_vectors);
            share.step = LaneArray(share.n_vectors);
            share.moved.reserve(share.n_vectors);
            for (std::size_t begin = 0; begin < p.n_steps; begin += kRowsBetweenChecks) {
                interrupt.check();
                learn_rows(p, begin, std::min(p.n_steps, begin + kRowsBetweenChecks), share);
            }
        });
    });
}

}  // namespace labelweave::svm
