#include "chain/interval_bound.hpp"

#include <algorithm>
#include <limits>

#include "simd/lanes.hpp"

namespace labelweave::chain {
namespace {

LABELWEAVE_INLINE Lanes log_sigmoid(Lanes margin) {
    const Lanes size = abs(margin);
    return 0.5 * (margin - size) - log1p_unit(exp_nonpositive(-size));
}

LABELWEAVE_KERNEL void interval_bound_lanes(const double* z, const double* effect, const double* rise,
                                            const double* fall, const double* not_one, const double* not_zero,
                                            std::size_t begin, std::size_t end, double* most) {
    for (std::size_t q = begin; q < end; q += kLanes) {
        const Lanes score = load(z + q) + load(effect + q);
        const Lanes one = score + load(rise + q) - load(not_one + q);
        const Lanes zero = -(score + load(fall + q)) - load(not_zero + q);
        store(most + q, log_sigmoid(select(one > zero, one, zero)));
    }
}

}  // namespace

ScoreIntervals::ScoreIntervals(const Coupling& coupling)
    : stride_(coupling.stride()), rise_((coupling.length() + 1) * stride_, 0.0),
      fall_((coupling.length() + 1) * stride_, 0.0) {
    for (std::size_t p = coupling.length(); p-- > 0;)
        for (std::size_t q = p + 1; q < coupling.length(); ++q) {
            const double v = coupling.effect(p)[q];
            rise_[p * stride_ + q] = rise_[(p + 1) * stride_ + q] + std::max(0.0, v);
            fall_[p * stride_ + q] = fall_[(p + 1) * stride_ + q] + std::min(0.0, v);
        }
}

void Evidence::load(const Coupling& coupling, const std::int8_t* labels) {
    constexpr double kForbidden = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < coupling.length(); ++p) {
        value[p] = labels[coupling.label(p)];
        not_one[p] = value[p] == 0 ? kForbidden : 0.0;
        not_zero[p] = value[p] > 0 ? kForbidden : 0.0;
    }
}

void interval_bound(const double* z, const double* effect, const double* rise, const double* fall,
                    const Evidence& evidence, std::size_t begin, std::size_t end, double* most) {
    interval_bound_lanes(z, effect, rise, fall, evidence.not_one.data(), evidence.not_zero.data(), begin, end, most);
}

}  // namespace labelweave::chain
