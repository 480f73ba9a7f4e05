#include "readers/arff.hpp"

#include <cstring>
#include <utility>

namespace labelweave::readers {

namespace {

class ArffParser {
  public:
    ArffParser(std::string_view text, std::size_t line, const std::string& source, const ArffColumns& columns)
        : cursor_(text, line, source), columns_(columns), last_row_(columns.names.size(), 0) {
        // A sparse row leaves out what is 0 or, for a nominal column, its first value.
        for (std::size_t c = 0; c < columns.names.size(); ++c)
            if (omitted_value(c) != 0) nonzero_when_omitted_.push_back(c);
    }

    ArffRows parse() {
        for (; !cursor_.at_end(); cursor_.next_line()) {
            cursor_.skip_blanks();
            if (at_row_end()) {
                cursor_.skip_rest_of_line();
                continue;
            }
            if (rows_.n_rows == 0) rows_.sparse = cursor_.sees('{');
            ++rows_.n_rows;
            rows_.labels.resize(rows_.n_rows * columns_.n_labels, 0);
            if (rows_.sparse) {
                sparse_row();
            } else {
                dense_row();
            }
            cursor_.skip_blanks();
            if (!at_row_end()) cursor_.fail(row_end_expected());
            cursor_.skip_rest_of_line();
        }
        return std::move(rows_);
    }

  private:
    bool at_row_end() const { return cursor_.at_newline() || cursor_.sees('%'); }

    std::string row_end_expected() const {
        if (rows_.sparse) return "the end of the row";
        return "the end of the row after " + std::to_string(columns_.names.size()) + " values";
    }

    double omitted_value(std::size_t column) const {
        const auto domain = columns_.domain[column];
        return domain == numeric_column ? 0.0 : columns_.domains[static_cast<std::size_t>(domain)].numbers[0];
    }

    std::string describe(std::size_t column) const {
        return " for column " + std::to_string(column + 1) + " ('" + columns_.names[column] + "')";
    }

    void dense_row() {
        rows_.dense.resize(rows_.n_rows * columns_.n_features);
        for (std::size_t column = 0; column < columns_.names.size(); ++column) {
            if (column > 0) separator(column);
            store(column);
        }
    }

    // Values stand apart by a comma, by blanks, or by both.
    void separator(std::size_t column) {
        cursor_.skip_blanks();
        if (at_row_end()) cursor_.fail("a value" + describe(column) + " of " + std::to_string(columns_.names.size()));
        cursor_.skip(',');
        cursor_.skip_blanks();
    }

    void sparse_row() {
        if (!cursor_.skip('{')) cursor_.fail("'{', as in the rows before");
        cursor_.skip_blanks();
        if (!cursor_.skip('}')) {
            do {
                cursor_.skip_blanks();
                sparse_entry();
                cursor_.skip_blanks();
            } while (cursor_.skip(','));
            if (!cursor_.skip('}')) cursor_.fail("',' or '}'");
        }
        for (const auto column : nonzero_when_omitted_)
            if (last_row_[column] != rows_.n_rows) put(column, omitted_value(column));
        rows_.features.finish_row();
    }

    void sparse_entry() {
        const char* start = cursor_.position();
        const auto n_columns = static_cast<std::int64_t>(columns_.names.size());
        const auto column = static_cast<std::size_t>(cursor_.index(0, n_columns, "column index"));
        if (last_row_[column] == rows_.n_rows)
            cursor_.fail_plainly("column index " + std::to_string(column) + " is given twice in this row", start);
        last_row_[column] = rows_.n_rows;
        if (at_row_end() || cursor_.sees(',') || cursor_.sees('}')) cursor_.fail("a value" + describe(column));
        cursor_.skip_blanks();
        store(column);
    }

    // Read the value that stands here and put it where it belongs.
    void store(std::size_t column) {
        const char* start = cursor_.position();
        if (at_row_end() || cursor_.sees(',') || cursor_.sees('}')) cursor_.fail("a value" + describe(column));
        if (cursor_.sees('?'))
            cursor_.fail_plainly("missing value '?'" + describe(column) +
                                     ": labelweave needs complete data, so fill missing values in first",
                                 start);
        const bool numeric = columns_.domain[column] == numeric_column;
        const double value = numeric ? number(column) : nominal(column);
        if (columns_.target[column] < 0 && value != 0 && value != 1)
            cursor_.fail("0 or 1 for label '" + columns_.names[column] + "'", start);
        put(column, value);
    }

    void put(std::size_t column, double value) {
        const auto target = columns_.target[column];
        const std::size_t row = rows_.n_rows - 1;
        if (target < 0) {
            rows_.labels[row * columns_.n_labels + static_cast<std::size_t>(-1 - target)] = value != 0;
        } else if (rows_.sparse) {
            rows_.features.put(static_cast<std::int32_t>(target), value);
        } else {
            rows_.dense[row * columns_.n_features + static_cast<std::size_t>(target)] = value;
        }
    }

    double number(std::size_t column) {
        if (const auto value = cursor_.number()) return *value;
        cursor_.fail("a finite number" + describe(column));
    }

    double nominal(std::size_t column) {
        const auto& domain = columns_.domains[static_cast<std::size_t>(columns_.domain[column])];
        const char* start = cursor_.position();
        const std::string_view word = cursor_.sees('\'') || cursor_.sees('"') ? quoted_word() : bare_word();
        for (std::size_t k = 0; k < domain.words.size(); ++k)
            if (domain.words[k] == word) return domain.numbers[k];
        std::string choices;
        for (const auto& choice : domain.words) choices += (choices.empty() ? "" : ",") + choice;
        cursor_.fail("one of {" + printable(choices, 60) + "}" + describe(column), start);
    }

    std::string_view bare_word() {
        const char* start = cursor_.position();
        const char* stop = start;
        while (stop != cursor_.end() && !std::strchr(" \t\r\n,}%", *stop)) ++stop;
        cursor_.move_to(stop);
        return {start, static_cast<std::size_t>(stop - start)};
    }

    std::string_view quoted_word() {
        const char* start = cursor_.position();
        const char quote = *start;
        unquoted_.clear();
        for (const char* at = start + 1; at != cursor_.end() && *at != '\n'; ++at) {
            if (*at == quote) {
                cursor_.move_to(at + 1);
                return unquoted_;
            }
            if (*at == '\\' && at + 1 != cursor_.end() && at[1] != '\n') ++at;
            unquoted_ += *at;
        }
        cursor_.fail_plainly("the quote that begins here does not end on this line", start);
    }

    Cursor cursor_;
    const ArffColumns& columns_;
    ArffRows rows_;
    std::vector<std::size_t> last_row_;  // the row (from 1) that last named each column
    std::vector<std::size_t> nonzero_when_omitted_;
    std::string unquoted_;
};

}  // namespace

ArffRows parse_arff_rows(std::string_view text, std::size_t line, const std::string& source,
                         const ArffColumns& columns) {
    return ArffParser(text, line, source, columns).parse();
}

}  // namespace labelweave::readers
