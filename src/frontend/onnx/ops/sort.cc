// Sorting.
#include "frontend/ops/sort.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void topk(Call& call) {
  Value* x = call.input(0);
  const int64_t k = call.opset() >= 10 ? call.integer_at(1, "`k`") : call.integer("k");
  const int64_t axis = call.axis(call.integer("axis", -1), x->type().rank());
  const auto [values, places] = ops::topk(call, x, {axis, call.flag("largest", true)}, k);
  call.result(values);
  call.result(places);
}

constexpr OpRule kRules[] = {
    {"TopK", topk},
};

}  // namespace

std::span<const OpRule> sort_rules() { return kRules; }

}  // namespace layline::onnx
