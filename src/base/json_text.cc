#include "base/json_text.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

namespace layline::json {
namespace {

constexpr size_t kMaxLine = 80;
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

/// Stands for itself in a string, as nearly every character of a network's names does.
bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

/// Puts `value` two columns further to the right, but for its first line. Line breaks within
/// strings are escaped, so every one that is met here is a break between lines.
void append_indented(Text& out, const Text& value) {
  for (const char c : value) {
    out += c;
    if (c == '\n') out += "  ";
  }
}

}  // namespace

Text string(std::string_view value) {
  if (std::ranges::all_of(value, is_plain)) return fmt::format("\"{}\"", value);
  const bool is_utf8 = simdjson::validate_utf8(value.data(), value.size());
  Text out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else if (byte >= 0x80 && !is_utf8) {
      out += kReplacementCharacter;
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

Text number(int64_t value) { return fmt::format("{}", value); }

Text number(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "null";
}

Text boolean(bool value) { return value ? "true" : "false"; }

Text list(const std::vector<Text>& items) {
  bool one_line = true;
  size_t length = 0;
  for (const Text& item : items) {
    length += item.size() + 2;
    one_line = one_line && item.find('\n') == Text::npos;
  }
  if (one_line && length <= kMaxLine) return fmt::format("[{}]", fmt::join(items, ", "));
  Text out = "[";
  for (const Text& item : items) {
    out += out.size() == 1 ? "\n  " : ",\n  ";
    append_indented(out, item);
  }
  return out + "\n]";
}

Text object(const std::vector<std::pair<std::string_view, Text>>& members) {
  if (members.empty()) return "{}";
  Text out = "{";
  for (const auto& [key, value] : members) {
    out += out.size() == 1 ? "\n  " : ",\n  ";
    out += string(key);
    out += ": ";
    append_indented(out, value);
  }
  return out + "\n}";
}

}  // namespace layline::json
