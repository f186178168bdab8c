#include "base/json_writer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>

namespace layline {
namespace {

constexpr size_t kMaxLine = 80;
constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

/// Whether a character stands for itself in a string, as nearly all in a network's names do.
bool is_plain(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

std::string json_string(std::string_view value) {
  std::string out = "\"";
  if (std::ranges::all_of(value, is_plain)) {
    out += value;
    out += '"';
    return out;
  }
  const bool is_utf8 = simdjson::validate_utf8(value.data(), value.size());
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

void JsonWriter::string(std::string_view value) { scalar(json_string(value)); }

void JsonWriter::number(double value, int decimals) {
  scalar(std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "null");
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  sink_(json_string(name));
  sink_(": ");
  after_key_ = true;
  return *this;
}

void JsonWriter::strings(const std::vector<std::string>& values) {
  size_t length = 0;
  for (const std::string& value : values) length += value.size() + 4;
  list_of(
      values, [this](const std::string& value) { string(value); },
      length <= kMaxLine ? Layout::one_line : Layout::lines);
}

void JsonWriter::open(char bracket, Layout layout) {
  separate();
  sink_({&bracket, 1});
  const bool within_line = !open_.empty() && open_.back().layout == Layout::one_line;
  open_.push_back({within_line ? Layout::one_line : layout});
}

void JsonWriter::close(char bracket) {
  const Container closed = open_.back();
  open_.pop_back();
  if (closed.layout == Layout::lines && !closed.is_empty) break_line();
  sink_({&bracket, 1});
}

void JsonWriter::scalar(std::string_view text) {
  separate();
  sink_(text);
}

void JsonWriter::separate() {
  if (std::exchange(after_key_, false) || open_.empty()) return;
  Container& container = open_.back();
  const bool is_first = std::exchange(container.is_empty, false);
  if (container.layout == Layout::lines) {
    if (!is_first) sink_(",");
    break_line();
  } else if (!is_first) {
    sink_(", ");
  }
}

void JsonWriter::break_line() {
  sink_("\n");
  for (size_t i = 0; i < open_.size(); ++i) sink_("  ");
}

}  // namespace layline
