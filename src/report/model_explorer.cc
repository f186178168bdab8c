#include "report/model_explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "report/folders.h"
#include "report/reasons.h"

namespace layline {
namespace {

constexpr auto kOneLine = JsonWriter::Layout::one_line;

/// A name that tells the nodes of a graph apart: a value may have the name of an input or an
/// output.
std::string id_of(const PictureNode& node) {
  return is_boundary(node) ? node.op + " " + node.name : node.name;
}

/// The path in Model Explorer, which separates folders by slashes.
std::string name_space(std::string path) {
  std::ranges::replace(path, '.', '/');
  return path;
}

/// What fixes the orders on both sides of each permute that is left; each survivor is told once.
class Survivors {
 public:
  explicit Survivors(const std::vector<Survivor>& survivors) {
    for (auto survivor = survivors.rbegin(); survivor != survivors.rend(); ++survivor)
      untold_[key(survivor->shape, survivor->bytes)].push_back(&*survivor);
  }

  std::string forced_by(const PictureNode& node) {
    if (node.moves.empty() || node.where.empty()) return "";
    const auto found = untold_.find(key(node.moves, node.bytes));
    if (found == untold_.end() || found->second.empty()) return "";
    const Survivor& survivor = *found->second.back();
    found->second.pop_back();
    return fmt::format("{}", fmt::join(survivor.forced_by, " and "));
  }

 private:
  static std::string key(const std::string& shape, int64_t bytes) {
    return fmt::format("{} {}", bytes, shape);
  }

  std::unordered_map<std::string, std::vector<const Survivor*>> untold_;  // the first is last
};

std::string why(std::span<const Reason* const> reasons) {
  std::string text;
  for (const Reason* reason : reasons.first(std::min(reasons.size(), kMostReasonsTold)))
    text += fmt::format("{}{}: {} {}", text.empty() ? "" : "; ", reason->pass, reason->value,
                        reason->text);
  if (reasons.size() > kMostReasonsTold)
    text += fmt::format("; and {} more", reasons.size() - kMostReasonsTold);
  return text;
}

/// The attributes of a node or of its output.
class Attributes {
 public:
  explicit Attributes(JsonWriter& json) : json_(json) {}

  /// Adds an attribute; an empty one is left out.
  void add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    json_.object([&] {
      json_.key("key").string(key);
      json_.key("value").string(value);
    });
  }

 private:
  JsonWriter& json_;
};

void write_graph(JsonWriter& json, const Picture& picture, const std::string& id,
                 const std::vector<Reason>& reasons, Survivors& survivors) {
  const Folders folders = folders_of(picture);
  const auto told = reasons_at(picture, reasons);
  const auto write_node = [&](size_t place) {
    const PictureNode& node = picture.nodes[place];
    const bool is_permute = !node.moves.empty();
    json.key("id").string(id_of(node));
    json.key("label").string(is_permute ? "permute" : node.op);
    json.key("namespace").string(name_space(folders.paths[folders.of_node[place]]));
    json.key("attrs").list([&] {
      Attributes attributes(json);
      attributes.add("from", node.origin);
      attributes.add("source", node.source);
      attributes.add("moves", node.moves);
      if (is_permute) attributes.add("bytes", std::to_string(node.bytes));
      attributes.add("constants", fmt::format("{}", fmt::join(node.constants, ", ")));
      if (folders.repeats[place] > 1)
        attributes.add("repeats", std::to_string(folders.repeats[place]));
      attributes.add("runs", node.where);
      attributes.add("forced by", survivors.forced_by(node));
      attributes.add("why", why(told[place]));
    });
    json.key("incomingEdges").list([&] {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        json.object([&] {
          json.key("sourceNodeId").string(id_of(picture.nodes[node.inputs[i]]));
          json.key("sourceNodeOutputId").string("0");
          json.key("targetNodeInputId").string(std::to_string(i));
        });
    });
    json.key("outputsMetadata").list([&] {
      json.object([&] {
        json.key("id").string("0");
        json.key("attrs").list([&] { Attributes(json).add("tensor_shape", node.type); });
      });
    });
    if (!is_permute) return;
    json.key("style").object([&] {
      json.key("backgroundColor").string("#fad2cf");
      json.key("borderColor").string("#c5221f");
    });
  };
  json.object([&] {
    json.key("id").string(id);
    json.key("nodes").list([&] {
      for (size_t i = 0; i < picture.nodes.size(); ++i)
        json.object([&] { write_node(i); }, kOneLine);
    });
  });
}

void write_permute_data(JsonWriter& json, const Picture& picture) {
  std::map<std::string, double> bytes;
  for (const PictureNode& node : picture.nodes)
    if (!node.moves.empty()) bytes.emplace(id_of(node), static_cast<double>(node.bytes));
  write_node_data(json, "permutes, bytes", bytes, 0);
}

}  // namespace

std::string graph_before(std::string_view method) { return fmt::format("{} before", method); }
std::string graph_after(std::string_view method) { return fmt::format("{} after", method); }

void write_report(JsonWriter& json, const Report& report, const Pictures& pictures) {
  const auto for_each_graph = [&](auto visit) {
    for (const Picture& picture : pictures.after) visit(picture, graph_after(picture.method));
    for (const Picture& picture : pictures.before) visit(picture, graph_before(picture.method));
  };
  json.object([&] {
    write_members(json, report);
    json.key("label").string(report.model);
    json.key("graphs").list([&] {
      Survivors survivors(report.permutes.survivors);
      for_each_graph([&](const Picture& picture, const std::string& id) {
        write_graph(json, picture, id, pictures.reasons, survivors);
      });
    });
    for_each_graph([&](const Picture& picture, const std::string& id) {
      write_permute_data(json.key(id), picture);
    });
  });
}

void write_node_data(JsonWriter& json, std::string_view name,
                     const std::map<std::string, double>& values, int decimals) {
  json.object([&] {
    json.key("name").string(name);
    json.key("gradient").list([&] {
      constexpr std::pair<int, std::string_view> kStops[] = {{0, "#fde7e5"}, {1, "#d93025"}};
      for (const auto& [stop, color] : kStops)
        json.object(
            [&] {
              json.key("stop").number(stop);
              json.key("bgColor").string(color);
            },
            kOneLine);
    });
    json.key("results").object([&] {
      for (const auto& [node, value] : values)
        json.key(node).object([&] { json.key("value").number(value, decimals); }, kOneLine);
    });
  });
}

}  // namespace layline
