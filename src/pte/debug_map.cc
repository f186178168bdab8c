#include "pte/debug_map.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/json_writer.h"
#include "pte/json_document.h"

namespace layline::pte {
namespace {

constexpr JsonDocument kDocument{kDebugMapKey, 2};

std::string joined(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

/// Texts with a number for each, from 1; 0 stands for none. Many ops come from one line, or module.
struct Numbered {
  size_t number(std::string_view text) {
    if (text.empty()) return 0;
    const auto [known, is_new] = numbers.emplace(text, texts.size() + 1);
    if (is_new) texts.push_back(json_string(text));
    return known->second;
  }

  std::vector<std::string> texts;
  std::unordered_map<std::string_view, size_t> numbers;
};

/// The node's name, as what follows in an origin: nothing where the value has it, or as much of the
/// value's name as it is.
std::string node_text(const DebugOrigin& origin) {
  if (origin.node == origin.value) return {};
  if (origin.value.starts_with(origin.node)) return fmt::format(",{}", origin.node.size());
  return "," + json_string(origin.node);
}

std::string method_text(const MethodDebugMap& method) {
  Numbered sources, modules;
  std::vector<std::string> origins;
  for (const DebugOrigin& origin : method.origins) {
    origins.push_back(fmt::format("[{},{},{}{}]", json_string(origin.value),
                                  sources.number(origin.source), modules.number(origin.module),
                                  node_text(origin)));
  }
  return fmt::format(R"({}:{{"sources":{},"modules":{},"origins":{},"instructions":[{}]}})",
                     json_string(method.method), joined(sources.texts), joined(modules.texts),
                     joined(origins), fmt::join(method.instructions, ","));
}

std::vector<std::string_view> read_texts(simdjson::dom::element method, std::string_view key) {
  std::vector<std::string_view> texts = {""};
  for (const auto text :
       kDocument.read<simdjson::dom::array>(method[key], fmt::format("no {}", key)))
    texts.push_back(kDocument.read<std::string_view>(text, fmt::format("{} are no strings", key)));
  return texts;
}

std::string read_node(const std::string& value, simdjson::dom::element part,
                      std::string_view what) {
  if (!part.is_uint64()) return std::string(kDocument.read<std::string_view>(part, what));
  const auto length = kDocument.read<uint64_t>(part, what);
  if (length >= value.size()) kDocument.fail(what);
  return value.substr(0, length);
}

MethodDebugMap read_method(std::string_view name, simdjson::dom::element element) {
  using simdjson::dom::array;
  constexpr std::string_view kOrigin = "an origin is not a value, a source, a module and a node";
  MethodDebugMap method{std::string(name), {}, {}};
  const std::vector<std::string_view> sources = read_texts(element, "sources");
  const std::vector<std::string_view> modules = read_texts(element, "modules");
  for (const auto origin : kDocument.read<array>(element["origins"], "no origins")) {
    const auto parts = kDocument.read<array>(origin, kOrigin);
    const auto text = [&](size_t i) {
      return std::string(kDocument.read<std::string_view>(parts.at(i), kOrigin));
    };
    const auto numbered = [&](size_t i, const std::vector<std::string_view>& texts) {
      const auto number = kDocument.read<uint64_t>(parts.at(i), kOrigin);
      if (number >= texts.size()) kDocument.fail("an origin has a number that there is not");
      return std::string(texts[number]);
    };
    if (parts.size() != 3 && parts.size() != 4) kDocument.fail(kOrigin);
    const std::string value = text(0);
    method.origins.push_back(
        {value, parts.size() == 4 ? read_node(value, parts.at(3).value(), kOrigin) : value,
         numbered(1, sources), numbered(2, modules)});
  }
  for (const auto item : kDocument.read<array>(element["instructions"], "no instructions")) {
    const auto handle = kDocument.read<uint64_t>(item, "a handle is not a number");
    if (handle > method.origins.size())
      kDocument.fail("an instruction has a handle that there is not");
    method.instructions.push_back(static_cast<uint32_t>(handle));
  }
  return method;
}

}  // namespace

std::string write_debug_map(const std::vector<MethodDebugMap>& methods) {
  std::vector<std::string> texts;
  for (const MethodDebugMap& method : methods) texts.push_back(method_text(method));
  return fmt::format(R"({{"version":{},"methods":{{{}}}}})", kDocument.version,
                     fmt::join(texts, ","));
}

std::vector<MethodDebugMap> read_debug_map(std::string_view json) {
  simdjson::dom::parser parser;
  std::vector<MethodDebugMap> methods;
  for (const auto& [name, method] : kDocument.methods(parser, json))
    methods.push_back(read_method(name, method));
  return methods;
}

}  // namespace layline::pte
