#include "report/model_explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace layline {
namespace {

using json::Text;

std::string joined(const std::vector<Text>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

/// What tells the nodes of a graph apart: a value may have the name of an input or an output.
std::string id_of(const PictureNode& node) {
  return node.op == "input" || node.op == "output" ? node.op + " " + node.name : node.name;
}

/// Modules are folders there.
std::string folder_of(std::string module) {
  std::ranges::replace(module, '.', '/');
  return module;
}

class GraphTexts {
 public:
  GraphTexts(const Report& report, const Pictures& pictures)
      : survivors_(report.permutes.survivors) {
    for (const Reason& reason : pictures.reasons) {
      by_value_[reason.value].push_back(&reason);
      if (!reason.origin.empty()) by_origin_[reason.origin].push_back(&reason);
    }
  }

  Text graph(const Picture& picture, const std::string& id) {
    std::vector<Text> nodes;
    for (const PictureNode& node : picture.nodes) nodes.push_back(node_text(picture, node));
    return fmt::format("{{\"id\":{},\"nodes\":[\n  {}\n]}}", json::string(id),
                       fmt::join(nodes, ",\n  "));
  }

 private:
  /// One line.
  Text node_text(const Picture& picture, const PictureNode& node) {
    std::vector<Text> edges;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      edges.push_back(
          fmt::format(R"({{"sourceNodeId":{},"sourceNodeOutputId":"0","targetNodeInputId":"{}"}})",
                      json::string(id_of(picture.nodes[node.inputs[i]])), i));
    constexpr std::string_view kPermuteStyle =
        R"(,"style":{"backgroundColor":"#fad2cf","borderColor":"#c5221f"})";
    return fmt::format(
        R"({{"id":{},"label":{},"namespace":{},"attrs":{},"incomingEdges":{},)"
        R"("outputsMetadata":[{{"id":"0","attrs":[{}]}}]{}}})",
        json::string(id_of(node)), json::string(node.moves.empty() ? node.op : "permute"),
        json::string(folder_of(node.module)), joined(attributes(node)), joined(edges),
        attribute("tensor_shape", node.type), node.moves.empty() ? "" : kPermuteStyle);
  }

  static Text attribute(std::string_view key, std::string_view value) {
    return fmt::format(R"({{"key":{},"value":{}}})", json::string(key), json::string(value));
  }

  std::vector<Text> attributes(const PictureNode& node) {
    std::vector<Text> texts;
    const auto add = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) texts.push_back(attribute(key, value));
    };
    add("from", node.origin);
    add("source", node.source);
    add("moves", node.moves);
    if (!node.moves.empty()) add("bytes", std::to_string(node.bytes));
    add("constants", fmt::format("{}", fmt::join(node.constants, ", ")));
    add("runs", node.where);
    add("forced by", forced_by(node));
    add("why", why(node));
    return texts;
  }

  /// What fixes the orders on both sides of a permute that is left; each survivor is told once.
  std::string forced_by(const PictureNode& node) {
    if (node.moves.empty() || node.where.empty()) return "";
    const auto found = std::ranges::find_if(survivors_, [&](const Survivor& survivor) {
      return survivor.shape == node.moves && survivor.bytes == node.bytes;
    });
    if (found == survivors_.end()) return "";
    std::string text = fmt::format("{}", fmt::join(found->forced_by, " and "));
    survivors_.erase(found);
    return text;
  }

  std::string why(const PictureNode& node) const {
    std::vector<const Reason*> reasons;
    if (const auto found = by_value_.find(node.name); found != by_value_.end())
      reasons = found->second;
    if (const auto found = by_origin_.find(node.origin); found != by_origin_.end())
      for (const Reason* reason : found->second)
        if (reason->value != node.name) reasons.push_back(reason);
    std::vector<std::string> texts;
    for (const Reason* reason : reasons)
      texts.push_back(fmt::format("{}: {} {}", reason->pass, reason->value, reason->text));
    return fmt::format("{}", fmt::join(texts, "; "));
  }

  std::vector<Survivor> survivors_;
  std::unordered_map<std::string, std::vector<const Reason*>> by_value_, by_origin_;
};

Text permute_data(const Picture& picture) {
  std::map<std::string, Text> bytes;
  for (const PictureNode& node : picture.nodes)
    if (!node.moves.empty()) bytes.emplace(id_of(node), json::number(node.bytes));
  return node_data("permutes, bytes", bytes);
}

}  // namespace

std::string graph_before(std::string_view method) { return fmt::format("{} before", method); }
std::string graph_after(std::string_view method) { return fmt::format("{} after", method); }

std::vector<std::pair<std::string, Text>> model_explorer_members(const Report& report,
                                                                 const Pictures& pictures) {
  GraphTexts texts(report, pictures);
  std::vector<Text> graphs;
  std::vector<std::pair<std::string, Text>> members = {{"label", json::string(report.model)},
                                                       {"graphs", ""}};
  const auto add = [&](const Picture& picture, const std::string& id) {
    graphs.push_back(texts.graph(picture, id));
    members.emplace_back(id, permute_data(picture));
  };
  for (const Picture& picture : pictures.after) add(picture, graph_after(picture.method));
  for (const Picture& picture : pictures.before) add(picture, graph_before(picture.method));
  members[1].second = json::list(graphs);
  return members;
}

Text node_data(std::string_view name, const std::map<std::string, Text>& values) {
  std::vector<Text> results;
  for (const auto& [node, value] : values)
    results.push_back(fmt::format(R"({}: {{"value": {}}})", json::string(node), value));
  return fmt::format(
      "{{\"name\": {}, \"gradient\": [{{\"stop\": 0, \"bgColor\": \"#fde7e5\"}}, "
      "{{\"stop\": 1, \"bgColor\": \"#d93025\"}}],\n  \"results\": {{{}}}}}",
      json::string(name), fmt::join(results, ",\n    "));
}

}  // namespace layline
