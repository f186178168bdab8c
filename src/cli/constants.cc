#include "cli/constants.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/parse_number.h"
#include "cli/command.h"

namespace layline {
namespace {

std::optional<ConstantValue> parse_value(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto integer = parse_number<int64_t>(text)) return *integer;
  // An integer that does not fit is none: as a double it would be another number.
  if (text.find_first_of(".eE") == std::string_view::npos) return std::nullopt;
  if (const auto real = parse_number<double>(text); real && std::isfinite(*real)) return *real;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::vector<ConstantValue> parse_values(const std::string& name, std::string_view text) {
  text = trimmed(text);
  std::string_view items = text;
  if (items.size() > 1 && items.starts_with('[') && items.ends_with(']'))
    items = items.substr(1, items.size() - 2);
  std::vector<ConstantValue> values;
  for (size_t begin = 0; begin <= items.size();) {
    const size_t end = std::min(items.find(',', begin), items.size());
    const auto value = parse_value(trimmed(items.substr(begin, end - begin)));
    if (!value)
      throw UserError(
          "--constant {}: '{}' is not an integer, a float, true, false or a list such as 1,2", name,
          text);
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

}  // namespace

ConstantMethods parse_constants(const std::vector<std::string>& texts) {
  ConstantMethods constants;
  for (const std::string& text : texts) {
    const auto [name, value] = parse_assignment("--constant", text);
    if (!constants.emplace(name, parse_values(name, value)).second)
      throw UserError("--constant {} is given twice", name);
  }
  return constants;
}

}  // namespace layline
