#include "chain/gibbs.hpp"

#include <algorithm>
#include <limits>

#include "chain/gibbs_block.hpp"
#include "random/uniform_lanes.hpp"
#include "threads/parallel.hpp"

namespace labelweave::chain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2 = 0.6931471805599453;
// The scores are recomputed after this many sweeps.
constexpr std::size_t kRefresh = 8;
// The power of two is taken out of a product after this many factors. The product overflows if the mean of
// log(1 + E) exceeds 11; a sum of logarithms then replaces it.
constexpr std::size_t kFactors = 64;

// Compute scores and odds from the labels, without the rounding errors of many flips.
LABELWEAVE_KERNEL void refresh_scores(GibbsBlock& b) {
    for (std::size_t k = 0; k < b.length; ++k) b.z[k] = b.scores[k];
    for (std::size_t i = 0; i < b.length; ++i) {
        const Lanes y = b.y[i];
        if (!any(y > 0.0)) continue;
        const auto column = b.coupling.column(i);
        for (std::size_t c = 0; c < column.size; ++c) b.z[column.position[c]] += y * column.effect[c];
    }
    for (std::size_t k = 0; k < b.length; ++k) {
        const Lanes small = exp_nonpositive(-abs(b.z[k]));
        b.odds[k] = select(b.z[k] > 0.0, 1.0 / small, small);
    }
}

// Compute effects of later labels and products for the next sweep.
LABELWEAVE_KERNEL void prepare(GibbsBlock& b) {
    b.product = b.passed_product = ScaledProduct();
    for (std::size_t k = 0; k < b.length; ++k) {
        b.later_effect[k] = Lanes{};
        b.product.multiply(1.0 + b.odds[k]);
    }
    for (std::size_t i = 0; i < b.length; ++i) {
        const Lanes y = b.y[i];
        if (!any(y > 0.0)) continue;
        const auto row = b.coupling.row(i);
        for (std::size_t c = 0; c < row.size; ++c) b.later_effect[row.position[c]] += y * row.effect[c];
    }
    b.overflowed = b.extreme;
}

LABELWEAVE_INLINE Lanes indicator(LaneMask mask) { return select(mask, broadcast(1.0), Lanes{}); }

// The factors of the later labels as products: of 1 + E_k now, and of 1 + E_k f after label j flips, where
// f = F in lanes at y_j = 0 and 1 / F in lanes at y_j = 1. Lanes that have overflowed are marked.
struct LaterFactors {
    ScaledProduct present, flipped;
    LaneMask overflowed{};
};

template <bool kMixed, bool kFull>
LABELWEAVE_INLINE void multiply_factors(const Lanes* odds, const SparseCoupling::Column& column, LaneMask positive,
                                        LaterFactors& out) {
    // Sums replace choices: a scalar times lanes takes one instruction, a choice between two scalars takes more.
    const Lanes at_one = indicator(positive), at_zero = 1.0 - at_one;
    for (std::size_t begin = 0; begin < column.size; begin += kFactors) {
        const std::size_t end = std::min(column.size, begin + kFactors);
        Lanes present[4], flipped[4];
        for (int i = 0; i < 4; ++i) present[i] = flipped[i] = broadcast(1.0);
        auto multiply = [&](int i, std::size_t c) {
            const Lanes e = odds[column.position[c]];
            if (!kFull) present[i] *= e + 1.0;
            if (kMixed)
                flipped[i] *= e * (at_zero * column.factor[c] + at_one * column.inverse[c]) + 1.0;
            else
                flipped[i] *= e * column.factor[c] + 1.0;
        };
        std::size_t c = begin;
        for (; c + 4 <= end; c += 4)
            for (int i = 0; i < 4; ++i) multiply(i, c + i);
        for (; c < end; ++c) multiply(0, c);
        const Lanes above = (present[0] * present[1]) * (present[2] * present[3]);
        const Lanes below = (flipped[0] * flipped[1]) * (flipped[2] * flipped[3]);
        // Each is below 2^1023 once multiplied by a mantissa below two; not-a-number counts as overflow, too.
        out.overflowed |= ~((above < 0x1p1022) & (below < 0x1p1022));
        if (!kFull) out.present.multiply(above);
        out.flipped.multiply(below);
    }
}

