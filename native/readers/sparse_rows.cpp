#include "readers/sparse_rows.hpp"

#include <algorithm>
#include <tuple>

namespace labelweave::readers {

void SparseRows::finish_row() {
    if (!ascending_) sort_row();
    ascending_ = true;
    row_starts.push_back(static_cast<std::int64_t>(columns.size()));
}

void SparseRows::drop_unfinished_row() {
    columns.resize(begin());
    data.resize(begin());
    ascending_ = true;
}

void SparseRows::sort_row() {
    row_.clear();
    for (std::size_t k = begin(); k < columns.size(); ++k) row_.emplace_back(columns[k], data[k]);
    std::sort(row_.begin(), row_.end());
    for (std::size_t k = 0; k < row_.size(); ++k) std::tie(columns[begin() + k], data[begin() + k]) = row_[k];
}

}  // namespace labelweave::readers
