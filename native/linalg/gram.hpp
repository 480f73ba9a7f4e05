// Gram matrices of scaled columns in single precision, a block of rows at a time and tile by tile.
#pragma once

#include <cstddef>
#include <vector>

#include "simd/lane_floats.hpp"

namespace labelweave::linalg {

// A block of rows, its columns in panels of a cache line: a tile then reads one line after the other.
class GramBlock {
  public:
    static constexpr std::size_t kRows = 128, kColumns = 2 * kLanes;
    // Tiles are kTileRows x kColumns: as many sums as half of the registers hold.
    static constexpr std::size_t kTileRows = kRegisters / 2 / WideFloats::kParts;

    explicit GramBlock(std::size_t order)
        : order_(order), panels_((order + kColumns - 1) / kColumns * kRows * kColumns, 0.0f) {}

    std::size_t n_tile_rows() const { return (order_ + kTileRows - 1) / kTileRows; }

    // Begin anew with n rows, at most kRows, whose column k is row_at(row)(k).
    template <class RowAt>
    void read(std::size_t n, RowAt row_at) {
        n_rows_ = n;
        for (std::size_t row = 0; row < n; ++row) {
            const auto value = row_at(row);
            for (std::size_t k = 0; k < order_; ++k) panels_[at(row, k)] = static_cast<float>(value(k));
        }
    }

    // Add the rows' part to rows [kTileRows t, kTileRows (t + 1)) of a packed matrix, left of the diagonal.
    void add_tile_row(std::size_t t, float* matrix) const;

  private:
    static std::size_t at(std::size_t row, std::size_t column) {
        return (column / kColumns * kRows + row) * kColumns + column % kColumns;
    }
    void add_tile(std::size_t i0, std::size_t j0, float* matrix) const;

    std::size_t order_, n_rows_ = 0;
    std::vector<float> panels_;
};

}  // namespace labelweave::linalg
