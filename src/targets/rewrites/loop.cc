#include "targets/rewrites/loop.h"

#include <unordered_map>

#include "ir/body.h"

namespace layline::rewrites {
namespace {

/// One element of a sequence, without the axis.
Value* element(const Builder& build, Value* sequence, int64_t index) {
  const Shape& shape = sequence->shape();
  return build.view(build.slice(sequence, 0, index, 1), Shape(shape.begin() + 1, shape.end()));
}

/// The outputs of the body for these inputs.
std::vector<Value*> step(const Builder& build, const Graph& body, std::span<Value* const> inputs) {
  std::unordered_map<const Value*, Value*> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs()[i].value] = inputs[i];
  for (const Node* node : body) {
    std::vector<Value*> operands;
    for (const Value* operand : node->operands()) operands.push_back(values.at(operand));
    values[node->result()] = build.add(node->op(), std::move(operands), node->attributes());
  }
  std::vector<Value*> outputs;
  for (const GraphOutput& output : body.outputs()) outputs.push_back(values.at(output.value));
  return outputs;
}

}  // namespace

Value* unrolled_scan(const Builder& build, const Node& node) {
  const auto& attrs = node.attrs<ScanAttrs>();
  const Graph& body = *attrs.body.graph;
  std::vector<Value*> inputs(node.operands().begin(), node.operands().end());
  Dim length = 1;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!is_carried(body, i)) length = node.operand(static_cast<int>(i))->shape()[0];
  if (!length.is_static()) return nullptr;
  const int64_t steps = length.value();
  const auto wanted = static_cast<size_t>(attrs.output);
  std::vector<Value*> rows(static_cast<size_t>(steps));
  Value* last = nullptr;
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t place = attrs.backwards ? steps - 1 - i : i;
    std::vector<Value*> given = inputs;
    for (size_t k = 0; k < given.size(); ++k)
      if (!is_carried(body, k)) given[k] = element(build, inputs[k], place);
    const std::vector<Value*> outputs = step(build, body, given);
    for (size_t k = 0; k < outputs.size(); ++k)
      if (const auto to = body.outputs()[k].writes) inputs[*to] = outputs[k];
    last = outputs[wanted];
    Shape row = last->shape();
    row.insert(row.begin(), Dim(1));
    rows[static_cast<size_t>(place)] = build.view(last, std::move(row));
  }
  return body.outputs()[wanted].writes ? last : build.concat(std::move(rows), 0);
}

}  // namespace layline::rewrites
