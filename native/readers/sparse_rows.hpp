// The rows of a CSR matrix as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace labelweave::readers {

// CSR rows with ascending columns and no stored zeros.
struct SparseRows {
    std::vector<double> data;
    std::vector<std::int32_t> columns;
    std::vector<std::int64_t> row_starts{0};

    void put(std::int32_t column, double value) {
        if (value == 0) return;
        ascending_ = ascending_ && (columns.size() == begin() || columns.back() < column);
        columns.push_back(column);
        data.push_back(value);
    }
    void finish_row();
    void drop_unfinished_row();

  private:
    std::size_t begin() const { return static_cast<std::size_t>(row_starts.back()); }
    void sort_row();

    bool ascending_ = true;
    std::vector<std::pair<std::int32_t, double>> row_;
};

}  // namespace labelweave::readers
