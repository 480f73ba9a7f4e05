// The text format of the extreme classification repository: a header `n D L`, then one row a line,
// `label,label feature:value feature:value`, all counted from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text.hpp"

namespace labelweave {

struct XmcRows {
    std::int64_t n_rows = 0;
    std::int64_t n_features = 0;
    std::int64_t n_labels = 0;
    SparseRows features;
    // The labels of all rows, one after the other; row i has those from label_starts[i].
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> label_starts{0};
};

XmcRows parse_xmc(std::string_view text, const std::string& source);

}  // namespace labelweave
