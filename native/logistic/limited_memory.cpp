#include "logistic/limited_memory.hpp"

#include <cmath>

namespace labelweave::logistic {
namespace {

LABELWEAVE_INLINE Lanes at(const std::vector<float>& rows, std::size_t row) {
    return widen(LaneFloats::load(rows.data() + row * kLanes));
}

}  // namespace

LimitedMemory::LimitedMemory(const design::Design& design) : width_(design.dense ? design.width() : 0) {
    for (Directions* of : {&used_, &recorded_})
        for (int j = 0; j < kDirections; ++j) {
            of->s[j].assign(width_ * kLanes, 0.0f);
            of->y[j].assign(width_ * kLanes, 0.0f);
        }
}

LABELWEAVE_KERNEL void LimitedMemory::record(const NewtonState& s, const Lanes& curvature) {
    const Lanes scale = 1.0 / square_root(curvature);
    Lanes products{};
    for_columns(s, [&](std::size_t row, Lanes penalty, Lanes mask) {
        const Lanes p = s.direction[row] * scale;
        const Lanes y = mask * (s.gradient[row] * scale + penalty * p);
        alignas(64) float narrow_p[kLanes], narrow_y[kLanes];
        store_narrow(narrow_p, p);
        store_narrow(narrow_y, y);
        products += widen(LaneFloats::load(narrow_p)) * widen(LaneFloats::load(narrow_y));
        for (int k = 0; k < kLanes; ++k) {
            if (!s.advancing[k]) continue;
            recorded_.s[next_[k]][row * kLanes + k] = narrow_p[k];
            recorded_.y[next_[k]][row * kLanes + k] = narrow_y[k];
        }
    });
    for (int k = 0; k < kLanes; ++k) {
        if (!s.advancing[k]) continue;
        // Beyond the range of single precision the product is far from one, or no number.
        if (!(std::fabs(products[k] - 1.0) < 0.5)) clear(recorded_, next_[k], k);
        next_[k] = (next_[k] + 1) % kDirections;
    }
}

void LimitedMemory::clear(Directions& of, int slot, int lane) {
    for (std::size_t i = lane; i < width_ * kLanes; i += kLanes) of.s[slot][i] = of.y[slot][i] = 0.0f;
}

void LimitedMemory::begin_system(int lane) {
    for (int j = 0; j < kDirections; ++j)
        for (std::size_t i = lane; i < width_ * kLanes; i += kLanes) {
            used_.s[j][i] = recorded_.s[j][i];
            used_.y[j][i] = recorded_.y[j][i];
            recorded_.s[j][i] = recorded_.y[j][i] = 0.0f;
        }
    next_[lane] = 0;
}

void LimitedMemory::forget(int lane) {
    for (int j = 0; j < kDirections; ++j) {
        clear(used_, j, lane);
        clear(recorded_, j, lane);
    }
    next_[lane] = 0;
}

LABELWEAVE_KERNEL void LimitedMemory::project(const Lanes* r, Lanes* right) {
    Lanes along[kDirections]{};
    for (std::size_t row = 0; row < width_; ++row)
        for (int j = 0; j < kDirections; ++j) along[j] += at(used_.s[j], row) * r[row];
    for (std::size_t row = 0; row < width_; ++row) {
        Lanes q = r[row];
        for (int j = 0; j < kDirections; ++j) q -= at(used_.y[j], row) * along[j];
        right[row] = q;
    }
    for (int j = 0; j < kDirections; ++j) along_[j] = along[j];
}

LABELWEAVE_KERNEL Lanes LimitedMemory::correct(const Lanes* r, Lanes* x) const {
    Lanes missing[kDirections];
    for (int j = 0; j < kDirections; ++j) missing[j] = along_[j];
    for (std::size_t row = 0; row < width_; ++row)
        for (int j = 0; j < kDirections; ++j) missing[j] -= at(used_.y[j], row) * x[row];
    Lanes rho{};
    for (std::size_t row = 0; row < width_; ++row) {
        Lanes corrected = x[row];
        for (int j = 0; j < kDirections; ++j) corrected += at(used_.s[j], row) * missing[j];
        x[row] = corrected;
        rho += r[row] * corrected;
    }
    return rho;
}

}  // namespace labelweave::logistic
