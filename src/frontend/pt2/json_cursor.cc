#include "frontend/pt2/json_cursor.h"

#include <limits>

#include "base/error.h"

namespace layline::pt2 {

JsonDocument::JsonDocument(std::span<const std::byte> text, std::string_view file,
                           size_t readable_after)
    : file_(file) {
  simdjson::dom::parser parser;
  const bool copy = readable_after < simdjson::SIMDJSON_PADDING;
  const auto* data = reinterpret_cast<const uint8_t*>(text.data());
  const simdjson::error_code error =
      parser.parse_into_document(document_, data, text.size(), copy).error();
  if (error != simdjson::SUCCESS)
    throw UserError("{}: not valid JSON: {}", file, simdjson::error_message(error));
}

std::shared_ptr<const void> JsonDocument::release_strings() {
  document_.tape.reset();
  return std::shared_ptr<const uint8_t[]>(std::move(document_.string_buf));
}

void JsonCursor::fail(std::string_view what) const {
  const std::string where = path();
  throw UserError("{}: {}{}{}", file_, where, where.empty() ? "" : ": ", what);
}

std::string JsonCursor::path() const {
  if (parent_ == nullptr) return {};
  std::string result = parent_->path();
  if (parent_->value_.is_array()) return result + fmt::format("[{}]", index_);
  if (!result.empty()) result += '.';
  return result.append(name_);
}

JsonCursor JsonCursor::key(std::string_view name) const& {
  const auto member = object().at_key(name);
  if (member.error() != simdjson::SUCCESS) fail(fmt::format("'{}' is missing", name));
  return {member.value_unsafe(), this, name, 0};
}

std::optional<JsonCursor> JsonCursor::optional_key(std::string_view name) const& {
  const auto member = object().at_key(name);
  if (member.error() != simdjson::SUCCESS || member.value_unsafe().is_null()) return std::nullopt;
  return JsonCursor(member.value_unsafe(), this, name, 0);
}

std::pair<std::string_view, JsonCursor> JsonCursor::arm() const& {
  const simdjson::dom::object members = object();
  if (members.size() != 1) fail("expected an object with exactly one member");
  const simdjson::dom::key_value_pair member = *members.begin();
  return {member.key, JsonCursor(member.value, this, member.key, 0)};
}

std::string_view JsonCursor::string() const {
  const auto result = value_.get_string();
  if (result.error() != simdjson::SUCCESS) fail("expected a string");
  return result.value_unsafe();
}

int64_t JsonCursor::integer() const {
  const auto result = value_.get_int64();
  if (result.error() != simdjson::SUCCESS) fail("expected a 64-bit integer");
  return result.value_unsafe();
}

double JsonCursor::number() const {
  if (value_.is_string()) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::string_view text = string();
    if (text == "Infinity") return kInfinity;
    if (text == "-Infinity") return -kInfinity;
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  const auto result = value_.get_double();
  if (result.error() != simdjson::SUCCESS) fail("expected a number");
  return result.value_unsafe();
}

bool JsonCursor::boolean() const {
  const auto result = value_.get_bool();
  if (result.error() != simdjson::SUCCESS) fail("expected true or false");
  return result.value_unsafe();
}

size_t JsonCursor::size() const { return value_.is_array() ? array().size() : object().size(); }

simdjson::dom::array JsonCursor::array() const {
  const auto result = value_.get_array();
  if (result.error() != simdjson::SUCCESS) fail("expected an array");
  return result.value_unsafe();
}

simdjson::dom::object JsonCursor::object() const {
  const auto result = value_.get_object();
  if (result.error() != simdjson::SUCCESS) fail("expected an object");
  return result.value_unsafe();
}

}  // namespace layline::pt2
