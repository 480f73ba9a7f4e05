// Eight rows of a Gibbs run in progress: their state, how it is loaded and how it is stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "chain/gibbs.hpp"
#include "chain/sparse_coupling.hpp"
#include "simd/lane_math.hpp"

namespace labelweave::chain {

// Lanes keep odds if these, and their products with a number in (2^-53, 2^53), are normal numbers in every state;
// other lanes keep the scores themselves.
constexpr double kLargestScore = 650.0;

// A positive number m 2^e in every lane, m in [1, 2), so that products of many factors do not overflow.
struct ScaledProduct {
    Lanes mantissa = broadcast(1.0), exponent{};

    LABELWEAVE_INLINE void multiply(Lanes factor) {
        mantissa *= factor;
        exponent += take_exponent(mantissa);
    }
};

// Eight rows in progress, one per lane; arrays are by chain position.
struct GibbsBlock {
    GibbsBlock(const Chain& chain, const SparseCoupling& couplings)
        : coupling(couplings), length(chain.length), order(chain.order), scores(length), z(length), odds(length),
          later_effect(length), uniform(length), y(length), open(length), labels(kLanes * length),
          best(kLanes * length) {}

    const SparseCoupling& coupling;
    std::size_t length;
    const std::int64_t* order;
    LaneArray scores;                       // z before any coupling
    LaneArray z;                            // of the last refreshed state; of the present one in extreme lanes
    LaneArray odds;                         // e^z of the present state; meaningless in extreme lanes
    LaneArray later_effect;                 // sum of V_kj over later positive labels k, which do not change before j
    LaneArray uniform;                      // the random numbers of this sweep
    LaneArray y, open;                      // 0 or 1; open: the label may be resampled
    ScaledProduct product, passed_product;  // products of 1 + E: over all labels, and over labels the sweep has passed
    LaneMask overflowed{};                  // lanes in which a product has overflowed
    LaneMask extreme{};                     // lanes in which some |z| may exceed kLargestScore
    bool any_extreme = false;
    Lanes gain{}, best_gain{};  // log-probability above that of the start
    LaneBits row_low{}, row_high{};
    std::vector<std::int8_t> labels, best;  // lane by lane
    bool best_is_present[kLanes] = {};      // the best state is the present one, not yet copied

    void keep_best(int lane) {
        if (!best_is_present[lane]) return;
        std::memcpy(best.data() + lane * length, labels.data() + lane * length, length);
        best_is_present[lane] = false;
    }
};

// Load rows begin, begin + 1, ...; lanes without a row of their own repeat the last one.
inline void load_rows(const Chain& chain, const GibbsRun& run, std::size_t begin, std::size_t count, GibbsBlock& b) {
    for (int lane = 0; lane < kLanes; ++lane) {
        const std::size_t row = begin + std::min<std::size_t>(lane, count - 1);
        const auto id = static_cast<std::uint64_t>(run.rows[row]);
        b.row_low[lane] = static_cast<std::uint32_t>(id);
        b.row_high[lane] = id >> 32;
        for (std::size_t p = 0; p < b.length; ++p) {
            const std::size_t at = row * chain.n_labels + static_cast<std::size_t>(b.order[p]);
            const std::int8_t label = run.known[at] >= 0 ? run.known[at] : run.labels[at];
            b.scores[p][lane] = chain.scores[at];
            b.open[p][lane] = run.known[at] < 0;
            b.y[p][lane] = label != 0;
            b.labels[lane * b.length + p] = label != 0;
            const double highest = chain.scores[at] + b.coupling.rise(p),
                         lowest = chain.scores[at] - b.coupling.fall(p);
            if (std::max(highest, -lowest) > kLargestScore) {
                b.extreme[lane] = -1;
                b.any_extreme = true;
            }
        }
        b.best_is_present[lane] = true;
    }
}

inline void store_labels(const GibbsBlock& b, const std::vector<std::int8_t>& from, std::size_t lane, std::int8_t* to) {
    for (std::size_t p = 0; p < b.length; ++p) to[b.order[p]] = from[lane * b.length + p];
}

}  // namespace labelweave::chain