// With a full column, the present product over the later labels is the product over all labels divided by the product
// over the passed labels. Both products may have a common factor, so the flipped one begins with the latter product.
LABELWEAVE_INLINE void multiply_factors(const GibbsBlock& b, std::size_t j, LaneMask positive, LaterFactors& out) {
    const auto column = b.coupling.column(j);
    const bool mixed = any(positive);
    if (b.coupling.full(j)) {
        out.present = b.product;
        out.flipped = b.passed_product;
        out.overflowed = b.overflowed;
        if (mixed)
            multiply_factors<true, true>(b.odds.data(), column, positive, out);
        else
            multiply_factors<false, true>(b.odds.data(), column, positive, out);
    } else {
        out.overflowed = b.extreme;
        if (mixed)
            multiply_factors<true, false>(b.odds.data(), column, positive, out);
        else
            multiply_factors<false, false>(b.odds.data(), column, positive, out);
    }
}

// The log of the present over the flipped product as a sum of logarithms: slower, but valid for any score.
LABELWEAVE_INLINE Lanes later_logarithms(const GibbsBlock& b, const SparseCoupling::Column& column, LaneMask positive) {
    Lanes total{};
    for (std::size_t c = 0; c < column.size; ++c) {
        const std::size_t k = column.position[c];
        const Lanes present = select(b.extreme, b.z[k], log_positive(b.odds[k]));
        const Lanes flipped = present + select(positive, Lanes(-column.effect[c]), Lanes(column.effect[c]));
        total += softplus(present) - softplus(flipped);
    }
    return total;
}

LABELWEAVE_INLINE Lanes logit(Lanes u) { return log_ratio(u, 1.0 - u); }

// By how much the log-odds of the label at position j given all others exceed the logit of its random number.
LABELWEAVE_INLINE Lanes excess(const GibbsBlock& b, std::size_t j, LaneMask positive, const LaterFactors& f) {
    const Lanes u = b.uniform[j], exponent = f.present.exponent - f.flipped.exponent;
    const Lanes above = (b.odds[j] * (1.0 - u)) * select(positive, f.flipped.mantissa, f.present.mantissa);
    const Lanes below = u * select(positive, f.present.mantissa, f.flipped.mantissa);
    Lanes result = log_ratio(above, below) + kLog2 * select(positive, -exponent, exponent);
    if (any(f.overflowed)) {
        const Lanes change = later_logarithms(b, b.coupling.column(j), positive);
        const Lanes prior = select(b.extreme, b.z[j], log_positive(b.odds[j]));
        result = select(f.overflowed, prior + select(positive, -change, change) - logit(u), result);
    }
    return b.later_effect[j] + result;
}

// Whether every lane surely keeps its label, by an interval for the excess.
//
// Later label k adds y_k V_kj and takes away log(1 + E_k F) - log(1 + E_k), which is between 0 and V_kj, and
// of size at most p_k |V_kj| <= log(1 + E_k) |V_kj| where it opposes the present label (by concavity), so the product
// over the later labels bounds the sum. The power of two of each number is enough. The margin is far above rounding
// errors, so that an exact computation would never decide differently.
LABELWEAVE_INLINE bool surely_stays(const GibbsBlock& b, std::size_t j, LaneMask positive) {
    Lanes above = b.odds[j] * (1.0 - b.uniform[j]), below = b.uniform[j];
    Lanes prior = kLog2 * (take_exponent(above) - take_exponent(below));
    if (b.any_extreme) prior = select(b.extreme, b.z[j] - logit(b.uniform[j]), prior);
    const Lanes tail =
        select(b.overflowed, broadcast(kInfinity), kLog2 * (b.product.exponent - b.passed_product.exponent + 1.0));
    const Lanes sum = select(positive, Lanes(b.coupling.positive_sum(j)), Lanes(b.coupling.negative_sum(j)));
    const Lanes most =
        tail * select(positive, Lanes(b.coupling.largest_positive(j)), Lanes(b.coupling.largest_negative(j)));
    const Lanes against = select(most < sum, most, sum);
    const Lanes middle = prior + b.later_effect[j],
                margin = kLog2 + 1e-9 * (abs(prior) + abs(b.later_effect[j]) + (1.0 + sum));
    const LaneMask stays = select(positive, middle > against + margin, middle < -against - margin);
    return !any(~stays & (b.open[j] > 0.0));
}

// Update the lanes that flip; the best state is copied only when the walk is about to leave it.
LABELWEAVE_INLINE void record(GibbsBlock& b, std::size_t j, LaneMask flips, Lanes gained) {
    for (int lane = 0; lane < kLanes; ++lane) {
        if (!flips[lane]) continue;
        b.gain[lane] += gained[lane];
        const bool better = b.gain[lane] > b.best_gain[lane] + kGibbsTie;
        if (!better) b.keep_best(lane);
        b.labels[lane * b.length + j] ^= 1;
        if (better) {
            b.best_gain[lane] = b.gain[lane];
            b.best_is_present[lane] = true;
        }
    }
}

