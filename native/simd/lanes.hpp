// Eight problems side by side, one per SIMD lane, and the elementary functions that need no more than arithmetic.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "simd/pack.hpp"

namespace labelweave::simd {

constexpr int kLanes = 8;
using Lanes = Pack<double, kLanes>;
using LaneMask = Pack<std::int64_t, kLanes>;
using LaneBits = Pack<std::uint64_t, kLanes>;

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
    double* numbers() { return reinterpret_cast<double*>(data()); }
    const double* numbers() const { return reinterpret_cast<const double*>(data()); }
    // By whole registers: GCC copies a struct in smaller pieces, and reading back what they wrote has to wait.
    LABELWEAVE_INLINE Lanes at(std::size_t i) const { return Lanes::load(numbers() + i * kLanes); }
    LABELWEAVE_INLINE void put(std::size_t i, const Lanes& lanes) { lanes.store(numbers() + i * kLanes); }
    Lanes& operator[](std::size_t i) { return data_.get()[i]; }
    const Lanes& operator[](std::size_t i) const { return data_.get()[i]; }

  private:
    struct Free {
        void operator()(Lanes* data) const { std::free(data); }
    };
    std::size_t size_;
    std::unique_ptr<Lanes[], Free> data_;
};

LABELWEAVE_INLINE Lanes broadcast(double value) { return Lanes(value); }
LABELWEAVE_INLINE Lanes load(const double* from) { return Lanes::load(from); }
LABELWEAVE_INLINE void store(double* to, const Lanes& lanes) { lanes.store(to); }
LABELWEAVE_INLINE LaneBits bits_of(const Lanes& x) { return reinterpret<LaneBits>(x); }
LABELWEAVE_INLINE Lanes from_bits(const LaneBits& bits) { return reinterpret<Lanes>(bits); }

// The sum of the lanes by halves: i and i + 4, then i and i + 2, then the last two, at every level.
template <class R>
LABELWEAVE_INLINE double sum_of_part(R x) {
    constexpr int width = sizeof(R) / sizeof(double);
    if constexpr (width == 8) x += shuffle<R, 4, 5, 6, 7, 0, 1, 2, 3>(x, x);
    if constexpr (width == 2)
        return x[0] + x[1];
    else
        return (x[0] + x[2]) + (x[1] + x[3]);
}
template <int N>
LABELWEAVE_INLINE double sum(const Pack<double, N>& x) {
    constexpr int n_parts = Pack<double, N>::kParts;
    if constexpr (n_parts == 1)
        return sum_of_part(x.part[0]);
    else if constexpr (n_parts == 2)
        return sum_of_part(x.part[0] + x.part[1]);
    else
        return sum_of_part((x.part[0] + x.part[2]) + (x.part[1] + x.part[3]));
}

LABELWEAVE_INLINE Lanes abs(const Lanes& x) { return from_bits(bits_of(x) & 0x7FFFFFFFFFFFFFFFu); }

LABELWEAVE_INLINE Lanes square_root(const Lanes& x) {
    return Lanes::made([&](int p) { return square_root_of(x.part[p]); });
}

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
    return p * from_bits((bits_of(shifted) + 1023) << 52);
}

// log(1 + e) for e in [0, 1], as 2 artanh(e / (2 + e)); the series in s^2 <= 1/9 ends below 1e-17.
LABELWEAVE_INLINE Lanes log1p_unit(const Lanes& e) {
    const Lanes s = e / (e + 2.0), s2 = s * s;
    Lanes p = broadcast(1.0 / 33.0);
    for (int k = 31; k >= 3; k -= 2) p = p * s2 + 1.0 / k;
    return 2.0 * s * (p * s2 + 1.0);
}

}  // namespace labelweave::simd
