#include "ir/text_scanner.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

namespace layline {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_number(char c) { return is_word(c) || c == '.' || c == '+' || c == '-'; }

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// The longest prefix of `text` whose characters all satisfy `belongs`.
template <typename Predicate>
std::string_view take_while(std::string_view text, Predicate belongs) {
  return text.substr(
      0, static_cast<size_t>(std::find_if_not(text.begin(), text.end(), belongs) - text.begin()));
}

template <typename T>
std::optional<T> parse_all(std::string_view text, auto... base) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value, base...);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  if (!text.starts_with("0x")) return parse_all<double>(text);
  if (text.size() != 18) return std::nullopt;
  const auto bits = parse_all<uint64_t>(text.substr(2), 16);
  if (!bits) return std::nullopt;
  return std::bit_cast<double>(*bits);
}

}  // namespace

size_t Scanner::next() {
  while (position_ < text_.size()) {
    if (is_blank(text_[position_]))
      ++position_;
    else if (text_.substr(position_, 2) == "//")
      position_ = std::min(text_.find('\n', position_), text_.size());
    else
      break;
  }
  return position_;
}

bool Scanner::accept(std::string_view punctuation) {
  if (!text_.substr(next()).starts_with(punctuation)) return false;
  position_ += punctuation.size();
  return true;
}

void Scanner::expect(std::string_view punctuation) {
  if (!accept(punctuation)) fail_expected(fmt::format("'{}'", punctuation));
}

bool Scanner::accept_word(std::string_view word) {
  if (take_while(text_.substr(next()), is_word) != word) return false;
  position_ += word.size();
  return true;
}

void Scanner::expect_word(std::string_view word) {
  if (!accept_word(word)) fail_expected(fmt::format("'{}'", word));
}

std::string_view Scanner::word(std::string_view what) {
  const std::string_view found = take_while(text_.substr(next()), is_word);
  if (found.empty()) fail_expected(what);
  position_ += found.size();
  return found;
}

std::string_view Scanner::number_token(std::string_view what) {
  const std::string_view found = take_while(text_.substr(next()), is_number);
  if (found.empty()) fail_expected(what);
  return found;
}

int64_t Scanner::integer(std::string_view what) {
  const std::string_view token = number_token(what);
  const auto value = parse_all<int64_t>(token);
  if (!value) fail_expected(what);
  position_ += token.size();
  return *value;
}

double Scanner::number(std::string_view what) {
  const std::string_view token = number_token(what);
  const auto value = parse_number(token);
  if (!value) fail_expected(what);
  position_ += token.size();
  return *value;
}

std::string Scanner::string(std::string_view what) {
  const size_t begin = next();
  if (!accept("\"")) fail_expected(what);
  std::string result;
  for (;; ++position_) {
    if (position_ >= text_.size() || text_[position_] == '\n') fail(begin, "unterminated string");
    const char c = text_[position_];
    if (c == '"') break;
    if (c != '\\') {
      result += c;
      continue;
    }
    const std::string_view escape = text_.substr(position_ + 1, 3);
    if (escape.starts_with('"') || escape.starts_with('\\')) {
      result += escape[0];
      position_ += 1;
    } else if (escape.starts_with('n')) {
      result += '\n';
      position_ += 1;
    } else if (escape.size() == 3 && escape[0] == 'x' && is_hex(escape[1]) && is_hex(escape[2])) {
      result += static_cast<char>(*parse_all<uint8_t>(escape.substr(1), 16));
      position_ += 3;
    } else {
      fail(position_, R"(unknown escape: strings know \" \\ \n and \xNN)");
    }
  }
  ++position_;
  return result;
}

size_t Scanner::balanced_end(size_t begin, bool stop_at_comma, std::string_view what) {
  std::string closers;
  for (size_t i = begin; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '(' || c == '[' || c == '{') {
      closers += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (closers.empty()) return i;
      if (c != closers.back()) fail(i, fmt::format("expected '{}', found '{}'", closers.back(), c));
      closers.pop_back();
    } else if (c == ',' && stop_at_comma && closers.empty()) {
      return i;
    }
  }
  fail(text_.size(), fmt::format("the text ends inside {}", what));
}

std::string_view Scanner::bracketed(std::string_view what) {
  const size_t begin = next();
  if (!accept("[")) fail_expected(what);
  position_ = balanced_end(position_, false, what) + 1;
  if (text_[position_ - 1] != ']') {
    --position_;
    fail_expected("']'");
  }
  return text_.substr(begin, position_ - begin);
}

std::string_view Scanner::list_item(std::string_view what) {
  const size_t begin = next();
  position_ = balanced_end(begin, true, what);
  size_t end = position_;
  while (end > begin && is_blank(text_[end - 1])) --end;
  return text_.substr(begin, end - begin);
}

std::string_view Scanner::hex_digits() {
  const std::string_view found = take_while(text_.substr(position_), is_hex);
  position_ += found.size();
  return found;
}

void Scanner::fail(size_t position, std::string_view message) const {
  const std::string_view before = text_.substr(0, position);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  throw UserError("{}:{}:{}: {}", file_, line, before.size() - line_begin + 1, message);
}

void Scanner::fail_expected(std::string_view what) {
  const std::string_view rest = text_.substr(next());
  if (rest.empty()) fail(position_, fmt::format("expected {}, found the end of the text", what));
  constexpr size_t kShown = 32;
  const std::string_view token = take_while(rest, is_number);
  const std::string_view shown = token.empty() ? rest.substr(0, 1) : token.substr(0, kShown);
  fail(position_, fmt::format("expected {}, found {}", what, quote(shown)));
}

std::string quote(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return result + '"';
}

std::string exact_number(double value) {
  std::string decimal = fmt::format("{}", value);
  const auto read = parse_number(decimal);
  const auto bits = std::bit_cast<uint64_t>(value);
  if (read && std::bit_cast<uint64_t>(*read) == bits) return decimal;
  return fmt::format("0x{:016x}", bits);
}

}  // namespace layline
