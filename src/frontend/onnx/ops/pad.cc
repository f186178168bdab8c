// Padding.
#include "frontend/ops/pad.h"

#include "frontend/onnx/ops/rules.h"

namespace layline::onnx {
namespace {

void pad(Call& call) { call.fail("is not written yet"); }

constexpr OpRule kRules[] = {
    {"Pad", pad},
};

}  // namespace

std::span<const OpRule> pad_rules() { return kRules; }

}  // namespace layline::onnx
