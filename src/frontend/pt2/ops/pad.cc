// Padding. torch lists (low, high) pairs from the last axis backwards; a negative entry crops.
#include <algorithm>

#include "frontend/pt2/ops/rules.h"

namespace layline::pt2 {
namespace {

Value* pad(Call& call, PadMode mode, double value) {
  Value* x = call.tensor("self");
  const Ints pairs = call.ints("pad", call.has("padding") ? call.ints("padding", {}) : Ints{});
  const size_t rank = x->shape().size();
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > rank)
    call.fail("{} pad entries for a tensor with {} axes", pairs.size(), rank);
  PadAttrs attrs{Ints(rank, 0), Ints(rank, 0), mode, value};
  for (size_t i = 0; i < pairs.size() / 2; ++i) {
    const size_t axis = rank - 1 - i;
    const int64_t crop_low = std::max<int64_t>(0, -pairs[2 * i]);
    const int64_t crop_high = std::max<int64_t>(0, -pairs[2 * i + 1]);
    if (crop_low > 0 || crop_high > 0) {
      const Sum left =
          call.symbols().expand(x->shape()[axis]) - Sum::number(crop_low) - Sum::number(crop_high);
      if (call.symbols().range(left).min < 0)
        call.fail("crops {} and {} of {}", crop_low, crop_high, to_string(x->shape()[axis]));
      x = call.slice(x, static_cast<int64_t>(axis), crop_low, call.symbols().dim(left));
    }
    attrs.low[axis] = std::max<int64_t>(0, pairs[2 * i]);
    attrs.high[axis] = std::max<int64_t>(0, pairs[2 * i + 1]);
  }
  return call.add(Op::pad, {x}, std::move(attrs));
}

PadMode mode_named(Call& call, std::string_view name) {
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "replicate") return PadMode::replicate;
  if (name == "circular") return PadMode::circular;
  call.fail("unknown mode `{}`", name);
}

void pad_named(Call& call) {
  call.result(
      pad(call, mode_named(call, call.string("mode", "constant")), call.number("value", 0)));
}

template <PadMode mode>
void pad_mode(Call& call) {
  call.result(pad(call, mode, call.number("value", 0)));
}

constexpr OpRule kRules[] = {
    {"aten.pad.default", pad_named},
    {"aten.constant_pad_nd.default", pad_mode<PadMode::constant>},
    {"aten.reflection_pad1d.default", pad_mode<PadMode::reflect>},
    {"aten.reflection_pad2d.default", pad_mode<PadMode::reflect>},
    {"aten.reflection_pad3d.default", pad_mode<PadMode::reflect>},
    {"aten.replication_pad1d.default", pad_mode<PadMode::replicate>},
    {"aten.replication_pad2d.default", pad_mode<PadMode::replicate>},
    {"aten.replication_pad3d.default", pad_mode<PadMode::replicate>},
};

}  // namespace

std::span<const OpRule> pad_rules() { return kRules; }

}  // namespace layline::pt2
