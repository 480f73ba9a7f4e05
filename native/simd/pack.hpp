// N numbers side by side in as many whole registers as they need: eight doubles are one register of 64 bytes, two of
// 32 or four of 16, and operations are the same number by number at every level.
#pragma once

#include <algorithm>
#include <type_traits>

#include "simd/registers.hpp"

namespace labelweave::simd {

template <class T>
using SignedOf = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

template <class T, int N>
struct Pack {
    static constexpr int kWidth = std::min<int>(N, kRegisterBytes / sizeof(T));
    static constexpr int kParts = N / kWidth;
    using Part = Register<T, kWidth>;
    using Mask = Pack<SignedOf<T>, N>;  // all bits of a number set, or none

    Part part[kParts];

    Pack() = default;
    // The same number everywhere. (Subtracting zero is folded away, adding it is not: -0 + 0 is 0.)
    LABELWEAVE_INLINE Pack(T value) {
        each([&](int p) { part[p] = value - Part{}; });
    }
    LABELWEAVE_INLINE static Pack zero() { return Pack(T{}); }

    LABELWEAVE_INLINE static Pack load(const T* from) {
        Pack v;
        v.each([&](int p) { std::memcpy(&v.part[p], from + p * kWidth, sizeof(Part)); });
        return v;
    }
    LABELWEAVE_INLINE void store(T* to) const {
        each([&](int p) { std::memcpy(to + p * kWidth, &part[p], sizeof(Part)); });
    }

    // Single numbers: for whatever is not hot, since a register has to go through memory for them.
    T& operator[](std::size_t i) { return reinterpret_cast<T*>(part)[i]; }
    T operator[](std::size_t i) const { return reinterpret_cast<const T*>(part)[i]; }

    // visit(0), visit(1), ...: without a loop, so that parts become registers in the first pass of the compiler.
    template <class Visit>
    LABELWEAVE_INLINE static void each(Visit visit) {
        static_assert(kParts == 1 || kParts == 2 || kParts == 4);
        visit(0);
        if constexpr (kParts > 1) visit(1);
        if constexpr (kParts > 2) {
            visit(2);
            visit(3);
        }
    }
    // The vector whose parts are of(0), of(1), ...
    template <class Of>
    LABELWEAVE_INLINE static Pack made(Of of) {
        Pack v;
        each([&](int p) { v.part[p] = (Part)of(p); });
        return v;
    }

    LABELWEAVE_INLINE friend Pack operator+(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] + b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator-(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] - b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator*(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] * b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator/(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] / b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator-(const Pack& a) {
        return made([&](int p) { return -a.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator&(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] & b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator|(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] | b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator^(const Pack& a, const Pack& b) {
        return made([&](int p) { return a.part[p] ^ b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator~(const Pack& a) {
        return made([&](int p) { return ~a.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack operator<<(const Pack& a, int bits) {
        return made([&](int p) { return a.part[p] << bits; });
    }
    LABELWEAVE_INLINE friend Pack operator>>(const Pack& a, int bits) {
        return made([&](int p) { return a.part[p] >> bits; });
    }
    LABELWEAVE_INLINE friend Mask operator<(const Pack& a, const Pack& b) {
        return Mask::made([&](int p) { return a.part[p] < b.part[p]; });
    }
    LABELWEAVE_INLINE friend Mask operator>(const Pack& a, const Pack& b) { return b < a; }
    LABELWEAVE_INLINE friend Mask operator>=(const Pack& a, const Pack& b) {
        return Mask::made([&](int p) { return a.part[p] >= b.part[p]; });
    }
    LABELWEAVE_INLINE friend Pack select(const Mask& mask, const Pack& yes, const Pack& no) {
        return made([&](int p) { return mask.part[p] ? yes.part[p] : no.part[p]; });
    }

    LABELWEAVE_INLINE Pack& operator+=(const Pack& b) { return *this = *this + b; }
    LABELWEAVE_INLINE Pack& operator-=(const Pack& b) { return *this = *this - b; }
    LABELWEAVE_INLINE Pack& operator*=(const Pack& b) { return *this = *this * b; }
    LABELWEAVE_INLINE Pack& operator/=(const Pack& b) { return *this = *this / b; }
    LABELWEAVE_INLINE Pack& operator&=(const Pack& b) { return *this = *this & b; }
    LABELWEAVE_INLINE Pack& operator|=(const Pack& b) { return *this = *this | b; }
};

// The same bits as numbers of another type.
template <class To, class T, int N>
LABELWEAVE_INLINE To reinterpret(const Pack<T, N>& from) {
    return To::made([&](int p) { return (typename To::Part)from.part[p]; });
}

template <class T, int N>
LABELWEAVE_INLINE bool any(const Pack<T, N>& mask) {
    constexpr int n_parts = Pack<T, N>::kParts;
    if constexpr (n_parts == 1)
        return any_bit(mask.part[0]);
    else if constexpr (n_parts == 2)
        return any_bit(mask.part[0] | mask.part[1]);
    else
        return any_bit((mask.part[0] | mask.part[1]) | (mask.part[2] | mask.part[3]));
}

}  // namespace labelweave::simd
