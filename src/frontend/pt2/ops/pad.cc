// Padding. torch lists (low, high) pairs from the last axis backwards.
#include "frontend/ops/pad.h"

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
    attrs.low[rank - 1 - i] = pairs[2 * i];
    attrs.high[rank - 1 - i] = pairs[2 * i + 1];
  }
  return ops::pad(call, x, std::move(attrs));
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
