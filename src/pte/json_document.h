// The JSON documents that a program carries as named data: a version, and an entry for each method.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace layline::pte {

struct JsonDocument {
  std::string_view key;
  int64_t version;

  [[noreturn]] void fail(std::string_view what) const {
    throw UserError("the program's `{}` data is damaged: {}; compile the model again", key, what);
  }

  template <typename T, typename Element>
  T read(const Element& element, std::string_view what) const {
    T value{};
    if (element.template get<T>().get(value) != simdjson::SUCCESS) fail(what);
    return value;
  }

  /// The entries of the methods. They live as long as the parser.
  simdjson::dom::object methods(simdjson::dom::parser& parser, std::string_view json) const {
    simdjson::dom::element document;
    if (parser.parse(json.data(), json.size()).get(document) != simdjson::SUCCESS)
      fail("not a JSON document");
    const auto found = read<int64_t>(document["version"], "no version");
    if (found != version)
      throw UserError("the program's `{}` data has version {}, this layline reads version {}", key,
                      found, version);
    return read<simdjson::dom::object>(document["methods"], "no methods");
  }
};

}  // namespace layline::pte
