// Sorting.
#include "frontend/ops/sort.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

/// How many elements are taken; an attribute before opset 10.
Sum count(const Call& call) {
  if (call.opset() < 10) return Sum::number(call.integer("k"));
  const std::vector<Sum> k = call.sums(1, "`k`");
  if (k.size() != 1) call.fail("`k` has {} elements, expected one", k.size());
  return k[0];
}

/// The elements come in order, whether the model needs it or not. Of equal ones, the first in the
/// tensor comes first.
void topk(Call& call) {
  Value* x = call.input(0);
  ops::SortOrder order;
  order.axis = call.axis(call.integer("axis", -1), x->type().rank());
  order.greatest_first = call.flag("largest", true);
  order.equals_in_order = true;
  const auto [values, places] = ops::topk(call, x, order, count(call));
  call.result(values);
  call.result(places);
}

constexpr OpRule kRules[] = {
    {"TopK", topk},
};

}  // namespace

std::span<const OpRule> sort_rules() { return kRules; }

}  // namespace layline::onnx
