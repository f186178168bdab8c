// Reductions and scans.
#include "frontend/ops/reduction.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

template <Op op>
void place_of_extremum(Call& call) {
  Value* x = call.input(0);
  const int64_t axis = call.axis(call.integer("axis", 0), x->type().rank());
  if (call.flag("select_last_index", false)) call.fail("the last index is not supported");
  call.result(ops::place_of_extremum(call, op, x, axis, call.flag("keepdims", true)));
}

constexpr OpRule kRules[] = {
    {"ArgMax", place_of_extremum<Op::argmax>},
};

}  // namespace

std::span<const OpRule> reduction_rules() { return kRules; }

}  // namespace layline::onnx
