// JSON as text, built from the inside out: every function returns one complete value, indented
// for people to read. Deterministic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace layline::json {

/// A value in JSON syntax.
using Text = std::string;

/// Bytes that are not UTF-8 become U+FFFD: a path may hold any.
Text string(std::string_view value);
Text number(int64_t value);
/// Rounded to `decimals`; null for what JSON has no number for.
Text number(double value, int decimals);
Text boolean(bool value);

/// On one line where that is short: [1, 3, 224, 224].
Text list(const std::vector<Text>& items);

/// One member per line, in the order given.
Text object(const std::vector<std::pair<std::string_view, Text>>& members);

/// The list of `to_text(item)`.
template <typename Item, typename ToText>
Text list_of(const std::vector<Item>& items, ToText to_text) {
  std::vector<Text> texts;
  texts.reserve(items.size());
  for (const Item& item : items) texts.push_back(to_text(item));
  return list(texts);
}

}  // namespace layline::json
