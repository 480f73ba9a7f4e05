// Eight problems side by side, one per SIMD lane. GCC's vector extension becomes one AVX-512
// register, two AVX2 registers or four SSE2 registers, whichever version of a kernel runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "numerics.hpp"

namespace labelweave {

constexpr int kLanes = 8;
// The alignment is spelled out because the compiler's own differs between the versions of a kernel.
// For the same reason Lanes are never passed to or returned from a LABELWEAVE_KERNEL by value, and
// never a template argument (which would drop the attribute): use LaneArray instead of std::vector.
typedef double Lanes __attribute__((vector_size(64), aligned(16)));
typedef std::int64_t LaneMask __attribute__((vector_size(64), aligned(16)));

// A zero-initialised array of Lanes, each on a cache line of its own.
class LaneArray {
  public:
    explicit LaneArray(std::size_t size = 0) : size_(size) {
        const std::size_t bytes = (size ? size : 1) * sizeof(Lanes);
        data_.reset(static_cast<Lanes*>(std::aligned_alloc(64, bytes)));
        if (!data_) throw std::bad_alloc();
        std::memset(static_cast<void*>(data_.get()), 0, bytes);
    }
    std::size_t size() const { return size_; }
    Lanes* data() { return data_.get(); }
    const Lanes* data() const { return data_.get(); }
    Lanes& operator[](std::size_t i) { return data_.get()[i]; }
    const Lanes& operator[](std::size_t i) const { return data_.get()[i]; }

  private:
    struct Free {
        using pointer = Lanes*;
        void operator()(Lanes* data) const { std::free(data); }
    };
    std::size_t size_;
    std::unique_ptr<void, Free> data_;
};

LABELWEAVE_INLINE Lanes broadcast(double value) { return Lanes{} + value; }

LABELWEAVE_INLINE Lanes select(LaneMask mask, Lanes yes, Lanes no) { return mask ? yes : no; }

LABELWEAVE_INLINE Lanes load(const double* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

LABELWEAVE_INLINE void store(double* to, const Lanes& lanes) { std::memcpy(to, &lanes, sizeof lanes); }

LABELWEAVE_INLINE double sum(const Lanes& lanes) {
    double total = 0.0;
    for (int lane = 0; lane < kLanes; ++lane) total += lanes[lane];
    return total;
}

LABELWEAVE_INLINE Lanes abs(Lanes x) { return select(x < 0.0, -x, x); }

// e^x for x <= 0, within two units in the last place; below -708 it stays at e^-708.
LABELWEAVE_INLINE Lanes exp_nonpositive(Lanes x) {
    x = select(x < -708.0, broadcast(-708.0), x);
    // Adding 1.5 * 2^52 rounds to an integer and leaves that integer in the low bits.
    const Lanes shifted = x * 1.4426950408889634 + 0x1.8p52;
    const Lanes k = shifted - 0x1.8p52;
    const Lanes r = (x - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    // Taylor's polynomial of degree 12 in Estrin's order: short chains keep the pipeline full.
    const Lanes r2 = r * r, r4 = r2 * r2;
    const Lanes low = (1.0 + r) + (1.0 / 2 + r * (1.0 / 6)) * r2;
    const Lanes middle = (1.0 / 24 + r * (1.0 / 120)) + (1.0 / 720 + r * (1.0 / 5040)) * r2;
    const Lanes high = (1.0 / 40320 + r * (1.0 / 362880)) + (1.0 / 3628800 + r * (1.0 / 39916800)) * r2;
    const Lanes p = low + r4 * (middle + r4 * (high + r4 * (1.0 / 479001600)));
    LaneMask bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    Lanes power;
    std::memcpy(&power, &bits, sizeof power);
    return p * power;
}

// log(1 + e) for e in [0, 1], as 2 artanh(e / (2 + e)); the series in s^2 <= 1/9 ends below 1e-17.
LABELWEAVE_INLINE Lanes log1p_unit(Lanes e) {
    const Lanes s = e / (e + 2.0), s2 = s * s;
    Lanes p = broadcast(1.0 / 33.0);
    for (int k = 31; k >= 3; k -= 2) p = p * s2 + 1.0 / k;
    return 2.0 * s * (p * s2 + 1.0);
}

}  // namespace labelweave
