#include "transforms/weighted_op.h"

#include <algorithm>

#include "ir/evaluate.h"

namespace layline {
namespace {

/// Whether rows of the weight are read, too: a table of embeddings that is tied to the head. It is
/// in the program once as long as both are the same.
bool is_tied(const Value* weight) {
  return std::ranges::any_of(weight->uses(),
                             [](const Use& use) { return use.user->is(Op::gather); });
}

}  // namespace

bool is_weighted_op(const Node* node) {
  if (node == nullptr ||
      !(node->is(Op::conv) || node->is(Op::conv_transpose) || node->is(Op::linear)))
    return false;
  for (int i = 1; i < node->operand_count(); ++i)
    if (constant_of(node->operand(i)) == nullptr || is_tied(node->operand(i))) return false;
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
