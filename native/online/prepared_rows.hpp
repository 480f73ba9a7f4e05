// Rows made ready for the online kernels: non-zero features as float32, scaled so that none can overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "online/model.hpp"
#include "simd/lane_floats.hpp"

namespace labelweave::online {

struct PreparedRows {
    std::vector<std::size_t> start{0};
    std::vector<std::int32_t> feature;
    std::vector<float> value;  // x / scale, in [-2, 2]
    std::vector<float>
        retention;              // what is left of a feature's evidence since it was last seen; empty without forgetting
    std::vector<double> scale;  // one power of two a row

    std::size_t size() const { return scale.size(); }
};

// The time to which forgetting has been applied to the features of the prepared rows.
enum class Clock {
    learning,    // the rows arrive one after the other, and each brings its features forward
    predicting,  // all rows are seen from the model's present
};

// The rows [begin, end), in place of those that `prepared` held before.
void prepare(const Model& model, const Settings& settings, const Rows& rows, std::size_t begin, std::size_t end,
             Clock clock, PreparedRows& prepared);

// The variances of one feature after some of their evidence is lost: evidence is precision beyond the prior's, so
// 1/variance - 1/prior becomes `retention` times what it was.
LABELWEAVE_INLINE WideFloats inflate_variance(const WideFloats& variance, float retention, float prior) {
    return prior * variance / (variance + retention * (prior - variance));
}

// Moments of the scores of labels [16 first, 16 last) for one prepared row, into lanes [2 first, 2 last).
void gather_moments(const Model& model, const PreparedRows& rows, std::size_t row, float prior, std::size_t first,
                    std::size_t last, Lanes* mean, Lanes* variance);

}  // namespace labelweave::online
