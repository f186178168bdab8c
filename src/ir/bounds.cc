#include "ir/bounds.h"

#include <limits>

#include "base/error.h"

namespace layline {

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
}

void check_bounded(const Graph& graph) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();  // as sizes are stored in a .pte
  for (const GraphInput& input : graph.inputs()) {
    if (input.value == nullptr) continue;
    const Shape shape = logical_shape(input.value->shape(), input.dim_order);
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (!shape[axis].is_static() && graph.symbol_table().greatest(shape[axis]) > kMost)
        throw UserError(
            "axis {} of the input `{}` has no upper bound, and memory is planned for the largest "
            "size; export the model with dynamic_shapes of torch.export.Dim(..., max=N)",
            axis, input.name);
  }
}

}  // namespace layline
