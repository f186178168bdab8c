#include "ir/body.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"

namespace layline {

Graph copy_of(const Graph& graph) {
  Graph copy(graph.name());
  copy.symbol_table() = graph.symbol_table();
  std::unordered_map<const Value*, Value*> copies;
  for (const GraphInput& input : graph.inputs()) {
    LAYLINE_ASSERT(input.value != nullptr && !input.is_state(), "a copy of the input {}",
                   input.name);
    copies[input.value] = copy.add_input(input.name, input.value->type(), input.dim_order);
  }
  for (const Node* node : graph) {
    std::vector<Value*> operands;
    for (const Value* operand : node->operands()) operands.push_back(copies.at(operand));
    copies[node->result()] = copy.add(node->op(), std::move(operands), node->attributes(),
                                      node->origin(), node->result()->name());
  }
  for (const GraphOutput& output : graph.outputs()) {
    Value* value = copies.at(output.value);
    if (output.writes)
      copy.add_write(*output.writes, value);
    else
      copy.add_output(output.name, value, output.dim_order);
  }
  return copy;
}

bool is_same(const Graph& a, const Graph& b) {
  if (a.node_count() != b.node_count()) return false;
  std::unordered_map<const Value*, const Value*> twins;
  const auto are_twins = [&](const Value* left, const Value* right) {
    const auto twin = twins.find(left);
    return twin != twins.end() && twin->second == right;
  };
  const bool same_inputs = std::ranges::equal(
      a.inputs(), b.inputs(), [&](const GraphInput& left, const GraphInput& right) {
        if (!left.value || !right.value) return false;
        twins.emplace(left.value, right.value);
        return left.value->type() == right.value->type() && left.dim_order == right.dim_order;
      });
  if (!same_inputs) return false;
  const Node* right = b.first();
  for (const Node* left = a.first(); left != nullptr; left = left->next(), right = right->next()) {
    if (left->op() != right->op() || left->attributes() != right->attributes() ||
        !std::ranges::equal(left->operands(), right->operands(), are_twins))
      return false;
    twins.emplace(left->result(), right->result());
  }
  return std::ranges::equal(
      a.outputs(), b.outputs(), [&](const GraphOutput& left, const GraphOutput& other) {
        return are_twins(left.value, other.value) && left.writes == other.writes &&
               left.dim_order == other.dim_order;
      });
}

bool BodyRef::operator==(const BodyRef& other) const {
  if (graph == other.graph) return true;
  return graph && other.graph && is_same(*graph, *other.graph);
}

bool is_carried(const Graph& body, size_t input) {
  return std::ranges::any_of(body.outputs(),
                             [&](const GraphOutput& output) { return output.writes == input; });
}

void check_body(const Graph& body) {
  const auto check = [](const std::string& name, const Value* value,
                        const std::vector<int>& order) {
    if (value == nullptr) throw UserError("{} of the body is fixed", name);
    if (!is_static(value->shape()))
      throw UserError("{} of the body is {}, which is dynamic", name, to_string(value->type()));
    if (!std::ranges::is_sorted(order)) throw UserError("{} of the body is reordered", name);
  };
  for (const GraphInput& input : body.inputs()) {
    if (input.is_state()) throw UserError("{} of the body is a state", input.name);
    check(input.name, input.value, input.dim_order);
  }
  for (const GraphOutput& output : body.outputs())
    check(output.name, output.value, output.dim_order);
}

}  // namespace layline
