// Rows of text, `label,label feature:value feature:value`: the common part of XMC text and svmlight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "readers/cursor.hpp"
#include "readers/sparse_rows.hpp"

namespace labelweave::readers {

// Columns are stored as 32-bit integers, as scikit-learn wants them.
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();

// The differences between the two formats.
struct RowFormat {
    std::int64_t n_features = most_columns;
    std::int64_t n_labels = most_columns;
    std::int64_t first_feature = 0;  // the number of the first feature in the text
    bool svmlight = false;           // # begins a comment, qid:… is passed over, blank lines are no rows
};

struct LabelledRows {
    SparseRows features;
    // The labels of all rows, one after the other; row i has those from label_starts[i].
    std::vector<std::int32_t> labels;
    std::vector<std::int64_t> label_starts{0};

    void drop_unfinished_row();
};

// Reads row after row from a cursor, up to the end of each line.
class LabelledRowParser {
  public:
    LabelledRowParser(Cursor& cursor, LabelledRows& rows) : cursor_(cursor), rows_(rows) {}

    RowFormat format;

    void row();

  private:
    bool has_labels() const;
    void label_list();
    void feature_list();
    bool at_row_end() const { return cursor_.at_newline() || (format.svmlight && cursor_.sees('#')); }
    bool skip_query();
    void reject_repetition();

    Cursor& cursor_;
    LabelledRows& rows_;
    std::vector<std::pair<std::int32_t, const char*>> seen_;  // this row's features, and where they stand
};

// Whole lines from somewhere in a stream of rows.
struct LabelledLines {
    LabelledRows rows;
    std::int64_t n_bad = 0;
    std::string first_complaint;  // about the first bad line, if any
};

// `line` is the number of the first line. Bad lines throw a TextError, or are counted and left out.
LabelledLines parse_labelled_lines(std::string_view text, std::size_t line, const std::string& source,
                                   const RowFormat& format, bool skip_bad);

}  // namespace labelweave::readers
