#include "report/html.h"

#include <algorithm>

#include "base/error.h"
#include "report/folders.h"
#include "report/page.h"

namespace layline {
namespace {

constexpr auto kOneLine = JsonWriter::Layout::one_line;
constexpr std::string_view kPlace = "@LAYLINE_DATA@";

/// Writes a node. Empty members are left out: most nodes have few.
void write(JsonWriter& json, const PictureNode& node, size_t folder, size_t repeats) {
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) json.key(key).string(value);
  };
  json.object(
      [&] {
        json.key("name").string(node.name);
        json.key("op").string(node.op);
        add("type", node.type);
        add("source", node.source);
        add("module", node.module);
        add("origin", node.origin);
        add("moves", node.moves);
        add("where", node.where);
        json.key("bytes").number(node.bytes);
        json.key("inputs").numbers(node.inputs);
        if (!node.constants.empty()) json.key("constants").strings(node.constants);
        json.key("folder").number(folder);
        if (repeats > 1) json.key("repeats").number(repeats);
      },
      kOneLine);
}

void write(JsonWriter& json, const Picture& picture) {
  const Folders folders = folders_of(picture);
  json.object([&] {
    json.key("method").string(picture.method);
    json.key("folders").strings(folders.paths);
    json.key("repeats").strings(folders.of_repeats);
    json.key("nodes").list([&] {
      for (size_t i = 0; i < picture.nodes.size(); ++i)
        write(json, picture.nodes[i], folders.of_node[i], folders.repeats[i]);
    });
  });
}

void write(JsonWriter& json, const Reason& reason) {
  json.object(
      [&] {
        json.key("pass").string(reason.pass);
        json.key("value").string(reason.value);
        json.key("origin").string(reason.origin);
        json.key("text").string(reason.text);
      },
      kOneLine);
}

void write(JsonWriter& json, const ArenaTensor& tensor) {
  json.object(
      [&] {
        json.key("method").string(tensor.method);
        json.key("type").string(tensor.type);
        json.key("offset").number(tensor.offset);
        json.key("bytes").number(tensor.bytes);
        json.key("first").number(tensor.first);
        json.key("last").number(tensor.last);
      },
      kOneLine);
}

template <typename Row>
void write(JsonWriter& json, const std::vector<Row>& rows) {
  json.list_of(rows, [&](const Row& row) { write(json, row); });
}

/// Passes on JSON as it may stand in a script element, where nothing may look like a tag: in JSON a
/// `<` is within a string.
TextSink without_tags(const TextSink& sink) {
  return [&sink](std::string_view text) {
    for (size_t tag = text.find('<'); tag != std::string_view::npos; tag = text.find('<')) {
      sink(text.substr(0, tag));
      sink("\\u003c");
      text.remove_prefix(tag + 1);
    }
    sink(text);
  };
}

}  // namespace

void write_page(const TextSink& sink, const Report& report, const Pictures& pictures) {
  const std::string_view page = kReportPage;
  const size_t place = page.find(kPlace);
  LAYLINE_ASSERT(place != std::string_view::npos, "the page has no place for the data");
  sink(page.substr(0, place));
  JsonWriter json(without_tags(sink));
  json.object([&] {
    json.key("report").object([&] { write_members(json, report); });
    write(json.key("before"), pictures.before);
    write(json.key("after"), pictures.after);
    write(json.key("reasons"), pictures.reasons);
    json.key("certificates").strings(pictures.certificates);
    write(json.key("arena"), pictures.arena);
  });
  sink(page.substr(place + kPlace.size()));
}

}  // namespace layline
