// The data section of an ARFF file (Weka's format; Mulan and Meka use it), dense or sparse.
// The header is read in Python, which says what each column holds and where it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers/cursor.hpp"
#include "readers/sparse_rows.hpp"

namespace labelweave::readers {

// The values of a nominal attribute, and the number each stands for.
struct Domain {
    std::vector<std::string> words;
    std::vector<double> numbers;
};

constexpr std::int64_t numeric_column = -1;

// One entry a column. `target` is j >= 0 for feature j and -1 - j for label j; `domain` is
// numeric_column or an index into `domains`.
struct ArffColumns {
    std::vector<std::string> names;
    std::vector<std::int64_t> target;
    std::vector<std::int64_t> domain;
    std::vector<Domain> domains;
    std::size_t n_features = 0;
    std::size_t n_labels = 0;
};

// Dense files fill `dense` (row-major, n_rows x n_features), sparse ones fill `features`.
struct ArffRows {
    bool sparse = false;
    std::size_t n_rows = 0;
    std::vector<double> dense;
    SparseRows features;
    std::vector<std::int8_t> labels;  // row-major, n_rows x n_labels
};

// `text` begins after the @data line; `line` is the number of its first line.
ArffRows parse_arff_rows(std::string_view text, std::size_t line, const std::string& source,
                         const ArffColumns& columns);

}  // namespace labelweave::readers
