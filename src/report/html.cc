#include "report/html.h"

#include "base/error.h"
#include "base/json_text.h"
#include "report/page.h"

namespace layline {
namespace {

using json::Text;

constexpr std::string_view kPlace = "@LAYLINE_DATA@";

Text strings(const std::vector<std::string>& values) { return json::list_of(values, json::string); }

/// Empty members are left out: most nodes have few.
Text node_text(const PictureNode& node) {
  std::vector<std::pair<std::string_view, Text>> members = {{"name", json::string(node.name)},
                                                            {"op", json::string(node.op)}};
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) members.emplace_back(key, json::string(value));
  };
  add("type", node.type);
  add("source", node.source);
  add("module", node.module);
  add("origin", node.origin);
  add("moves", node.moves);
  add("where", node.where);
  members.emplace_back("bytes", json::number(node.bytes));
  members.emplace_back("inputs", json::list_of(node.inputs, [](size_t input) {
                         return json::number(static_cast<int64_t>(input));
                       }));
  if (!node.constants.empty()) members.emplace_back("constants", strings(node.constants));
  return json::object(members);
}

Text picture_text(const Picture& picture) {
  return json::object({{"method", json::string(picture.method)},
                       {"nodes", json::list_of(picture.nodes, node_text)}});
}

Text reason_text(const Reason& reason) {
  return json::object({{"pass", json::string(reason.pass)},
                       {"value", json::string(reason.value)},
                       {"origin", json::string(reason.origin)},
                       {"text", json::string(reason.text)}});
}

Text arena_text(const ArenaTensor& tensor) {
  return json::object({{"method", json::string(tensor.method)},
                       {"type", json::string(tensor.type)},
                       {"offset", json::number(tensor.offset)},
                       {"bytes", json::number(tensor.bytes)},
                       {"first", json::number(tensor.first)},
                       {"last", json::number(tensor.last)}});
}

/// Within a script element nothing may look like a tag; in JSON a `<` is within a string.
std::string without_tags(const Text& text) {
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string to_html(const Report& report, const Pictures& pictures) {
  const std::string_view page = kReportPage;
  const size_t place = page.find(kPlace);
  LAYLINE_ASSERT(place != std::string_view::npos, "the page has no place for the data");
  const Text data = json::object({{"report", to_json(report)},
                                  {"before", json::list_of(pictures.before, picture_text)},
                                  {"after", json::list_of(pictures.after, picture_text)},
                                  {"reasons", json::list_of(pictures.reasons, reason_text)},
                                  {"certificates", strings(pictures.certificates)},
                                  {"arena", json::list_of(pictures.arena, arena_text)}});
  return std::string(page.substr(0, place)) + without_tags(data) +
         std::string(page.substr(place + kPlace.size()));
}

}  // namespace layline
