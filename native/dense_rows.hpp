// Products of eight rows of a dense X with a few vectors: SIMD over the features, so that only the vectors
// there are cost anything.
#pragma once

#include "design.hpp"

namespace labelweave {

inline std::size_t n_vectors_of(const Design& design) { return (design.n_features + kLanes - 1) / kLanes; }

// A load that is made once and kept in a register, where the compiler would rather repeat it.
LABELWEAVE_INLINE Lanes load_once(const Lanes* from) { return *static_cast<const volatile Lanes*>(from); }

// The sums of eight vectors, as one vector.
LABELWEAVE_INLINE Lanes sums_of(const Lanes* v) {
    Lanes pairs[4], quads[2];
    for (int k = 0; k < 4; ++k)
        pairs[k] = __builtin_shufflevector(v[2 * k], v[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
                   __builtin_shufflevector(v[2 * k], v[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    for (int k = 0; k < 2; ++k)
        quads[k] = __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
                   __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(quads[0], quads[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(quads[0], quads[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

// Eight rows, copied into whole, aligned vectors (n_vectors of them, zero-padded) that the forward and the
// backward product then read once for three vectors.
struct DenseRows {
    std::size_t n_vectors;
    Lanes* rows;                 // kLanes rows of n_vectors
    const Lanes* v[kLanes];      // what the rows are multiplied with, vectors over the features
    Lanes* g[kLanes];            // what their transposed product is added to
    Lanes u[kLanes], r[kLanes];  // products and responses of the eight rows
    // X comes from beyond the near caches: while eight rows are worked on, the next ones are fetched,
    // a few lines with every step so that memory and arithmetic overlap.
    const char* ahead = nullptr;

    LABELWEAVE_INLINE static const char* fetch(const char* from) {
        for (int line = 0; line < 3; ++line) __builtin_prefetch(from + 64 * line, 0, 2);
        return from + 3 * 64;
    }

    LABELWEAVE_INLINE void read_rows(const Design& design, std::size_t first, std::size_t n) {
        const std::size_t d = design.n_features, whole = d / kLanes;
        for (std::size_t i = 0; i < n; ++i) {
            const double* from = design.dense + (first + i) * d;
            Lanes* to = rows + i * n_vectors;
            for (std::size_t k = 0; k < whole; ++k) to[k] = load(from + k * kLanes);
            for (std::size_t f = whole * kLanes; f < d; ++f) reinterpret_cast<double*>(to)[f] = from[f];
        }
    }

    // u += X v for N lanes.
    template <int N>
    LABELWEAVE_INLINE void forward(int first_lane) {
        Lanes sums[N][kLanes]{};
        const char* next = ahead;
        for (std::size_t k = 0; k < n_vectors; ++k) {
            next = fetch(next);
            for (int i = 0; i < kLanes; ++i) {
                const Lanes x = load_once(rows + i * n_vectors + k);
                for (int j = 0; j < N; ++j) sums[j][i] += x * v[first_lane + j][k];
            }
        }
        ahead = next;
        for (int j = 0; j < N; ++j) u[first_lane + j] += sums_of(sums[j]);
    }

    // g += X' r for N lanes.
    template <int N>
    LABELWEAVE_INLINE void backward(int first_lane) {
        Lanes response[N][kLanes];
        for (int j = 0; j < N; ++j)
            for (int i = 0; i < kLanes; ++i) response[j][i] = broadcast(r[first_lane + j][i]);
        const char* next = ahead;
        for (std::size_t k = 0; k < n_vectors; ++k) {
            next = fetch(next);
            Lanes sums[N];
            for (int j = 0; j < N; ++j) sums[j] = g[first_lane + j][k];
            for (int i = 0; i < kLanes; ++i) {
                const Lanes x = load_once(rows + i * n_vectors + k);
                for (int j = 0; j < N; ++j) sums[j] += x * response[j][i];
            }
            for (int j = 0; j < N; ++j) g[first_lane + j][k] = sums[j];
        }
        ahead = next;
    }

    LABELWEAVE_INLINE void forward_all(int n) {
        int k = 0;
        for (; k + 3 <= n; k += 3) forward<3>(k);
        if (k + 2 == n) forward<2>(k);
        if (k + 1 == n) forward<1>(k);
    }

    LABELWEAVE_INLINE void backward_all(int n) {
        int k = 0;
        for (; k + 3 <= n; k += 3) backward<3>(k);
        if (k + 2 == n) backward<2>(k);
        if (k + 1 == n) backward<1>(k);
    }
};

}  // namespace labelweave
