#include "pte/debug_map.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <unordered_map>

#include "base/error.h"
#include "base/json_writer.h"

namespace layline::pte {
namespace {

constexpr int64_t kVersion = 1;

std::string joined(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string method_text(const MethodDebugMap& method) {
  std::vector<std::string> sources, origins;
  std::unordered_map<std::string_view, size_t> numbers;  // many ops come from one line
  for (const DebugOrigin& origin : method.origins) {
    size_t number = 0;
    if (!origin.source.empty()) {
      const auto [known, is_new] = numbers.emplace(origin.source, sources.size() + 1);
      if (is_new) sources.push_back(json_string(origin.source));
      number = known->second;
    }
    origins.push_back(fmt::format("[{},{},{},{}]", json_string(origin.value),
                                  json_string(origin.node), number, json_string(origin.module)));
  }
  return fmt::format(R"({}:{{"sources":{},"origins":{},"instructions":[{}]}})",
                     json_string(method.method), joined(sources), joined(origins),
                     fmt::join(method.instructions, ","));
}

[[noreturn]] void fail(std::string_view what) {
  throw UserError("the program's `{}` data is damaged: {}; compile the model again", kDebugMapKey,
                  what);
}

template <typename T, typename Element>
T read(const Element& element, std::string_view what) {
  T value{};
  if (element.template get<T>().get(value) != simdjson::SUCCESS) fail(what);
  return value;
}

MethodDebugMap read_method(std::string_view name, simdjson::dom::element element) {
  using simdjson::dom::array;
  constexpr std::string_view kOrigin = "an origin is not a value, a node, a source and a module";
  MethodDebugMap method{std::string(name), {}, {}};
  std::vector<std::string_view> sources = {""};
  for (const auto source : read<array>(element["sources"], "no sources"))
    sources.push_back(read<std::string_view>(source, "a source is not a string"));
  for (const auto origin : read<array>(element["origins"], "no origins")) {
    const auto parts = read<array>(origin, kOrigin);
    const auto source = read<uint64_t>(parts.at(2), kOrigin);
    if (source >= sources.size()) fail("an origin has a source that there is not");
    const auto text = [&](size_t i) {
      return std::string(read<std::string_view>(parts.at(i), kOrigin));
    };
    method.origins.push_back({text(0), text(1), std::string(sources[source]), text(3)});
  }
  for (const auto item : read<array>(element["instructions"], "no instructions")) {
    const auto handle = read<uint64_t>(item, "a handle is not a number");
    if (handle > method.origins.size()) fail("an instruction has a handle that there is not");
    method.instructions.push_back(static_cast<uint32_t>(handle));
  }
  return method;
}

}  // namespace

std::string write_debug_map(const std::vector<MethodDebugMap>& methods) {
  std::vector<std::string> texts;
  for (const MethodDebugMap& method : methods) texts.push_back(method_text(method));
  return fmt::format(R"({{"version":{},"methods":{{{}}}}})", kVersion, fmt::join(texts, ","));
}

std::vector<MethodDebugMap> read_debug_map(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS)
    fail("not a JSON document");
  const auto version = read<int64_t>(document["version"], "no version");
  if (version != kVersion) {
    throw UserError("the program's `{}` data has version {}, this layline reads version {}",
                    kDebugMapKey, version, kVersion);
  }
  std::vector<MethodDebugMap> methods;
  for (const auto& [name, method] : read<simdjson::dom::object>(document["methods"], "no methods"))
    methods.push_back(read_method(name, method));
  return methods;
}

}  // namespace layline::pte
