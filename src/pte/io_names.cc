#include "pte/io_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "layline/version.h"
#include "pte/json_document.h"

namespace layline::pte {
namespace {

constexpr JsonDocument kDocument{kIoNamesKey, 1};
constexpr std::string_view kCompiler = "layline " LAYLINE_VERSION;
constexpr size_t kMaxNameBytes = 200;  // leaves room for a suffix within the usual 255

bool is_unsafe_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f ||
         std::string_view("/\\:*?\"<>|").find(c) != std::string::npos;
}

/// Cuts `name`, which is UTF-8, to at most `limit` bytes, character by character.
void truncate_utf8(std::string& name, size_t limit) {
  while (name.size() > limit) {
    const auto is_continued = [&] {
      return (static_cast<unsigned char>(name.back()) & 0xc0) == 0x80;
    };
    while (is_continued()) name.pop_back();
    name.pop_back();
  }
}

std::string nearest_safe_name(std::string name) {
  if (!simdjson::validate_utf8(name)) {
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c & 0x80; }, '_');
  }
  std::replace_if(name.begin(), name.end(), is_unsafe_byte, '_');
  truncate_utf8(name, kMaxNameBytes);
  if (name.empty()) return "_";
  if (name.front() == '.') name.front() = '_';
  return name;
}

void append_json_string(std::string& out, std::string_view text) {
  LAYLINE_ASSERT(simdjson::validate_utf8(text.data(), text.size()), "a name is not UTF-8");
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_list(std::string& out, const std::vector<std::string>& names) {
  out += '[';
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, names[i]);
  }
  out += ']';
}

void append_dynamic_sizes(std::string& out, const MethodIoNames& method) {
  out += ",\"symbols\":[";
  for (size_t i = 0; i < method.symbols.size(); ++i) {
    const RecordedSymbol& symbol = method.symbols[i];
    out += i > 0 ? ",{\"name\":" : "{\"name\":";
    append_json_string(out, symbol.name);
    out += fmt::format(",\"min\":{},\"max\":{},\"formula\":", symbol.min, symbol.max);
    append_json_string(out, symbol.formula);
    out += '}';
  }
  out += "],\"input_shapes\":[";
  for (size_t i = 0; i < method.input_shapes.size(); ++i) {
    if (i > 0) out += ',';
    append_json_list(out, method.input_shapes[i]);
  }
  out += ']';
}

std::vector<std::string> read_list(simdjson::dom::element method, std::string_view key) {
  const std::string not_a_list = fmt::format("`{}` is not a list", key);
  const std::string not_a_string = fmt::format("`{}` holds something that is not a string", key);
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (const auto item : kDocument.read<simdjson::dom::array>(method[key], not_a_list)) {
    const auto name = kDocument.read<std::string_view>(item, not_a_string);
    if (!is_safe_io_name(name))
      kDocument.fail(fmt::format("`{}` holds a name unsafe as a file name", key));
    if (!seen.insert(name).second) kDocument.fail(fmt::format("`{}` holds `{}` twice", key, name));
    names.emplace_back(name);
  }
  return names;
}

void read_dynamic_sizes(simdjson::dom::element element, MethodIoNames& method) {
  using simdjson::dom::array;
  array symbols;
  if (element["symbols"].get_array().get(symbols) != simdjson::SUCCESS) return;
  if (symbols.size() == 0) kDocument.fail("`symbols` is empty");
  for (const auto symbol : symbols)
    method.symbols.push_back(
        {std::string(kDocument.read<std::string_view>(symbol["name"], "a symbol has no `name`")),
         kDocument.read<int64_t>(symbol["min"], "a symbol has no `min`"),
         kDocument.read<int64_t>(symbol["max"], "a symbol has no `max`"),
         std::string(
             kDocument.read<std::string_view>(symbol["formula"], "a symbol has no `formula`"))});
  for (const auto shape : kDocument.read<array>(element["input_shapes"], "no `input_shapes`")) {
    std::vector<std::string>& sizes = method.input_shapes.emplace_back();
    for (const auto dim : kDocument.read<array>(shape, "a shape is not a list"))
      sizes.emplace_back(kDocument.read<std::string_view>(dim, "a size is not a string"));
  }
  if (method.input_shapes.size() != method.inputs.size())
    kDocument.fail("not one shape for each input");
}

}  // namespace

bool is_safe_io_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' &&
         std::none_of(name.begin(), name.end(), is_unsafe_byte) &&
         simdjson::validate_utf8(name.data(), name.size());
}

std::vector<std::string> make_io_names(const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  names.reserve(wanted.size());
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, size_t> copies;  // how many a name has; keeps this linear
  for (const std::string& want : wanted) names.push_back(nearest_safe_name(want));
  // A name that some entry holds as its own is never given to another as a numbered copy.
  const std::unordered_set<std::string> reserved(names.begin(), names.end());
  for (std::string& name : names) {
    if (taken.insert(name).second) continue;
    for (size_t& n = copies[name];;) {
      const std::string suffix = fmt::format("_{}", ++n);
      std::string candidate = name;
      truncate_utf8(candidate, kMaxNameBytes - suffix.size());
      candidate += suffix;
      if (reserved.count(candidate) == 0 && taken.insert(candidate).second) {
        name = std::move(candidate);
        break;
      }
    }
  }
  return names;
}

std::string write_io_names(const std::vector<MethodIoNames>& methods) {
  std::string out =
      fmt::format(R"({{"version":{},"compiler":"{}","methods":{{)", kDocument.version, kCompiler);
  for (size_t i = 0; i < methods.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, methods[i].method);
    out += ":{\"inputs\":";
    append_json_list(out, methods[i].inputs);
    out += ",\"outputs\":";
    append_json_list(out, methods[i].outputs);
    if (!methods[i].symbols.empty()) append_dynamic_sizes(out, methods[i]);
    out += '}';
  }
  out += "}}";
  return out;
}

std::vector<MethodIoNames> read_io_names(std::string_view json) {
  simdjson::dom::parser parser;
  std::vector<MethodIoNames> result;
  for (const auto& [name, method] : kDocument.methods(parser, json)) {
    result.push_back(
        {std::string(name), read_list(method, "inputs"), read_list(method, "outputs")});
    read_dynamic_sizes(method, result.back());
  }
  return result;
}

}  // namespace layline::pte
