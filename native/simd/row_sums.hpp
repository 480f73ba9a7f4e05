// The sums of eight vectors, as one vector.
#pragma once

#include "simd/lanes.hpp"

namespace labelweave::simd {

// One way for each width of a register; all add neighbours, then pairs of them, then both halves.
template <int Width>
struct RowSums;

template <>
struct RowSums<8> {
    template <class V>
    LABELWEAVE_INLINE static V of(const V* v) {
        using R = typename V::Part;
        R pairs[4], quads[2];
        for (int k = 0; k < 4; ++k) {
            const R a = v[2 * k].part[0], b = v[2 * k + 1].part[0];
            pairs[k] = shuffle<R, 0, 8, 2, 10, 4, 12, 6, 14>(a, b) + shuffle<R, 1, 9, 3, 11, 5, 13, 7, 15>(a, b);
        }
        for (int k = 0; k < 2; ++k) {
            const R a = pairs[2 * k], b = pairs[2 * k + 1];
            quads[k] = shuffle<R, 0, 1, 8, 9, 4, 5, 12, 13>(a, b) + shuffle<R, 2, 3, 10, 11, 6, 7, 14, 15>(a, b);
        }
        V sums;
        sums.part[0] = shuffle<R, 0, 1, 2, 3, 8, 9, 10, 11>(quads[0], quads[1]) +
                       shuffle<R, 4, 5, 6, 7, 12, 13, 14, 15>(quads[0], quads[1]);
        return sums;
    }
};

template <>
struct RowSums<4> {
    // The sums of part p of four vectors.
    template <class V>
    LABELWEAVE_INLINE static typename V::Part quads(const V* v, int p) {
        using R = typename V::Part;
        const R a = v[0].part[p], b = v[1].part[p], c = v[2].part[p], d = v[3].part[p];
        const R ab = shuffle<R, 0, 4, 2, 6>(a, b) + shuffle<R, 1, 5, 3, 7>(a, b);
        const R cd = shuffle<R, 0, 4, 2, 6>(c, d) + shuffle<R, 1, 5, 3, 7>(c, d);
        return shuffle<R, 0, 1, 4, 5>(ab, cd) + shuffle<R, 2, 3, 6, 7>(ab, cd);
    }
    template <class V>
    LABELWEAVE_INLINE static V of(const V* v) {
        V sums;
        sums.part[0] = quads(v, 0) + quads(v, 1);
        sums.part[1] = quads(v + 4, 0) + quads(v + 4, 1);
        return sums;
    }
};

template <>
struct RowSums<2> {
    // The sums of part p of two vectors.
    template <class V>
    LABELWEAVE_INLINE static typename V::Part pairs(const V* v, int p) {
        using R = typename V::Part;
        const R a = v[0].part[p], b = v[1].part[p];
        return shuffle<R, 0, 2>(a, b) + shuffle<R, 1, 3>(a, b);
    }
    template <class V>
    LABELWEAVE_INLINE static V of(const V* v) {
        return V::made([&](int k) {
            const V* two = v + 2 * k;
            return (pairs(two, 0) + pairs(two, 1)) + (pairs(two, 2) + pairs(two, 3));
        });
    }
};

LABELWEAVE_INLINE Lanes row_sums(const Lanes* v) { return RowSums<Lanes::kWidth>::of(v); }

}  // namespace labelweave::simd
