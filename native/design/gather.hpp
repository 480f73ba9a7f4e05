// Products with the rows of a CSR matrix, eight lanes at a time.
#pragma once

#include "design/design.hpp"

namespace labelweave::design {

// u + sum of value(k) v[indices[k]]. Four independent sums hide the latency of the additions.
template <class Value>
LABELWEAVE_INLINE Lanes gather_terms(const std::int32_t* indices, std::size_t n, const Lanes* v, Lanes u, Value value) {
    Lanes sums[4] = {u, Lanes{}, Lanes{}, Lanes{}};
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4)
        for (int i = 0; i < 4; ++i) sums[i] += value(k + i) * v[indices[k + i]];
    for (; k < n; ++k) sums[0] += value(k) * v[indices[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// u + (matrix v)_row; with a transposed matrix, one column's gradient.
LABELWEAVE_INLINE Lanes gather(const Csr& matrix, std::size_t row, const Lanes* v, Lanes u) {
    const std::int64_t begin = matrix.indptr[row];
    const auto n = static_cast<std::size_t>(matrix.indptr[row + 1] - begin);
    const std::int32_t* indices = matrix.indices + begin;
    if (!matrix.values) return gather_terms(indices, n, v, u, [](std::size_t) { return 1.0; });
    const double* values = matrix.values + begin;
    return gather_terms(indices, n, v, u, [values](std::size_t k) { return values[k]; });
}

LABELWEAVE_INLINE void scatter(const Csr& matrix, std::size_t row, Lanes r, Lanes* gradient) {
    for (std::int64_t k = matrix.indptr[row]; k < matrix.indptr[row + 1]; ++k)
        gradient[matrix.indices[k]] += matrix.value(k) * r;
}

}  // namespace labelweave::design
