#include "readers/xmc.hpp"

#include <limits>

namespace labelweave::readers {

namespace {

constexpr std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();

class XmcParser {
  public:
    XmcParser(std::string_view text, const std::string& source)
        : cursor_(text, 1, source), row_parser_(cursor_, rows_.rows) {}

    XmcRows parse() {
        header();
        for (std::int64_t row = 0; row < rows_.n_rows; ++row) {
            if (cursor_.at_end()) cursor_.fail(promised() + " (row " + std::to_string(row + 1) + " is missing)");
            row_parser_.row();
            end_line();
        }
        for (; !cursor_.at_end(); cursor_.next_line()) {
            cursor_.skip_blanks();
            if (!cursor_.at_newline()) cursor_.fail("the end of the file: " + promised());
        }
        return std::move(rows_);
    }

  private:
    std::string promised() const { return std::to_string(rows_.n_rows) + " rows, as the header says"; }

    void header() {
        rows_.n_rows = count("the number of rows", most_rows);
        rows_.n_features = count("the number of features", most_columns);
        rows_.n_labels = count("the number of labels", most_columns);
        row_parser_.format.n_features = rows_.n_features;
        row_parser_.format.n_labels = rows_.n_labels;
        end_line();
    }

    std::int64_t count(const char* what, std::int64_t most) {
        cursor_.skip_blanks();
        if (const auto value = cursor_.whole_number(most)) return *value;
        cursor_.fail(std::string(what) + " (the first line reads: rows features labels)");
    }

    void end_line() {
        cursor_.skip_blanks();
        if (!cursor_.at_newline()) cursor_.fail("the end of the line");
        cursor_.next_line();
    }

    Cursor cursor_;
    XmcRows rows_;
    LabelledRowParser row_parser_;
};

}  // namespace

XmcRows parse_xmc(std::string_view text, const std::string& source) { return XmcParser(text, source).parse(); }

}  // namespace labelweave::readers