LABELWEAVE_INLINE void flip(GibbsBlock& b, std::size_t j, LaneMask flips, LaneMask positive, const LaterFactors& f) {
    if (b.coupling.full(j)) {
        b.product.mantissa = select(flips, f.flipped.mantissa, b.product.mantissa);
        b.product.exponent = select(flips, f.flipped.exponent, b.product.exponent);
    } else {
        b.product.exponent += select(flips, f.flipped.exponent - f.present.exponent, Lanes{});
        b.product.multiply(select(flips, f.flipped.mantissa / f.present.mantissa, broadcast(1.0)));
    }
    b.overflowed |= f.overflowed & flips;
    const Lanes goes_up = indicator(flips & ~positive), goes_down = indicator(flips & positive);
    const Lanes step = goes_up - goes_down, stays = 1.0 - goes_up - goes_down;
    b.y[j] += step;
    const auto column = b.coupling.column(j);
    for (std::size_t c = 0; c < column.size; ++c) {
        const std::size_t k = column.position[c];
        b.odds[k] *= goes_up * column.factor[c] + (goes_down * column.inverse[c] + stays);
    }
    if (!b.any_extreme) return;
    for (std::size_t c = 0; c < column.size; ++c) b.z[column.position[c]] += step * column.effect[c];
}

// The random numbers of a sweep, computed separately so that their long chains of operations overlap.
LABELWEAVE_KERNEL void draw(GibbsBlock& b, std::uint64_t seed, std::uint32_t number) {
    for (std::size_t j = 0; j < b.length; ++j) {
        b.uniform[j] =
            random::uniform_lanes(seed, b.row_low, b.row_high, number, static_cast<std::uint32_t>(b.order[j]));
    }
}

// Resample every open label once: it is positive iff its log-odds exceed the logit of its random number.
LABELWEAVE_KERNEL void sweep(GibbsBlock& b) {
    for (std::size_t j = 0; j < b.length; ++j) {
        b.passed_product.multiply(1.0 + b.odds[j]);
        const LaneMask open = b.open[j] > 0.0, positive = b.y[j] > 0.0;
        if (!any(open) || surely_stays(b, j, positive)) continue;
        LaterFactors factors;
        multiply_factors(b, j, positive, factors);
        const Lanes surplus = excess(b, j, positive, factors);
        const LaneMask flips = ((surplus > 0.0) ^ positive) & open;
        if (!any(flips)) continue;
        const Lanes log_odds = surplus + logit(b.uniform[j]);
        record(b, j, flips, select(positive, -log_odds, log_odds));
        flip(b, j, flips, positive, factors);
    }
}

}  // namespace

void gibbs(const Chain& chain, const GibbsRun& run, int n_threads, threads::Interrupt& interrupt) {
    const SparseCoupling coupling(chain);
    const std::size_t n_labels = chain.n_labels;
    threads::parallel_rows(chain.n_rows, kLanes, n_threads, [&](std::size_t begin, std::size_t end) {
        const std::size_t count = end - begin;
        GibbsBlock block(chain, coupling);
        load_rows(chain, run, begin, count, block);
        for (std::size_t s = 0; s < run.n_sweeps; ++s) {
            interrupt.check();
            if (s % kRefresh == 0) refresh_scores(block);
            prepare(block);
            draw(block, run.seed, run.first_draw + static_cast<std::uint32_t>(s));
            sweep(block);
            const std::size_t discarded = run.n_sweeps - run.n_kept;
            for (std::size_t lane = 0; lane < count; ++lane) {
                const std::size_t row = begin + lane;
                run.best_gain[row * run.n_sweeps + s] = block.best_gain[lane];
                if (s >= discarded)
                    store_labels(block, block.labels, lane,
                                 run.samples + (row * run.n_kept + s - discarded) * n_labels);
            }
        }
        for (std::size_t lane = 0; lane < count; ++lane) {
            block.keep_best(static_cast<int>(lane));
            store_labels(block, block.labels, lane, run.labels + (begin + lane) * n_labels);
            store_labels(block, block.best, lane, run.best + (begin + lane) * n_labels);
        }
    });
}

}  // namespace labelweave::chain
