// One SIMD register of the level that this file is compiled for, and the few operations that the compilers'
// vector extensions do not have. Levels: x86-64-v4 (AVX-512), v3 (AVX2 and FMA), v2 (SSE4.2); NEON on aarch64.
//
// A vector wider than the registers would be kept in memory: GCC gives it no register, so that every step
// waits for the step before to be stored. A Pack (pack.hpp) therefore is made of whole registers.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(LABELWEAVE_SANITIZED)  // the checks of whole kernels in one function take minutes to compile
#define LABELWEAVE_INLINE inline
#define LABELWEAVE_KERNEL
#else
#define LABELWEAVE_INLINE inline __attribute__((always_inline))
// A hot function: what it calls is compiled into it, so that values stay in registers.
#define LABELWEAVE_KERNEL __attribute__((flatten))
#endif

namespace labelweave::simd {

#if defined(__AVX512F__)
constexpr std::size_t kRegisterBytes = 64;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr std::size_t kRegisterBytes = 32;
constexpr int kRegisters = 16;
#elif defined(__aarch64__)
constexpr std::size_t kRegisterBytes = 16;
constexpr int kRegisters = 32;
#else
constexpr std::size_t kRegisterBytes = 16;
constexpr int kRegisters = 16;
#endif

// How many registers a kernel may fill with sums that grow side by side. Fused multiply-adds have a long latency, and
// many of them must be under way; without them a few sums are enough, and products need registers of their own.
#if defined(__FMA__) || defined(__aarch64__)
constexpr int kSums = 3 * kRegisters / 4;
constexpr bool kFused = true;
#else
constexpr int kSums = kRegisters / 2;
constexpr bool kFused = false;
#endif

// W numbers side by side in one register (or, if they fill less than that, in its lower part). The wrapper lets
// the compilers deduce W, which they do not from an attribute.
template <class T, int W>
struct RegisterOf {
    typedef T type __attribute__((vector_size(W * sizeof(T))));
};
template <class T, int W>
using Register = typename RegisterOf<T, W>::type;

// The same bits as numbers of another type.
template <class To, class From>
LABELWEAVE_INLINE To reinterpret(From from) {
    static_assert(sizeof(To) == sizeof(From));
    return (To)from;
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define LABELWEAVE_HAS_SHUFFLE 1
#endif
#endif

// The numbers of two registers in a new order: index i < W names a[i], W + i names b[i].
template <class R, int... Index>
LABELWEAVE_INLINE R shuffle(R a, R b) {
#if defined(LABELWEAVE_HAS_SHUFFLE)
    return __builtin_shufflevector(a, b, Index...);
#else  // GCC 11
    typedef Register<std::int64_t, sizeof...(Index)> Indices;
    return __builtin_shuffle(a, b, Indices{Index...});
#endif
}

#if defined(__AVX512F__)
// A mask of all lanes costs nothing, and spares GCC a warning about its own header.
constexpr __mmask8 kAllLanes = 0xFF;
constexpr __mmask16 kAllFloats = 0xFFFF;
#endif

// ---- double: square roots

template <class R>
LABELWEAVE_INLINE R square_root_of(R x) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 64) return (R)_mm512_maskz_sqrt_pd(kAllLanes, (__m512d)x);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(R) == 32) return (R)_mm256_sqrt_pd((__m256d)x);
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(R) == 16) return (R)_mm_sqrt_pd((__m128d)x);
#else
    for (std::size_t i = 0; i < sizeof(R) / sizeof(double); ++i) x[i] = std::sqrt(x[i]);
    return x;
#endif
}

// ---- float: bounds; x where it is NaN

// limit < x ? limit : x
template <class R>
LABELWEAVE_INLINE R at_most(R x, R limit) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 64) return (R)_mm512_maskz_min_ps(kAllFloats, (__m512)limit, (__m512)x);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(R) == 32) return (R)_mm256_min_ps((__m256)limit, (__m256)x);
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(R) == 16) return (R)_mm_min_ps((__m128)limit, (__m128)x);
#else
    return limit < x ? limit : x;
#endif
}

// limit > x ? limit : x
template <class R>
LABELWEAVE_INLINE R at_least(R x, R limit) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 64) return (R)_mm512_maskz_max_ps(kAllFloats, (__m512)limit, (__m512)x);
#endif
#if defined(__AVX__)
    if constexpr (sizeof(R) == 32) return (R)_mm256_max_ps((__m256)limit, (__m256)x);
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(R) == 16) return (R)_mm_max_ps((__m128)limit, (__m128)x);
#else
    return limit > x ? limit : x;
#endif
}

// ---- 64-bit words: is any bit set, products of their lower halves

template <class R>
LABELWEAVE_INLINE bool any_bit(R x) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 64) return _mm512_test_epi64_mask((__m512i)x, (__m512i)x) != 0;
#endif
#if defined(__AVX__)
    if constexpr (sizeof(R) == 32) return !_mm256_testz_si256((__m256i)x, (__m256i)x);
#endif
#if defined(__SSE4_1__)
    if constexpr (sizeof(R) == 16) return !_mm_testz_si128((__m128i)x, (__m128i)x);
#else
    std::uint64_t found = 0;
    for (std::size_t i = 0; i < sizeof(R) / sizeof(std::uint64_t); ++i) found |= static_cast<std::uint64_t>(x[i]);
    return found != 0;
#endif
}

template <class R>
LABELWEAVE_INLINE R multiply_low_halves(R a, R b) {
#if defined(__AVX512F__)
    if constexpr (sizeof(R) == 64) return (R)_mm512_maskz_mul_epu32(kAllLanes, (__m512i)a, (__m512i)b);
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(R) == 32) return (R)_mm256_mul_epu32((__m256i)a, (__m256i)b);
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(R) == 16) return (R)_mm_mul_epu32((__m128i)a, (__m128i)b);
#else
    return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

}  // namespace labelweave::simd

// Lanes and what is done with them are the vocabulary of all kernels.
namespace labelweave {
using namespace simd;
}
