// A cursor that knows its place in a text file, so that every error message names file, line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace labelweave::readers {

// "file:line:column: expected this, found that". Becomes a ValueError in Python.
struct TextError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// A place in a text held in memory. Lines end in \n; a \r counts as a blank.
class Cursor {
  public:
    // `line` is the number of the line at whose start the text begins.
    Cursor(std::string_view text, std::size_t line, std::string source);

    bool at_end() const { return at_ == end_; }
    bool at_newline() const { return at_ == end_ || *at_ == '\n'; }
    bool sees(char c) const { return at_ != end_ && *at_ == c; }
    char peek() const { return at_ == end_ ? '\0' : *at_; }
    const char* position() const { return at_; }
    const char* end() const { return end_; }
    std::size_t line() const { return line_; }

    void move_to(const char* position) { at_ = position; }
    bool skip(char c) {
        const bool seen = sees(c);
        at_ += seen;
        return seen;
    }
    void skip_blanks() {
        while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r')) ++at_;
    }
    void skip_rest_of_line();  // stops before the \n
    void next_line();          // the cursor stands at a line's end

    // A finite number, or a whole number from 0 to `most`, if that is what the token here is.
    // The cursor then stands behind it, else it stays.
    std::optional<double> number();
    std::optional<std::int64_t> whole_number(std::int64_t most);
    // One of `count` indices from `first` on; anything else fails. `what` names it in the complaint.
    std::int64_t index(std::int64_t first, std::int64_t count, const char* what);

    // Throw, pointing at `position`, or here.
    [[noreturn]] void fail(const std::string& expected, const char* position) const;
    [[noreturn]] void fail(const std::string& expected) const { fail(expected, at_); }
    [[noreturn]] void fail_plainly(const std::string& message, const char* position) const;

  private:
    std::string found(const char* position) const;

    const char* at_;
    const char* end_;
    const char* line_start_;
    std::size_t line_;
    std::string source_;
};

// True where a value cannot go on: blanks, line ends and the punctuation of the formats.
bool ends_token(const Cursor& cursor);

// Bytes fit for a message: control characters escaped, cut where they run on.
std::string printable(std::string_view bytes, std::size_t limit = 40);

}  // namespace labelweave::readers
