// Reads the tokens of the text form and knows where it stands: every error names its line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace layline {

/// Blanks and `//` comments may stand between any two tokens. `what` completes "expected ..." in
/// the error for a token that is not there.
class Scanner {
 public:
  Scanner(std::string_view text, std::string_view file_name) : text_(text), file_(file_name) {}

  /// Where the next token begins; the end of the text if there is none.
  size_t next();
  bool at_end() { return next() == text_.size(); }

  /// Takes the next token if it begins with these characters.
  bool accept(std::string_view punctuation);
  void expect(std::string_view punctuation);
  /// Takes the next token if it is this whole word.
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);

  /// A word of letters, digits and '_'.
  std::string_view word(std::string_view what);
  int64_t integer(std::string_view what);
  /// A decimal number, inf, nan, or the bits: 0x and sixteen hex digits.
  double number(std::string_view what);
  /// A quoted text, with the escapes that `quote` writes.
  std::string string(std::string_view what);
  /// The text from the bracket that opens next to the one that closes it.
  std::string_view bracketed(std::string_view what);
  /// The text up to the ',' or closing bracket that ends the list this stands in.
  std::string_view list_item(std::string_view what);
  /// The hex digits that follow at once.
  std::string_view hex_digits();
  size_t characters_left() const { return text_.size() - position_; }

  /// UserError "FILE:LINE:COLUMN: message" for the token at `position`.
  [[noreturn]] void fail(size_t position, std::string_view message) const;
  [[noreturn]] void fail_expected(std::string_view what);
  /// The result of `action`, whose UserErrors are given this position.
  template <typename Action>
  auto at(size_t position, Action action) const {
    try {
      return action();
    } catch (const UserError& error) {
      fail(position, error.what());
    }
  }

 private:
  std::string_view number_token(std::string_view what);
  /// The end of the balanced text from `begin` that stops before a closing bracket, or before a
  /// comma, that is not inside brackets.
  size_t balanced_end(size_t begin, bool stop_at_comma, std::string_view what);

  std::string_view text_;
  std::string_view file_;
  size_t position_ = 0;
};

/// The text as a quoted token, which is ASCII whatever the text.
std::string quote(std::string_view text);

/// A text that reads back to the same bits.
std::string exact_number(double value);

}  // namespace layline
