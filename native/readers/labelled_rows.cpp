#include "readers/labelled_rows.hpp"

#include <algorithm>

namespace labelweave::readers {

void LabelledRows::drop_unfinished_row() {
    features.drop_unfinished_row();
    label_starts.resize(features.row_starts.size());
    labels.resize(static_cast<std::size_t>(label_starts.back()));
}

void LabelledRowParser::row() {
    label_list();
    feature_list();
}

// A row without labels begins with a blank, or straight with its first feature.
bool LabelledRowParser::has_labels() const {
    if (ends_token(cursor_) && !cursor_.sees(',')) return false;
    const char* at = cursor_.position();
    while (at != cursor_.end() && *at >= '0' && *at <= '9') ++at;
    return at == cursor_.end() || *at != ':';
}

void LabelledRowParser::label_list() {
    if (has_labels()) {
        do {
            rows_.labels.push_back(static_cast<std::int32_t>(cursor_.index(0, format.n_labels, "label index")));
        } while (cursor_.skip(','));
    }
    rows_.label_starts.push_back(static_cast<std::int64_t>(rows_.labels.size()));
}

bool LabelledRowParser::skip_query() {
    constexpr std::string_view query = "qid:";
    const auto left = static_cast<std::size_t>(cursor_.end() - cursor_.position());
    if (!format.svmlight || std::string_view(cursor_.position(), std::min(left, query.size())) != query) return false;
    cursor_.move_to(cursor_.position() + query.size());
    if (!cursor_.whole_number(std::numeric_limits<std::int64_t>::max())) cursor_.fail("the number of a query");
    return true;
}

void LabelledRowParser::feature_list() {
    seen_.clear();
    bool ascending = true;
    for (cursor_.skip_blanks(); !at_row_end(); cursor_.skip_blanks()) {
        if (skip_query()) continue;
        const char* start = cursor_.position();
        const auto number = cursor_.index(format.first_feature, format.n_features, "feature index");
        const auto column = static_cast<std::int32_t>(number - format.first_feature);
        if (!cursor_.skip(':')) cursor_.fail("':' and the value of feature " + std::to_string(number));
        const auto value = cursor_.number();
        if (!value) cursor_.fail("a finite number for feature " + std::to_string(number));
        rows_.features.put(column, *value);
        ascending = ascending && (seen_.empty() || seen_.back().first < column);
        seen_.emplace_back(column, start);
    }
    if (!ascending) reject_repetition();
    rows_.features.finish_row();
}

void LabelledRowParser::reject_repetition() {
    std::sort(seen_.begin(), seen_.end());
    for (std::size_t k = 1; k < seen_.size(); ++k)
        if (seen_[k].first == seen_[k - 1].first)
            cursor_.fail_plainly(
                "feature " + std::to_string(seen_[k].first + format.first_feature) + " is given twice in this row",
                seen_[k].second);
}

LabelledLines parse_labelled_lines(std::string_view text, std::size_t line, const std::string& source,
                                   const RowFormat& format, bool skip_bad) {
    Cursor cursor(text, line, source);
    LabelledLines lines;
    LabelledRowParser parser(cursor, lines.rows);
    parser.format = format;
    const auto has_row = [&] {
        if (!format.svmlight) return true;
        const char* start = cursor.position();
        cursor.skip_blanks();
        const bool found = !cursor.at_newline() && !cursor.sees('#');
        cursor.move_to(start);
        return found;
    };
    for (; !cursor.at_end(); cursor.next_line()) {
        try {
            if (has_row()) parser.row();
        } catch (const TextError& error) {
            if (!skip_bad) throw;
            lines.rows.drop_unfinished_row();
            if (lines.n_bad++ == 0) lines.first_complaint = error.what();
        }
        cursor.skip_rest_of_line();
    }
    return lines;
}

}  // namespace labelweave::readers
