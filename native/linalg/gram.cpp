#include "linalg/gram.hpp"

#include <algorithm>

#include "linalg/cholesky.hpp"

namespace labelweave::linalg {

static_assert(GramBlock::kColumns % GramBlock::kTileRows == 0);  // the rows of a tile lie in one panel

LABELWEAVE_KERNEL void GramBlock::add_tile(std::size_t i0, std::size_t j0, float* matrix) const {
    WideFloats sums[kTileRows]{};
    const float *left = panels_.data() + at(0, i0), *right = panels_.data() + at(0, j0);
    for (std::size_t row = 0; row < n_rows_; ++row) {
        const WideFloats columns = WideFloats::load(right + row * kColumns);
        for (std::size_t i = 0; i < kTileRows; ++i) sums[i] += left[row * kColumns + i] * columns;
    }
    for (std::size_t i = std::max(i0, j0 + 1); i < std::min(i0 + kTileRows, order_); ++i) {
        float entries[kColumns];
        sums[i - i0].store(entries);
        float* to = matrix + packed(i, j0);
        for (std::size_t j = 0; j < std::min(kColumns, i - j0); ++j) to[j] += entries[j];
    }
}

void GramBlock::add_tile_row(std::size_t t, float* matrix) const {
    for (std::size_t j0 = 0; j0 < (t + 1) * kTileRows; j0 += kColumns) add_tile(t * kTileRows, j0, matrix);
}

}  // namespace labelweave::linalg
