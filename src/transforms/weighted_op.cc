#include "transforms/weighted_op.h"

#include "ir/evaluate.h"

namespace layline {

bool is_weighted_op(const Node* node) {
  if (node == nullptr ||
      !(node->is(Op::conv) || node->is(Op::conv_transpose) || node->is(Op::linear)))
    return false;
  for (int i = 1; i < node->operand_count(); ++i)
    if (constant_of(node->operand(i)) == nullptr) return false;
  return node->result()->dtype() == DType::f32;
}

const Constant& weight_of(const Node& op) { return *constant_of(op.operand(1)); }

std::vector<double> bias_of(const Node& op) {
  const auto outputs = static_cast<size_t>(weight_of(op).shape()[0].value());
  std::vector<double> bias(outputs, 0);
  if (op.operand_count() < 3) return bias;
  const Tensor tensor = tensor_of(*constant_of(op.operand(2)));
  for (size_t i = 0; i < outputs; ++i) bias[i] = tensor.get(static_cast<int64_t>(i));
  return bias;
}

Constant vector_constant(const std::vector<double>& values) {
  Tensor tensor({DType::f32, {static_cast<int64_t>(values.size())}});
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return Constant::of(tensor);
}

Constant scaled_rows(const Constant& weight, const std::vector<double>& scale) {
  const std::vector<float> factors(scale.begin(), scale.end());
  return weight.scaled_rows(factors);
}

}  // namespace layline
