// One row of a design, dense or sparse, as a list of entries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "design/design.hpp"

namespace labelweave::design {

struct RowEntries {
    const double* values = nullptr;
    const std::int32_t* columns = nullptr;  // null: a dense row, entry k is column k
    std::size_t size = 0;

    LABELWEAVE_INLINE std::size_t column(std::size_t k) const { return columns ? columns[k] : k; }
};

LABELWEAVE_INLINE RowEntries row_entries(const Design& design, std::size_t row) {
    if (design.dense) return {design.dense + row * design.n_features, nullptr, design.n_features};
    const std::int64_t begin = design.sparse.indptr[row], end = design.sparse.indptr[row + 1];
    return {design.sparse.values + begin, design.sparse.indices + begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace labelweave::design
