// Padding.
#include "frontend/ops/pad.h"

#include <numeric>

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

PadMode mode_of(const Call& call) {
  const std::string_view mode = call.string("mode", "constant");
  if (mode == "constant") return PadMode::constant;
  if (mode == "reflect") return PadMode::reflect;
  if (mode == "edge") return PadMode::replicate;
  if (mode == "wrap") return PadMode::circular;
  call.fail("the mode `{}` is not supported", mode);
}

/// Entries before all axes, and then those behind them; negative ones crop. Up to opset 10 all are
/// attributes.
void pad(Call& call) {
  Value* x = call.input(0);
  const int64_t rank = x->type().rank();
  const bool attributes = call.opset() < 11;
  const Ints pads = !attributes ? call.integers(1, "`pads`")
                                : call.ints(call.opset() < 2 ? "paddings" : "pads", {});
  Ints axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.integers(3, "`axes`");
  if (pads.size() != 2 * axes.size())
    call.fail("`pads` has {} entries for {} axes", pads.size(), axes.size());
  PadAttrs attrs{Ints(static_cast<size_t>(rank), 0), Ints(static_cast<size_t>(rank), 0),
                 mode_of(call), 0};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(call.axis(axes[i], rank));
    attrs.low[axis] = pads[i];
    attrs.high[axis] = pads[i + axes.size()];
  }
  if (attributes)
    attrs.value = call.number("value", 0);
  else if (call.has(2))
    attrs.value = call.number_at(2, "`constant_value`");
  call.result(ops::pad(call, x, std::move(attrs)));
}

constexpr OpRule kRules[] = {
    {"Pad", pad},
};

}  // namespace

std::span<const OpRule> pad_rules() { return kRules; }

}  // namespace layline::onnx
