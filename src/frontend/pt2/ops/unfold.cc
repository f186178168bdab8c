// Windows and patches.
#include "frontend/ops/unfold.h"

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

void unfold(Call& call) {
  Value* x = call.tensor("self");
  const int64_t axis = call.axis("dimension", 0, x->type().rank());
  call.result(ops::unfold(call, x, axis, call.integer("size"), call.integer("step")));
}

ops::Patches patches(const Call& call) {
  return {call.ints_per_axis("kernel_size", 2, {}), call.ints_per_axis("stride", 2, {1}),
          call.ints_per_axis("dilation", 2, {1}), call.ints_per_axis("padding", 2, {0})};
}

void im2col(Call& call) { call.result(ops::im2col(call, call.tensor("self"), patches(call))); }

void col2im(Call& call) {
  Value* x = call.tensor("self");
  call.result(ops::col2im(call, x, call.ints_per_axis("output_size", 2, {}), patches(call)));
}

constexpr OpRule kRules[] = {
    {"aten.unfold.default", unfold, Memory::shared},
    {"aten.unfold_copy.default", unfold},
    {"aten.im2col.default", im2col},
    {"aten.col2im.default", col2im},
};

}  // namespace

std::span<const OpRule> unfold_rules() { return kRules; }

}  // namespace layline::pt2
