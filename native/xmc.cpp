#include "xmc.hpp"

#include <algorithm>
#include <limits>

namespace labelweave {

namespace {

// Columns are stored as 32-bit integers, as scikit-learn wants them.
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_rows = std::numeric_limits<std::int64_t>::max();

class XmcParser {
   public:
    XmcParser(std::string_view text, const std::string& source) : cursor_(text, 1, source) {}

    XmcRows parse() {
        header();
        for (std::int64_t row = 0; row < rows_.n_rows; ++row) {
            if (cursor_.at_end()) cursor_.fail(promised() + " (row " + std::to_string(row + 1) + " is missing)");
            label_list();
            features();
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

    // A row without labels begins with a blank, or straight with its first feature.
    bool has_labels() const {
        if (ends_token(cursor_) && !cursor_.sees(',')) return false;
        const char* at = cursor_.position();
        while (at != cursor_.end() && *at >= '0' && *at <= '9') ++at;
        return at == cursor_.end() || *at != ':';
    }

    void label_list() {
        if (has_labels()) {
            do {
                rows_.labels.push_back(static_cast<std::int32_t>(cursor_.index(rows_.n_labels, "label index")));
            } while (cursor_.skip(','));
        }
        rows_.label_starts.push_back(static_cast<std::int64_t>(rows_.labels.size()));
    }

    void features() {
        seen_.clear();
        bool ascending = true;
        for (cursor_.skip_blanks(); !cursor_.at_newline(); cursor_.skip_blanks()) {
            const char* start = cursor_.position();
            const auto column = static_cast<std::int32_t>(cursor_.index(rows_.n_features, "feature index"));
            if (!cursor_.skip(':')) cursor_.fail("':' and the value of feature " + std::to_string(column));
            const auto value = cursor_.number();
            if (!value) cursor_.fail("a finite number for feature " + std::to_string(column));
            rows_.features.put(column, *value);
            ascending = ascending && (seen_.empty() || seen_.back().first < column);
            seen_.emplace_back(column, start);
        }
        if (!ascending) reject_repetition();
        rows_.features.finish_row();
    }

    void reject_repetition() {
        std::sort(seen_.begin(), seen_.end());
        for (std::size_t k = 1; k < seen_.size(); ++k)
            if (seen_[k].first == seen_[k - 1].first)
                cursor_.fail_plainly("feature " + std::to_string(seen_[k].first) + " is given twice in this row",
                                     seen_[k].second);
    }

    Cursor cursor_;
    XmcRows rows_;
    std::vector<std::pair<std::int32_t, const char*>> seen_;  // this row's features, and where they stand
};

}  // namespace

XmcRows parse_xmc(std::string_view text, const std::string& source) { return XmcParser(text, source).parse(); }

}  // namespace labelweave
