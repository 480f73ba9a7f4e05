#include "readers/cursor.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

namespace labelweave::readers {

namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

constexpr bool is_punctuation(char c) { return c == ',' || c == ':' || c == '{' || c == '}' || c == '%'; }

}  // namespace

std::string printable(std::string_view bytes, std::size_t limit) {
    static const char* hex = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const auto byte = static_cast<unsigned char>(bytes[i]);
        const bool continues = (byte & 0xC0) == 0x80;  // inside a character of UTF-8
        if (i >= limit && !continues) return out + "…";
        if (byte >= 0x20 && byte != 0x7f) {
            out += bytes[i];
        } else {
            out += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
        }
    }
    return out;
}

Cursor::Cursor(std::string_view text, std::size_t line, std::string source)
    : at_(text.data()), end_(text.data() + text.size()), line_start_(text.data()), line_(line),
      source_(std::move(source)) {}

void Cursor::skip_rest_of_line() {
    const void* newline = at_ == end_ ? nullptr : std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
    at_ = newline ? static_cast<const char*>(newline) : end_;
}

void Cursor::next_line() {
    if (at_ == end_) return;
    line_start_ = ++at_;
    ++line_;
}

bool ends_token(const Cursor& cursor) {
    return cursor.at_newline() || is_blank(cursor.peek()) || is_punctuation(cursor.peek());
}

std::optional<double> Cursor::number() {
    const char* start = at_;
    // from_chars knows no leading plus, but files do.
    const bool plus = sees('+') && at_ + 1 != end_ && at_[1] != '-';
    double value = 0;
    const auto [stop, error] = std::from_chars(at_ + plus, end_, value);
    at_ = stop;
    if (error == std::errc() && ends_token(*this) && std::isfinite(value)) return value;
    at_ = start;
    return std::nullopt;
}

std::optional<std::int64_t> Cursor::whole_number(std::int64_t most) {
    const char* start = at_;
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    at_ = stop;
    if (error == std::errc() && ends_token(*this) && value >= 0 && value <= most) return value;
    at_ = start;
    return std::nullopt;
}

std::int64_t Cursor::index(std::int64_t first, std::int64_t count, const char* what) {
    const char* start = at_;
    const auto last = first + count - 1;
    if (const auto value = whole_number(last); value && *value >= first) return *value;
    at_ = start;
    if (count > 0) fail(std::string("a ") + what + " from " + std::to_string(first) + " to " + std::to_string(last));
    fail(std::string("no ") + what + ", as there are none");
}

std::string Cursor::found(const char* position) const {
    if (position == end_) return "the end of the file";
    const char* stop = position;
    while (stop != end_ && *stop != '\n' && !is_blank(*stop) && !is_punctuation(*stop)) ++stop;
    if (stop != position) return "'" + printable({position, static_cast<std::size_t>(stop - position)}) + "'";
    while (stop != end_ && is_blank(*stop)) ++stop;
    if (stop == end_ || *stop == '\n') return "the end of the line";
    if (stop != position) return "a blank";
    return std::string("'") + *position + "'";
}

void Cursor::fail(const std::string& expected, const char* position) const {
    fail_plainly("expected " + expected + ", found " + found(position), position);
}

void Cursor::fail_plainly(const std::string& message, const char* position) const {
    const auto column = 1 + (position - line_start_);
    throw TextError(source_ + ":" + std::to_string(line_) + ":" + std::to_string(column) + ": " + message);
}

}  // namespace labelweave::readers
