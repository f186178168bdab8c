#include "pte/io_names.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace layline::pte {
namespace {

constexpr int64_t kVersion = 1;
constexpr std::string_view kCompiler = "layline " LAYLINE_VERSION;
constexpr size_t kMaxNameBytes = 200;  // leaves room for a suffix within the usual 255

bool is_unsafe_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f ||
         std::string_view("/\\:*?\"<>|").find(c) != std::string::npos;
}

/// Cuts `name` to at most `limit` bytes without breaking a UTF-8 sequence.
void truncate_utf8(std::string& name, size_t limit) {
  if (name.size() <= limit) return;
  while (limit > 0 && (static_cast<unsigned char>(name[limit]) & 0xc0) == 0x80) --limit;
  name.resize(limit);
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

[[noreturn]] void fail(std::string_view what) {
  throw UserError("the program's `{}` data is damaged: {}; compile the model again", kIoNamesKey,
                  what);
}

std::vector<std::string> read_list(simdjson::dom::element method, std::string_view key) {
  simdjson::dom::array list;
  if (method[key].get_array().get(list) != simdjson::SUCCESS) {
    fail(fmt::format("`{}` is not a list", key));
  }
  std::vector<std::string> names;
  std::unordered_set<std::string_view> seen;
  for (const simdjson::dom::element item : list) {
    std::string_view name;
    if (item.get_string().get(name) != simdjson::SUCCESS) {
      fail(fmt::format("`{}` holds something that is not a string", key));
    }
    if (!is_safe_io_name(name)) fail(fmt::format("`{}` holds a name unsafe as a file name", key));
    if (!seen.insert(name).second) fail(fmt::format("`{}` holds `{}` twice", key, name));
    names.emplace_back(name);
  }
  return names;
}

template <typename T>
T read_member(simdjson::dom::element object, std::string_view key) {
  T value{};
  if (object[key].get<T>().get(value) != simdjson::SUCCESS)
    fail(fmt::format("a symbol has no `{}`", key));
  return value;
}

void read_dynamic_sizes(simdjson::dom::element element, MethodIoNames& method) {
  simdjson::dom::array symbols, shapes;
  if (element["symbols"].get_array().get(symbols) != simdjson::SUCCESS) return;
  if (symbols.size() == 0) fail("`symbols` is empty");
  for (const simdjson::dom::element symbol : symbols)
    method.symbols.push_back({std::string(read_member<std::string_view>(symbol, "name")),
                              read_member<int64_t>(symbol, "min"),
                              read_member<int64_t>(symbol, "max"),
                              std::string(read_member<std::string_view>(symbol, "formula"))});
  if (element["input_shapes"].get_array().get(shapes) != simdjson::SUCCESS)
    fail("no `input_shapes`");
  for (const simdjson::dom::element shape : shapes) {
    simdjson::dom::array dims;
    if (shape.get_array().get(dims) != simdjson::SUCCESS) fail("a shape is not a list");
    std::vector<std::string>& sizes = method.input_shapes.emplace_back();
    for (const simdjson::dom::element dim : dims) {
      std::string_view size;
      if (dim.get_string().get(size) != simdjson::SUCCESS) fail("a size is not a string");
      sizes.emplace_back(size);
    }
  }
  if (method.input_shapes.size() != method.inputs.size()) fail("not one shape for each input");
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
  std::unordered_map<std::string, size_t> copies;  // of a name, which keeps this linear
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
      fmt::format(R"({{"version":{},"compiler":"{}","methods":{{)", kVersion, kCompiler);
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
  simdjson::dom::element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS) {
    fail("not a JSON document");
  }
  int64_t version = 0;
  if (document["version"].get_int64().get(version) != simdjson::SUCCESS) fail("no version");
  if (version != kVersion) {
    throw UserError("the program's `{}` data has version {}, this layline reads version {}",
                    kIoNamesKey, version, kVersion);
  }
  simdjson::dom::object methods;
  if (document["methods"].get_object().get(methods) != simdjson::SUCCESS) fail("no methods");
  std::vector<MethodIoNames> result;
  for (const auto& [name, method] : methods) {
    result.push_back(
        {std::string(name), read_list(method, "inputs"), read_list(method, "outputs")});
    read_dynamic_sizes(method, result.back());
  }
  return result;
}

}  // namespace layline::pte
