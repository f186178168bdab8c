#include <algorithm>

#include "base/error.h"
#include "ir/body.h"
#include "ir/evaluate.h"
#include "ir/ops/op_rules.h"

namespace layline::rules {
namespace {

const Graph& body_of(const ScanAttrs& attrs) {
  if (!attrs.body.graph) throw UserError("expected a body");
  return *attrs.body.graph;
}

/// The type of a sequence, whose elements have this type.
TensorType sequence(const Dim& length, TensorType element) {
  element.shape.insert(element.shape.begin(), length);
  return element;
}

/// Element `index` of a sequence.
Tensor element(const Tensor& sequence, const TensorType& type, int64_t index) {
  Tensor result(type);
  const size_t bytes = result.bytes().size();
  std::ranges::copy(sequence.bytes().subspan(static_cast<size_t>(index) * bytes, bytes),
                    result.bytes().begin());
  return result;
}

}  // namespace

TensorType infer_scan(Types operands, const Attributes& attributes, SymbolTable&) {
  const auto& attrs = std::get<ScanAttrs>(attributes);
  const Graph& body = body_of(attrs);
  check_body(body);
  if (operands.size() != body.inputs().size())
    throw UserError("expected {} operands, as the body has inputs, found {}", body.inputs().size(),
                    operands.size());
  if (attrs.output < 0 || attrs.output >= std::ssize(body.outputs()))
    throw UserError("the body has {} outputs, and none is number {}", body.outputs().size(),
                    attrs.output);
  std::optional<Dim> length;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorType& type = body.inputs()[i].value->type();
    const bool carried = is_carried(body, i);
    if (!carried && !length && !operands[i].shape.empty()) length = operands[i].shape[0];
    if (!carried && !length)
      throw UserError("expected a sequence, found {}", to_string(operands[i]));
    const TensorType wanted = carried ? type : sequence(*length, type);
    if (operands[i] != wanted)
      throw UserError("expected {} for the body's input {}, found {}", to_string(wanted),
                      body.inputs()[i].name, to_string(operands[i]));
  }
  if (!length) throw UserError("expected a sequence among the operands");
  if (length->is_zero()) throw UserError("there are no steps");
  const GraphOutput& output = body.outputs()[static_cast<size_t>(attrs.output)];
  return output.writes ? output.value->type() : sequence(*length, output.value->type());
}

Tensor evaluate_scan(Tensors operands, const Attributes& attributes, const TensorType& result) {
  const auto& attrs = std::get<ScanAttrs>(attributes);
  const Graph& body = body_of(attrs);
  const auto wanted = static_cast<size_t>(attrs.output);
  std::vector<Tensor> inputs(operands.begin(), operands.end());
  int64_t steps = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!is_carried(body, i)) steps = operands[i].dim(0);
  Tensor out(result);
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t place = attrs.backwards ? steps - 1 - step : step;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!is_carried(body, i))
        inputs[i] = element(operands[i], body.inputs()[i].value->type(), place);
    std::vector<Tensor> outputs = evaluate(body, inputs);
    for (size_t i = 0; i < outputs.size(); ++i)
      if (const auto to = body.outputs()[i].writes) inputs[*to] = outputs[i];
    const auto given = outputs[wanted].bytes();
    const size_t first =
        body.outputs()[wanted].writes ? 0 : static_cast<size_t>(place) * given.size();
    std::ranges::copy(given, out.bytes().subspan(first).begin());
  }
  return out;
}

}  // namespace layline::rules
