// Eight vectors of eight numbers, rows for columns.
#pragma once

#include "simd/lanes.hpp"

namespace labelweave::simd {

// The numbers of two registers in turn: those of their lower halves, and those of their upper halves.
template <class R>
LABELWEAVE_INLINE R interleave_low(R a, R b) {
    constexpr int width = sizeof(R) / sizeof(double);
    if constexpr (width == 8) return shuffle<R, 0, 8, 1, 9, 2, 10, 3, 11>(a, b);
    if constexpr (width == 4) return shuffle<R, 0, 4, 1, 5>(a, b);
    if constexpr (width == 2) return shuffle<R, 0, 2>(a, b);
}
template <class R>
LABELWEAVE_INLINE R interleave_high(R a, R b) {
    constexpr int width = sizeof(R) / sizeof(double);
    if constexpr (width == 8) return shuffle<R, 4, 12, 5, 13, 6, 14, 7, 15>(a, b);
    if constexpr (width == 4) return shuffle<R, 2, 6, 3, 7>(a, b);
    if constexpr (width == 2) return shuffle<R, 1, 3>(a, b);
}

// A square of registers: interleaving rows i and i + width / 2, log2(width) times, transposes it.
template <class R, int Width>
LABELWEAVE_INLINE void transpose_square(R (&rows)[Width]) {
    for (int size = Width; size > 1; size /= 2) {
        R next[Width];
        for (int i = 0; i < Width / 2; ++i) {
            next[2 * i] = interleave_low(rows[i], rows[i + Width / 2]);
            next[2 * i + 1] = interleave_high(rows[i], rows[i + Width / 2]);
        }
        for (int i = 0; i < Width; ++i) rows[i] = next[i];
    }
}

// to[i][j] = from[j][i], square by square.
LABELWEAVE_INLINE void transpose(const Lanes* from, Lanes* to) {
    constexpr int width = Lanes::kWidth;
    for (int p = 0; p < Lanes::kParts; ++p)
        for (int q = 0; q < Lanes::kParts; ++q) {
            Lanes::Part square[width];
            for (int i = 0; i < width; ++i) square[i] = from[p * width + i].part[q];
            transpose_square(square);
            for (int i = 0; i < width; ++i) to[q * width + i].part[p] = square[i];
        }
}

}  // namespace labelweave::simd
