// The text format of the extreme classification repository: a header `n D L`, then one row a line,
// `label,label feature:value feature:value`, all counted from 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "readers/labelled_rows.hpp"

namespace labelweave::readers {

struct XmcRows {
    std::int64_t n_rows = 0;
    std::int64_t n_features = 0;
    std::int64_t n_labels = 0;
    LabelledRows rows;
};

XmcRows parse_xmc(std::string_view text, const std::string& source);

}  // namespace labelweave::readers
