// A value in a JSON document together with the way there, so that every error can say where it is.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace layline::pt2 {

/// A parsed document. Its strings outlive it for whoever holds strings().
class JsonDocument {
 public:
  /// Parses the text. Throws UserError if it is not JSON or nests deeper than 1024 levels, which
  /// also bounds every recursion over the document. `file` stands for it in messages and must
  /// outlive the cursors. simdjson reads a little past the end: `readable_after` says how many
  /// bytes of the same mapping follow, and if they are too few the text is copied.
  JsonDocument(std::span<const std::byte> text, std::string_view file, size_t readable_after = 0);

  simdjson::dom::element root() const { return document_.root(); }
  std::string_view file() const { return file_; }
  /// The owner of the strings. Call it once all strings have been read: root() is of no use
  /// afterwards.
  std::shared_ptr<const void> release_strings();

 private:
  std::string_view file_;
  simdjson::dom::document document_;
};

/// A value and its place. Children point to their parents, so no child can be taken of a temporary.
class JsonCursor {
 public:
  explicit JsonCursor(const JsonDocument& document)
      : value_(document.root()), file_(document.file()) {}

  /// Throws UserError `FILE: PATH: WHAT`.
  [[noreturn]] void fail(std::string_view what) const;

  /// A required member of an object.
  JsonCursor key(std::string_view name) const&;
  JsonCursor key(std::string_view name) const&& = delete;
  /// A member, or nothing if it is absent or null.
  std::optional<JsonCursor> optional_key(std::string_view name) const&;
  std::optional<JsonCursor> optional_key(std::string_view name) const&& = delete;
  /// A union is an object with one member: its arm's name and the value.
  std::pair<std::string_view, JsonCursor> arm() const&;
  std::pair<std::string_view, JsonCursor> arm() const&& = delete;

  std::string_view string() const;
  int64_t integer() const;
  /// Also accepts the strings that torch writes for what JSON lacks: Infinity, -Infinity, NaN.
  double number() const;
  bool boolean() const;
  bool is_null() const { return value_.is_null(); }

  /// Number of items of an array or members of an object.
  size_t size() const;

  /// Calls `visit(item)` for each item of an array.
  template <typename Visit>
  void each_item(Visit&& visit) const {
    size_t index = 0;
    for (const simdjson::dom::element item : array()) visit(JsonCursor(item, this, {}, index++));
  }

  /// Calls `visit(name, value)` for each member of an object.
  template <typename Visit>
  void each_member(Visit&& visit) const {
    for (const simdjson::dom::key_value_pair member : object())
      visit(member.key, JsonCursor(member.value, this, member.key, 0));
  }

 private:
  JsonCursor(simdjson::dom::element value, const JsonCursor* parent, std::string_view name,
             size_t index)
      : value_(value), parent_(parent), file_(parent->file_), name_(name), index_(index) {}

  simdjson::dom::array array() const;
  simdjson::dom::object object() const;
  std::string path() const;

  simdjson::dom::element value_;
  const JsonCursor* parent_ = nullptr;
  std::string_view file_;
  std::string_view name_;  ///< in the parent, if that is an object
  size_t index_ = 0;       ///< in the parent, if that is an array
};

}  // namespace layline::pt2
