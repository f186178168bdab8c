#include "ir/bounds.h"

#include <limits>

#include "base/checked.h"
#include "base/error.h"

namespace layline {
namespace {

constexpr int64_t kMostInAProgram = std::numeric_limits<int32_t>::max();  // as a .pte stores sizes

}  // namespace

Shape logical_shape(const Shape& stored, const std::vector<int>& dim_order) {
  Shape logical(stored.size());
  for (size_t i = 0; i < stored.size(); ++i) logical[static_cast<size_t>(dim_order[i])] = stored[i];
  return logical;
}

void check_static(const Graph& graph) {
  for (const GraphInput& input : graph.inputs())
    if (input.value != nullptr && !is_static(input.value->shape()))
      throw UserError(
          "input `{}` is {}: this target takes fixed sizes only; export the model without "
          "dynamic_shapes",
          input.name,
          to_string(TensorType{input.value->dtype(),
                               logical_shape(input.value->shape(), input.dim_order)}));
  for (const Node* node : graph)
    if (node->is(Op::counted_slice) && !is_static(node->result()->shape()))
      throw UserError(
          "{}: {} has a size that is known at run time; this target takes fixed sizes only",
          describe(*node), name(node->op()));
}

void check_bounded(const Graph& graph) {
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    const Shape shape = logical_shape(input.value->shape(), input.dim_order);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (!shape[axis].is_static() && graph.symbol_table().greatest(shape[axis]) > kMostInAProgram)
        throw UserError(
            "axis {} of the input `{}` has no upper bound, and memory is planned for the largest "
            "size; export the model with dynamic_shapes of torch.export.Dim(..., max=N)",
            axis, input.name);
  }
}

void check_representable(const Graph& graph) {
  int64_t total = 0;
  const auto check = [&](const Value& value) {
    const TensorType largest{value.dtype(), graph.symbol_table().greatest(value.shape())};
    for (const Dim& dim : largest.shape)
      if (dim.value() > kMostInAProgram)
        throw UserError("`{}` has an axis of {} elements, more than a .pte can say (2^31 - 1)",
                        value.name(), dim.value());
    const auto sum = checked_add(total, static_cast<int64_t>(byte_count(largest)));
    if (!sum) throw UserError("`{}` and what is computed before take 2^63 bytes", value.name());
    total = *sum;
  };
  for (const GraphInput& input : graph.inputs())
    if (input.value != nullptr) check(*input.value);
  for (const Node* node : graph) check(*node->result());
}

}  // namespace layline
