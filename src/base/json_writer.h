// Writes JSON in one pass. Every piece of text goes straight on to a sink, and nothing is kept but
// the containers that are open. The text is indented for people to read, and deterministic.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace layline {

/// Takes text, piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// A string in JSON syntax. Bytes that are not UTF-8 become U+FFFD: a path may hold any.
std::string json_string(std::string_view value);

class JsonWriter {
 public:
  /// How the items of a container are laid out: each on a line of its own, or all on one line with
  /// everything inside them.
  enum class Layout { lines, one_line };

  explicit JsonWriter(TextSink sink) : sink_(std::move(sink)) {}

  void string(std::string_view value);
  void number(std::integral auto value) { scalar(std::to_string(value)); }
  /// Writes the number rounded to `decimals`; null if JSON has no such number.
  void number(double value, int decimals);
  void boolean(bool value) { scalar(value ? "true" : "false"); }
  void null() { scalar("null"); }

  /// Writes an object. `body` writes its members: a key() and a value each.
  template <typename Body>
  void object(Body&& body, Layout layout = Layout::lines) {
    open('{', layout);
    body();
    close('}');
  }
  /// Begins a member of the object that is open: json.key("ops").number(7).
  JsonWriter& key(std::string_view name);

  /// Writes a list. `body` writes its items.
  template <typename Body>
  void list(Body&& body, Layout layout = Layout::lines) {
    open('[', layout);
    body();
    close(']');
  }
  /// Writes a list; `write(item)` writes each item.
  template <typename Items, typename Write>
  void list_of(const Items& items, Write&& write, Layout layout = Layout::lines) {
    list(
        [&] {
          for (const auto& item : items) write(item);
        },
        layout);
  }
  /// Writes a list of numbers on one line: [1, 3, 224, 224].
  template <typename Numbers>
  void numbers(const Numbers& values) {
    list_of(
        values, [this](auto value) { this->number(value); }, Layout::one_line);
  }
  /// Writes a list of strings, on one line if that is short.
  void strings(const std::vector<std::string>& values);

 private:
  struct Container {
    Layout layout;
    bool is_empty = true;
  };

  void open(char bracket, Layout layout);
  void close(char bracket);
  void scalar(std::string_view text);
  /// Writes what stands before an item or a key.
  void separate();
  void break_line();

  TextSink sink_;
  std::vector<Container> open_;
  bool after_key_ = false;
};

/// The text that `write(json)` writes, with a line break at its end.
template <typename Write>
std::string json_text(Write&& write) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  write(json);
  return text + "\n";
}

}  // namespace layline
