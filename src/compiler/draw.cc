#include "compiler/draw.h"

#include <unordered_map>

#include "ir/bounds.h"

namespace layline {
namespace {

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph) { picture_.method = graph.name(); }

  Picture draw(const std::vector<FinalNode>& final_nodes) {
    for (const FinalNode& node : final_nodes) where_[node.value] = &node.where;
    for (const GraphInput& input : graph_.inputs())
      if (input.value != nullptr) add_value(*input.value, input.name, "input");
    for (const Node* node : graph_)
      if (!node->is(Op::constant)) add_node(*node);
    for (const GraphOutput& output : graph_.outputs())
      if (output.value != nullptr) add_output(output);
    return std::move(picture_);
  }

 private:
  PictureNode& add_value(const Value& value, const std::string& name, std::string_view op) {
    PictureNode node;
    node.name = name;
    node.op = op;
    node.type = to_string(value.type());
    node.bytes = static_cast<int64_t>(
        byte_count({value.dtype(), graph_.symbol_table().greatest(value.shape())}));
    places_[&value] = picture_.nodes.size();
    picture_.nodes.push_back(std::move(node));
    return picture_.nodes.back();
  }

  void add_node(const Node& node) {
    PictureNode& drawn = add_value(*node.result(), node.result()->name(), name(node.op()));
    if (node.origin()) {
      drawn.source = node.origin()->source;
      drawn.module = node.origin()->module;
      drawn.origin = node.origin()->node;
    }
    for (const Value* operand : node.operands()) {
      const auto place = places_.find(operand);
      if (place == places_.end()) {
        drawn.constants.push_back(to_string(operand->type()));
      } else {
        drawn.inputs.push_back(place->second);
      }
    }
    if (node.is(Op::relayout) && !node.attrs<RelayoutAttrs>().relayout.is_view())
      drawn.moves = to_string(node.attrs<RelayoutAttrs>().relayout);
    const auto where = where_.find(drawn.name);
    if (where != where_.end()) drawn.where = *where->second;
  }

  void add_output(const GraphOutput& output) {
    PictureNode node;
    node.name = output.name;
    node.op = "output";
    node.type = to_string(output.value->type());
    const auto place = places_.find(output.value);
    if (place != places_.end()) node.inputs.push_back(place->second);
    picture_.nodes.push_back(std::move(node));
  }

  const Graph& graph_;
  Picture picture_;
  std::unordered_map<const Value*, size_t> places_;
  std::unordered_map<std::string, const std::string*> where_;
};

}  // namespace

Picture draw(const Graph& graph, const std::vector<FinalNode>& nodes) {
  return Drawing(graph).draw(nodes);
}

std::vector<Reason> draw_reasons(const std::vector<Explanation>& explanations) {
  std::vector<Reason> reasons;
  std::unordered_map<std::string_view, const Explanation*> last;  // about each value
  for (const Explanation& explanation : explanations) {
    const Explanation*& before = last[explanation.value];
    const bool is_told =
        before != nullptr && before->pass == explanation.pass && before->text == explanation.text;
    before = &explanation;
    if (is_told) continue;
    reasons.push_back({std::string(explanation.pass), explanation.value,
                       explanation.origin ? explanation.origin->node : "", explanation.text});
  }
  return reasons;
}

}  // namespace layline
